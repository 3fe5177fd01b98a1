//! What the command lines of both programs share.

pub mod values;

use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;

/// Why a program ends at its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Help or the version was asked for: this text.
    Asked(String),
    /// The command line is wrong.
    Refused(Failure),
}

impl Exit {
    /// What clap's `error` asks for, or says of the command line.
    pub fn of(error: &clap::Error) -> Self {
        match error.kind() {
            clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => {
                Self::Asked(error.to_string())
            }
            _ => Self::Refused(Failure::usage(one_line(&error.to_string()))),
        }
    }
}

/// Reads a command line; the first argument is the program's name.
///
/// # Errors
/// When it is wrong, or asks for help or the version: see [`Exit::of`].
pub fn parse<T: CommandFactory + FromArgMatches>(
    args: impl IntoIterator<Item = OsString>,
) -> Result<T, clap::Error> {
    let matches = T::command().try_get_matches_from(args)?;
    T::from_arg_matches(&matches)
}

/// clap's message without its frame: what is wrong, and the tips, in a line.
fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.replace(":; ", ": ")
}

/// Prints why the program ends, and gives its exit code.
pub fn exit_code(ended: Result<ExitCode, Exit>) -> ExitCode {
    let code = match ended {
        Ok(code) => code,
        Err(Exit::Asked(text)) => {
            terminal::text(&text);
            ExitCode::SUCCESS
        }
        Err(Exit::Refused(failure)) => terminal::failure(&failure),
    };
    match terminal::lost() {
        Some(failure) if code == ExitCode::SUCCESS => terminal::failure(&failure),
        Some(failure) => {
            terminal::failure(&failure);
            code
        }
        None => code,
    }
}

/// Ctrl-C and its like from now on.
///
/// # Errors
/// When the system refuses to report them.
pub fn interrupts() -> Result<Interrupts, Failure> {
    Interrupts::listen().map_err(|error| Failure::run(format!("cannot catch Ctrl-C: {error}")))
}

/// The port of bench-server.
pub const DEFAULT_PORT: u16 = 4433;

/// What most of the Internet's senders run.
pub const DEFAULT_CONTROLLER: &str = "cubic";

/// Narrow enough for every terminal.
pub const HELP_WIDTH: usize = 80;
