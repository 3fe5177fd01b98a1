//! Throughput runs and A/B tests of congestion controllers: everything that `bench-client` does.
//!
//! ```text
//!  args ──▶ commands ──▶ client                       run: against a server
//!                │           │
//!                ├──▶ ab ────┤ real, simulated        ab: client, server and link in one process,
//!                │           │                            or a simulated world
//!                ├──▶ matrix ┤                        an A/B test per combination of conditions
//!                └──▶ scorecard ┘                     the A/B tests that RFC 9743 asks for
//!                        │
//!                        └──▶ bench_report            JSON, tables, CSV, pages
//! ```
//!
//! A program with controllers of its own registers them and calls [`main_with`].

mod ab;
mod advice;
mod args;
mod baseline;
mod client;
mod commands;
mod defaults;
mod emulated;
mod matrix;
mod output;
mod scorecard;
mod shell;
mod text_file;

pub use cc_core::Registry;
pub use commands::main_with;

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
