use clap::builder::Styles;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// Reads a command line; the first argument is the program's name.
///
/// # Errors
/// When it is wrong, or asks for help or the version: [`refusal`] says which.
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

/// What is wrong with a command line, in a line; `None` where it asks for help or the version.
/// `hint` says what an argument that the program does not know was probably meant for.
pub fn refusal(error: &clap::Error, hint: impl Fn(&str) -> Option<&'static str>) -> Option<String> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        // As text it would lack the escape sequences in what was typed.
        _ => Some(one_line(&error.render().ansi().to_string(), hint)),
    }
}

/// Whether a link has a clause that begins so, which people write as an option.
pub fn is_link_word(word: &str) -> bool {
    let mut words = crate::LINK_WORDS.iter();
    words.any(|link_word| link_word.form.split(' ').next() == Some(word))
}

/// clap's message without its frame: what is wrong, and the tips, in a line.
fn one_line(message: &str, hint: impl Fn(&str) -> Option<&'static str>) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let mut lines: Vec<&str> = lines.collect();
    let first = lines.first().copied().unwrap_or_default();
    if let Some(option) = between(first, "error: unexpected argument '", "' found") {
        let hint = hint(option);
        let is_useful = |line: &str| hint.is_none() && is_similar(line, option);
        lines.retain(|line| !line.starts_with("tip: ") || is_useful(line));
        lines.extend(hint);
    }
    if let Some(command) = between(first, "error: unrecognized subcommand '", "'")
        && lines.len() == 1
    {
        lines.push(hint(command).unwrap_or("see --help for those there are"));
    }
    let text = lines.join("; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    in_plain_words(&text.replace(":; ", ": "))
}

fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.strip_suffix(after)
}

/// Whether a tip names an option that begins as the one that was given, which is then a slip of the
/// finger.
fn is_similar(tip: &str, given: &str) -> bool {
    let named = tip.strip_prefix("tip: a similar argument exists: '");
    let begin = |text: &str| text.chars().take(4).collect::<String>();
    named.is_some_and(|named| begin(named) == begin(given))
}

/// What the standard library says of values, for people who do not program.
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
        .replace("invalid socket address syntax", "not an address and a port")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINT: &str = "the server is an argument";

    fn said(message: &str) -> String {
        one_line(message, |argument| (argument == "-c").then_some(HINT))
    }

    #[test]
    fn messages_have_no_words_of_rust_and_no_tips_that_mislead() {
        for (message, line) in [
            (
                "error: invalid value '-1' for '--jobs <N>': invalid digit found in string",
                "invalid value '-1' for '--jobs <N>': below 0",
            ),
            (
                "error: invalid value 'x' for '-P': invalid digit found in string",
                "invalid value 'x' for '-P': not a whole number",
            ),
            (
                "error: invalid value 'x' for '--to <ADDR>': invalid socket address syntax",
                "invalid value 'x' for '--to <ADDR>': not an address and a port",
            ),
            (
                "error: unexpected argument 'x' found\n\nUsage: program [OPTIONS]\n",
                "unexpected argument 'x' found",
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
                "error: unexpected argument '-x' found\n\n  tip: to pass '-x' as a value, use \
                 '-- -x'",
                "unexpected argument '-x' found",
            ),
            (
                "error: unexpected argument '-c' found\n\n  tip: a similar argument exists: '-cc'",
                "unexpected argument '-c' found; the server is an argument",
            ),
            (
                "error: unrecognized subcommand '10.0.0.1'",
                "unrecognized subcommand '10.0.0.1'; see --help for those there are",
            ),
            (
                "error: unrecognized subcommand 'runn'\n\n  tip: a similar subcommand exists: \
                 'run'",
                "unrecognized subcommand 'runn'; tip: a similar subcommand exists: 'run'",
            ),
            (
                "error: the following required arguments were not provided:\n  --to <ADDR>",
                "the following required arguments were not provided: --to <ADDR>",
            ),
        ] {
            assert_eq!(said(message), line);
        }
    }
}
