//! Command lines for people to paste into a shell.

use std::ffi::OsString;
use std::path::Path;

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.:/%+-_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command line without the program's folder and without options that only say where and how
/// to show the result; `None` where it is no text.
pub(crate) fn measuring(args: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = args.iter().map(|word| word.to_str()).collect();
    let mut words = words?.into_iter();
    let program = Path::new(words.next()?).file_name()?.to_str()?;
    let mut line = quoted(program);
    while let Some(word) = words.next() {
        if OUTPUT_FLAGS.contains(&word) {
            continue;
        }
        let (option, value) = word.split_once('=').unzip();
        if OUTPUT_OPTIONS.contains(&option.unwrap_or(word)) {
            if value.is_none() {
                words.next();
            }
            continue;
        }
        line.push(' ');
        line.push_str(&quoted(word));
    }
    Some(line)
}

const OUTPUT_FLAGS: [&str; 7] = [
    "-J",
    "-V",
    "--get-server-output",
    "--json-stream",
    "--live",
    "--no-report",
    "--verbose",
];

const OUTPUT_OPTIONS: [&str; 8] = [
    "--csv",
    "--json",
    "--json-format",
    "--logfile",
    "--qlog",
    "--report",
    "--rounds-csv",
    "--svg",
];

/// The words of a line with quotes around some.
#[cfg(test)]
pub(crate) fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measuring_command_has_all_but_its_output() {
        let line = "/usr/bin/bench-client ab --virtual --report=x.html --a bbr3 --json y.json -J \
                    -t 2 --link";
        let mut args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        args.push("delay 20ms".into());
        assert_eq!(
            measuring(&args).as_deref(),
            Some("bench-client ab --virtual --a bbr3 -t 2 --link 'delay 20ms'")
        );
        assert_eq!(measuring(&[]), None);
    }

    #[test]
    fn what_a_shell_would_split_or_drop_is_quoted() {
        let links = ["delay 20ms", "", "cc=bbr3:adapts_down=on", "0.5%"];
        assert_eq!(
            links.map(quoted).join(" "),
            "'delay 20ms' '' cc=bbr3:adapts_down=on 0.5%"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
