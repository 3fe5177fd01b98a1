//! The programs' two streams: results on stdout, everything else on stderr.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints a result. A reader that has gone, such as `head`, is no failure.
pub(crate) fn result(line: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Prints a text that ends its own lines.
pub(crate) fn text(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// Prints what is not a result.
pub(crate) fn note(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says why a program ends, in a line.
pub(crate) fn failure(failure: &crate::failure::Failure) -> ExitCode {
    note(format_args!("error: {failure}"));
    failure.exit_code()
}
