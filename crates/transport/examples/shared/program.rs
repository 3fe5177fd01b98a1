//! How an example that takes arguments begins and ends.

#![allow(
    clippy::duplicate_mod,
    reason = "a test has several examples as modules, and each has this one"
)]

#[path = "causes.rs"]
mod causes;
#[path = "unread.rs"]
mod unread;

use causes::{failure, with_causes};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use unread::unless_unread;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Has `read` make sense of at most `most` arguments, and `work` do what they ask for.
///
/// With `--help` it prints `usage` instead, whose first line is the command. Returns the exit code:
/// that of `work`; 2 if an argument is wrong, with that line; 1 if the work has failed.
pub(crate) fn run<A>(
    usage: &str,
    most: usize,
    read: impl FnOnce(&[String]) -> Result<A>,
    work: impl FnOnce(A) -> Result<ExitCode>,
) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return ended(print(usage));
    }
    let read = match args.get(most) {
        None => read(&args),
        Some(extra) => Err(format!("`{extra}` is one argument too many; leave it out").into()),
    };
    match read {
        Ok(read) => ended(work(read)),
        Err(error) => {
            let command = usage.lines().next().unwrap_or_default();
            say(&format!("error: {}\n{command}", with_causes(&*error)));
            ExitCode::from(2)
        }
    }
}

fn ended(result: Result<ExitCode>) -> ExitCode {
    unless_unread(result).unwrap_or_else(|error| failure("error", &*error))
}

fn print(usage: &str) -> Result<ExitCode> {
    writeln!(io::stdout(), "{usage}")?;
    Ok(ExitCode::SUCCESS)
}

/// Nobody is told where even this cannot be written.
fn say(lines: &str) {
    let _ = writeln!(io::stderr(), "{lines}");
}
