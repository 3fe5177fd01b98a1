//! Results of throughput runs and A/B tests: what they contain, what they mean, and how they are
//! shown.
//!
//! ```text
//!  result (JSON) ──▶ stats ──▶ text, table (terminal) · csv · plot (SVG) ──▶ report (HTML)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`result`] | the JSON contract |
//! | [`distribution`] | the delays of a run in a few points |
//! | [`stats`] | the order of the rounds, and what their differences mean |
//! | [`text`] | numbers as text |
//! | [`table`] | what a terminal shows |
//! | [`csv`] | time series, rounds and cells, for other programs |
//! | [`plot`] | pictures as SVG |
//! | [`markdown`] | scorecards as pages of text |
//! | [`report`] | one HTML file with all of it |
//!
//! Nothing here measures: there are no sockets, no clock and no threads. A program that analyses
//! results needs this crate alone:
//!
//! ```
//! use bench_report::result::AbResult;
//!
//! fn summary(json: &str) -> serde_json::Result<String> {
//!     let result: AbResult = serde_json::from_str(json)?;
//!     Ok(bench_report::table::ab_table(&result))
//! }
//! # assert!(summary("{}").is_err());
//! ```

pub mod csv;
pub mod date;
pub mod distribution;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod markdown;
pub mod plot;
pub mod report;
pub mod result;
pub mod stats;
pub mod table;
pub mod text;

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
