//! What both ends of a throughput run share.
//!
//! ```text
//!  plan ◀══ wire ══▶ plan          agreed before the first byte
//!    │ transfer, counters          moves the payload
//!    │ sampler, meter              reads the counters at each step
//!    └─▶ Sample, SideReport ─▶ rows
//! ```
//!
//! Beside these it has what the two programs have in common: reading a command line, printing,
//! catching Ctrl-C, reading clocks.

#![allow(missing_docs, reason = "only the programs of this workspace use it")]

pub mod bug;
pub mod cli;
pub mod clock;
pub mod close_reason;
pub mod completions;
pub mod counters;
pub mod failure;
pub mod fallback_output;
pub mod hex;
pub mod interrupt;
pub mod media;
pub mod meter;
pub mod perf;
pub mod plan;
pub mod qlog;
pub mod role;
pub mod rows;
pub mod runtime;
pub mod sample;
mod sampler;
pub mod terminal;
pub mod token;
pub mod transfer;
pub mod transport_settings;
pub mod wire;

/// The program and its version, as results say it.
pub const VERSION: &str = concat!("paceline ", env!("CARGO_PKG_VERSION"));

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
