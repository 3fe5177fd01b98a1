//! The command line, and what is said of it.

use crate::failure::print_error;
use clap::{CommandFactory, FromArgMatches};
use link_sim::program::{self, is_link_word};

/// Reads the command line; ends the program where it is wrong or asks for help.
pub(super) fn parse<T: CommandFactory + FromArgMatches>() -> T {
    program::parse(std::env::args_os()).unwrap_or_else(|error| {
        let Some(said) = program::refusal(&error, hint) else {
            error.exit();
        };
        print_error(said);
        std::process::exit(error.exit_code());
    })
}

/// What an argument that the program does not know was probably meant for.
fn hint(argument: &str) -> Option<&'static str> {
    let word = argument.strip_prefix("--")?;
    is_link_word(word).then_some("the words of a LINK have no dashes: delay 20ms rate 10mbit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandLine;
    use std::ffi::OsString;

    fn said(words: &[&str]) -> Option<String> {
        let words = ["link-relay"].iter().chain(words).map(OsString::from);
        let error = program::parse::<CommandLine>(words).expect_err("it is wrong");
        program::refusal(&error, hint)
    }

    #[test]
    fn what_was_typed_is_kept_for_the_error_to_show() {
        let said = said(&["--max-clients", "\x1b[31mx"]).expect("it is wrong");
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
            (
                &["--delay", "20ms"],
                "unexpected argument '--delay' found; the words of a LINK have no dashes: delay \
                 20ms rate 10mbit",
            ),
            (&["--bogus"], "unexpected argument '--bogus' found"),
            (
                &["--listen", "127.0.0.1:1"],
                "the following required arguments were not provided: --to <ADDR>",
            ),
        ] {
            assert_eq!(said(words).as_deref(), Some(line));
        }
    }

    #[test]
    fn help_and_the_version_are_no_errors() {
        for word in ["--help", "-v", "-V", "--version"] {
            assert_eq!(said(&[word]), None, "{word}");
        }
    }
}
