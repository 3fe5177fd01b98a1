//! What the bench programs share, which is everything but their `main`.
//!
//! ```text
//!  args ──▶ plan ──▶ client ◀══ wire ══▶ server         run: two processes
//!                      │ transfer, sampler │            ab: one process, a thread for each
//!                      │      account      │                and for the emulated link
//!                      └─── SideReport ────┘            ab --virtual: a simulated world
//!                             │
//!               result (JSON) · table (terminal) · report (HTML)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`result`] | the JSON contract |
//! | [`stats`] | the order of the rounds, and what their differences mean |
//! | [`table`] | what a terminal shows |
//! | [`csv`] | courses, rounds and cells, for other programs |
//! | [`plot`] | pictures as SVG |
//! | [`report`] | one HTML file with all of it |
//!
//! A program with controllers of its own registers them and calls [`client_main`].

mod ab;
mod account;
mod advice;
mod args;
mod baseline;
mod client;
mod clock;
pub mod csv;
mod date;
mod distribution;
mod emulated;
mod ending;
mod failure;
mod interrupt;
mod matrix;
mod output;
mod perf;
mod plan;
pub mod plot;
mod programs;
pub mod report;
mod rescue;
pub mod result;
mod sample;
mod sampler;
mod server;
pub mod stats;
pub mod table;
mod terminal;
mod together;
mod token;
mod transfer;
mod wire;

pub use cc_core::Registry;
pub use programs::{client_main, server_main};

/// The program and its version, as results say it.
pub(crate) const VERSION: &str = concat!("paceline ", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod fixtures;
