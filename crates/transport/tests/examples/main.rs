//! The examples that people start from, as they are: each is run, and what it says is checked.

mod basics;
#[cfg(feature = "metrics")]
mod prometheus;
