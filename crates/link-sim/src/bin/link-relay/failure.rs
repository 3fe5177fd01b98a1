//! How the program ends when it cannot go on.

use core::fmt::Display;
use link_sim::program::message;
use std::io::{self, Write as _};

/// Why the program ends, and the exit code that says so.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) code: u8,
}

impl Failure {
    pub(super) fn usage(message: impl Display) -> Self {
        let message = message.to_string();
        Self { message, code: 2 }
    }

    /// The command line is right, but it does not work here.
    pub(super) fn run(message: impl Display) -> Self {
        let message = message.to_string();
        Self { message, code: 1 }
    }
}

/// Does nothing when standard error is closed.
pub(super) fn print_error(what: impl Display) {
    let _ = writeln!(io::stderr(), "error: {}", message(&what.to_string()));
}
