//! Support for the whole-system tests.

pub mod digest;
pub mod limit;
pub mod memory;
pub mod programs;
pub mod quiche;
pub use flow_sim::seed;
pub mod share;
pub use flow_sim as sim;
pub mod watch;

use cc_core::{ControllerChoice, Registry};
use std::io::Write as _;

/// Says that a test did not look at something, and why. Past the harness, which shows output only
/// of tests that fail.
///
/// # Panics
/// When there is no stderr.
pub fn skipped(why: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {}", why.trim()).expect("stderr is open");
}

/// The standard controller that `text` names.
///
/// # Panics
/// When it names none.
pub fn choose(text: &str) -> ControllerChoice {
    let choice = Registry::standard().choose(text);
    choice.unwrap_or_else(|error| panic!("{error}"))
}
