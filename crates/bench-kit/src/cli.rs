//! What the command lines of both programs share.

pub mod values;

use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use link_sim::program::{self, is_link_word};
use std::net::IpAddr;
use std::process::ExitCode;

pub use link_sim::program::parse;

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
        match program::refusal(error, hint) {
            None => Self::Asked(error.to_string()),
            Some(said) => Self::Refused(Failure::usage(said)),
        }
    }
}

/// What an argument that the programs do not know was probably meant for.
fn hint(argument: &str) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(option, _)| *option == argument);
    let is_of_link = argument.strip_prefix("--").is_some_and(is_link_word);
    match known {
        Some((_, hint)) => Some(hint),
        None if argument.parse::<IpAddr>().is_ok() => {
            Some("a client is started by bench-client run HOST, a server by bench-server -B ADDR")
        }
        None if is_of_link => Some("a link is one argument: --link \"delay 20ms rate 10mbit\""),
        None => of_number(argument),
    }
}

/// What a number that belongs to no option was probably meant for.
fn of_number(word: &str) -> Option<&'static str> {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    match unit {
        _ if unit.len() == word.len() => None,
        "" => Some("a port follows -p, or the host as in HOST:PORT"),
        "ms" | "s" => Some("the time of --ping and --rpm follows a `=`, as in --ping=200ms"),
        _ => None,
    }
}

/// Options that stand elsewhere, and those of iperf3's that are something else here.
const ELSEWHERE: [(&str, &str); 13] = [
    ("-v", VERSION),
    ("--version", VERSION),
    ("-c", "the server is an argument: bench-client run HOST"),
    (
        "--client",
        "the server is an argument: bench-client run HOST",
    ),
    ("-s", "bench-server is the server, without -s"),
    ("--server", "bench-server is the server, without --server"),
    ("-o", FILES),
    ("--output", FILES),
    ("--report", FILES),
    ("-D", DAEMON),
    ("--daemon", DAEMON),
    ("-I", DAEMON),
    ("--pidfile", DAEMON),
];

const VERSION: &str = "bench-client --version prints the version";

const FILES: &str = "the page's file is named by --report (run, ab, matrix), --html (report) or \
                     --output (scorecard)";

const DAEMON: &str = "the server is a program of its own: bench-server -D";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_named() {
        for (argument, named) in [
            ("5201", "a port follows -p, or the host as in HOST:PORT"),
            (
                "0.2s",
                "the time of --ping and --rpm follows a `=`, as in --ping=200ms",
            ),
            ("-s", "bench-server is the server, without -s"),
            (
                "127.0.0.1",
                "a client is started by bench-client run HOST, a server by bench-server -B ADDR",
            ),
            (
                "--output",
                "the page's file is named by --report (run, ab, matrix), --html (report) or \
                 --output (scorecard)",
            ),
            ("-c", "the server is an argument: bench-client run HOST"),
            (
                "--delay",
                "a link is one argument: --link \"delay 20ms rate 10mbit\"",
            ),
            ("--version", "bench-client --version prints the version"),
            ("-D", "the server is a program of its own: bench-server -D"),
        ] {
            assert_eq!(hint(argument), Some(named));
        }
        assert_eq!((hint("x"), hint("--dscp")), (None, None));
    }
}
