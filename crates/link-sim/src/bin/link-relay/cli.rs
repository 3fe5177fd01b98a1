//! What the command line says of itself, in a line and without words of Rust.

use crate::failure::print_error;
use clap::builder::Styles;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// Reads the command line; ends the program where it is wrong or asks for help.
pub(super) fn parse<T: CommandFactory + FromArgMatches>() -> T {
    match read(std::env::args_os()) {
        Ok(command_line) => command_line,
        Err(error) if is_asked_for(error.kind()) => error.exit(),
        Err(error) => {
            print_error(one_line(&text_of(&error)));
            std::process::exit(error.exit_code());
        }
    }
}

fn read<T: CommandFactory + FromArgMatches>(
    words: impl IntoIterator<Item = OsString>,
) -> Result<T, clap::Error> {
    let command = T::command().styles(Styles::plain());
    T::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// What clap says, with the escape sequences in what was typed, for [`print_error`] to show.
fn text_of(error: &clap::Error) -> String {
    error.render().ansi().to_string()
}

const fn is_asked_for(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// clap's message without its frame, and without the tip to take a wrong option for a LINK.
fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"));
    let text = lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    in_plain_words(text)
}

fn in_plain_words(text: &str) -> String {
    text.replace("invalid socket address syntax", "not an address and a port")
        .replace("invalid IP address syntax", "not an IP address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandLine;

    fn said(words: &[&str]) -> String {
        let words = ["link-relay"].iter().chain(words).map(OsString::from);
        let error = read::<CommandLine>(words).expect_err("it is wrong");
        assert!(!is_asked_for(error.kind()));
        one_line(&text_of(&error))
    }

    #[test]
    fn what_was_typed_is_kept_for_the_error_to_show() {
        let said = said(&["--max-clients", "\x1b[31mx"]);
        assert!(
            said.starts_with("invalid value '\x1b[31mx' for '"),
            "{said:?}"
        );
    }

    #[test]
    fn messages_are_one_line_in_plain_words() {
        for (words, line) in [
            (
                &["--max-clients", "x"][..],
                "invalid value 'x' for '--max-clients <N>': expected a whole number from 1 to \
                 60000",
            ),
            (
                &["--snaplen", "3"],
                "invalid value '3' for '--snaplen <BYTES>': expected a whole number from 28 to \
                 262144",
            ),
            (&["--bogus"], "unexpected argument '--bogus' found"),
            (
                &["--listen", "127.0.0.1:1"],
                "the following required arguments were not provided: --to <ADDR>",
            ),
        ] {
            assert_eq!(said(words), line);
        }
    }

    #[test]
    fn help_and_the_version_are_no_errors() {
        for word in ["--help", "-v", "-V", "--version"] {
            let words = ["link-relay", word].map(OsString::from);
            let error = read::<CommandLine>(words).expect_err("nothing else is done");
            assert!(is_asked_for(error.kind()), "{word}");
        }
    }
}
