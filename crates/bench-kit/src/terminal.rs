//! The programs' two streams: results on stdout, everything else on stderr.

use crate::failure::Failure;
use crate::fallback_output;
use link_sim::program::message;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

/// Prints a result. A reader that has gone, such as `head`, is no failure.
pub fn result(line: fmt::Arguments<'_>) {
    text(&format!("{line}\n"));
}

/// Prints a text that ends its own lines. What stdout does not take, on a full disk for example,
/// goes to another file, which [`lost`] names.
pub fn text(text: &str) {
    let mut stdout = STDOUT.lock().expect("nothing panics while it is locked");
    stdout.write(text);
}

/// That stdout has not taken everything, and where the rest is; `None` when it has.
pub fn lost() -> Option<Failure> {
    let stdout = STDOUT.lock().expect("nothing panics while it is locked");
    match &*stdout {
        Stdout::Works | Stdout::Unread => None,
        Stdout::Full { error, rest } => Some(Failure::run(match rest {
            Ok((path, _)) => format!(
                "standard output: {error}; rest saved to {} instead",
                path.display()
            ),
            Err(other) => {
                format!("standard output: {error}; saving it elsewhere failed too: {other}")
            }
        })),
    }
}

/// Prints what is not a result, a line as [`message`] makes it.
pub fn note(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", message(&line.to_string()));
}

/// Says why a program ends, in a line.
pub fn failure(failure: &Failure) -> ExitCode {
    match failure.is_interruption() {
        true => note(format_args!("{failure}")),
        false => note(format_args!("error: {failure}")),
    }
    failure.exit_code()
}

enum Stdout {
    Works,
    /// Nobody reads it any more.
    Unread,
    /// It takes no more because of `error`.
    Full {
        error: io::Error,
        rest: io::Result<(PathBuf, File)>,
    },
}

static STDOUT: Mutex<Stdout> = Mutex::new(Stdout::Works);

impl Stdout {
    fn write(&mut self, text: &str) {
        if let Self::Works = self {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(text.as_bytes());
            match written.and_then(|()| stdout.flush()) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *self = Self::Unread,
                Err(error) => {
                    let rest = fallback_output::file("stdout");
                    *self = Self::Full { error, rest };
                }
            }
        }
        if let Self::Full { rest, .. } = self
            && let Ok((_, file)) = rest
            && let Err(error) = file.write_all(text.as_bytes())
        {
            *rest = Err(error);
        }
    }
}
