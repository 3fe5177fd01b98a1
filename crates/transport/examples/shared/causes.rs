//! Errors in words, with what has caused them.
//!
//! An error of this library says what has happened, such as "connection lost". Why is told by the
//! error that it has as its source, and not by its own text.

#![allow(
    clippy::duplicate_mod,
    reason = "a test has several examples as modules, and each has this one"
)]

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// What `error` says, then what each of its causes says that the text does not have yet.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

/// Prints why a program has failed, behind `name` and a colon, and returns its exit code.
pub(crate) fn failure(name: &str, error: &(dyn Error + 'static)) -> ExitCode {
    // Nobody is told where even this cannot be written.
    let _ = writeln!(io::stderr(), "{name}: {}", with_causes(error));
    ExitCode::FAILURE
}
