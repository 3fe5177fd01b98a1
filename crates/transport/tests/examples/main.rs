//! The examples that people start from, as they are: each is run, and what it says is checked.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod basics;
mod file_sync;
#[cfg(feature = "h3")]
mod h3;
#[cfg(feature = "metrics")]
mod prometheus;
