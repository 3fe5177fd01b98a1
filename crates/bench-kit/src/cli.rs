//! What the command lines of both programs share.

pub mod values;

use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use clap::builder::Styles;
use clap::{Command, CommandFactory, FromArgMatches};
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
            // As text it would lack the escape sequences in what was typed.
            _ => Self::Refused(Failure::usage(one_line(&error.render().ansi().to_string()))),
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
    let command = T::command().styles(Styles::plain());
    let matches = with_negative_numbers(command).try_get_matches_from(args)?;
    T::from_arg_matches(&matches)
}

/// Takes `-1` behind an option for its value, whose bounds are then named.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let takes_value = argument.get_action().takes_values() && !argument.is_positional();
        argument.allow_negative_numbers(takes_value)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// clap's message without its frame: what is wrong, and the tips, in a line.
fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let mut lines: Vec<&str> = lines.collect();
    let unexpected = lines.first().and_then(|line| {
        let (_, rest) = line.split_once("unexpected argument '")?;
        rest.strip_suffix("' found")
    });
    let hint = unexpected.and_then(|unexpected| {
        let known = ELSEWHERE.iter().find(|(option, _)| *option == unexpected);
        let is_useful = |line: &str| known.is_none() && is_similar(line, unexpected);
        lines.retain(|line| !line.starts_with("tip: ") || is_useful(line));
        known
            .map(|(_, hint)| *hint)
            .or_else(|| of_number(unexpected))
    });
    lines.extend(hint);
    let text = lines.join("; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    in_plain_words(&text.replace(":; ", ": "))
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

/// Whether a tip names an option that begins as the one that was given, which is then a slip of the
/// finger.
fn is_similar(tip: &str, given: &str) -> bool {
    let named = tip.strip_prefix("tip: a similar argument exists: '");
    let begin = |text: &str| text.chars().take(4).collect::<String>();
    named.is_some_and(|named| begin(named) == begin(given))
}

/// What the standard library says of numbers, for people who do not program.
fn in_plain_words(text: &str) -> String {
    let is_negative = text.contains("invalid value '-");
    let no_number = if is_negative {
        "below 0"
    } else {
        "not a whole number"
    };
    text.replace("invalid digit found in string", no_number)
        .replace(
            "cannot parse integer from empty string",
            "not a whole number",
        )
        .replace("number too large to fit in target type", "too large")
        .replace("invalid IP address syntax", "not an IP address")
}

/// Options that stand elsewhere, and those of iperf3's that are something else here.
const ELSEWHERE: [(&str, &str); 10] = [
    ("-v", VERSION),
    ("--version", VERSION),
    ("-c", "the server is an argument: bench-client run HOST"),
    (
        "--client",
        "the server is an argument: bench-client run HOST",
    ),
    ("-s", "the server is a program of its own: bench-server"),
    (
        "--server",
        "the server is a program of its own: bench-server",
    ),
    ("-D", DAEMON),
    ("--daemon", DAEMON),
    ("-I", DAEMON),
    ("--pidfile", DAEMON),
];

const VERSION: &str = "bench-client --version prints the version";

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
    fn messages_have_no_words_of_rust_and_no_tips_that_mislead() {
        for (message, line) in [
            (
                "error: invalid value '-1' for '--jobs <N>': invalid digit found in string",
                "invalid value '-1' for '--jobs <N>': below 0",
            ),
            (
                "error: unexpected argument '5201' found",
                "unexpected argument '5201' found; a port follows -p, or the host as in HOST:PORT",
            ),
            (
                "error: unexpected argument '0.2s' found",
                "unexpected argument '0.2s' found; the time of --ping and --rpm follows a `=`, as \
                 in --ping=200ms",
            ),
            (
                "error: unexpected argument 'x' found",
                "unexpected argument 'x' found",
            ),
            (
                "error: invalid value 'x' for '-P': invalid digit found in string",
                "invalid value 'x' for '-P': not a whole number",
            ),
            (
                "error: unexpected argument '--dscp' found\n\n  tip: a similar argument exists: \
                 '--udp'",
                "unexpected argument '--dscp' found",
            ),
            (
                "error: unexpected argument '--paralel' found\n\n  tip: a similar argument exists: \
                 '--parallel'",
                "unexpected argument '--paralel' found; tip: a similar argument exists: \
                 '--parallel'",
            ),
            (
                "error: unexpected argument '-c' found\n\n  tip: to pass '-c' as a value, use \
                 '-- -c'",
                "unexpected argument '-c' found; the server is an argument: bench-client run HOST",
            ),
            (
                "error: unexpected argument '--version' found\n\n  tip: a similar argument \
                 exists: '--version6'",
                "unexpected argument '--version' found; bench-client --version prints the version",
            ),
            (
                "error: unexpected argument '-D' found",
                "unexpected argument '-D' found; the server is a program of its own: bench-server \
                 -D",
            ),
        ] {
            assert_eq!(one_line(message), line);
        }
    }
}
