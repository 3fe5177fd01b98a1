//! Numbers as people read them, and text that a terminal may show.

mod drawn_figure;
mod scale;
mod unit;

pub(crate) use drawn_figure::{drawn_bound, drawn_figure};
pub use scale::{Scale, significant};
pub(crate) use unit::short_rate;
pub use unit::{Unit, amount};

/// A number of three significant digits with its unit, if it has one: `94.1 %`.
pub fn quantity(value: f64, unit: &str) -> String {
    let value = significant(value);
    match unit {
        "" => value,
        unit => format!("{value} {unit}"),
    }
}

/// A ratio: with three decimals where it is close to one, so that 1.004 and 0.996 are as exact as
/// each other, else with three significant digits.
pub fn ratio(value: f64) -> String {
    if (value - 1.0).abs() < 0.1 {
        format!("{value:.3}")
    } else {
        significant(value)
    }
}

/// Text from outside, without what a terminal would obey: each control character becomes `�`.
pub fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A line of a peer's, [`printable`] and at most 500 characters long: what is longer ends with `…`.
/// Anybody may be a peer, and the line may go into a log.
pub fn line_of_peer(text: &str) -> String {
    match text.char_indices().nth(MAX_PEER_LINE) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// Longer than any message of these programs.
const MAX_PEER_LINE: usize = 500;

/// `row` in lines of at most `width` characters, broken where it has blanks, but for one between a
/// number and its unit; the lines behind the first are indented. A word that is longer is left
/// whole: it is a hash or a name, which people copy.
pub fn wrapped_row(row: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = row.trim_end().to_owned();
    while rest.chars().count() > width {
        let indent = if lines.is_empty() { 0 } else { ROW_INDENT };
        let Some(at) = break_of(&rest, indent, width) else {
            break;
        };
        lines.push(rest[..at].trim_end().to_owned());
        rest = format!("{:ROW_INDENT$}{}", "", rest[at..].trim_start());
    }
    lines.push(rest);
    lines
}

/// The blank at which a line of `width` characters ends that begins with so many blanks; the first
/// that there is, where a word is longer.
fn break_of(line: &str, indent: usize, width: usize) -> Option<usize> {
    let blanks = line.match_indices(' ').map(|(at, _)| at);
    let mut ends = blanks.filter(|at| *at > indent && is_end(&line[..*at], &line[*at..]));
    let fits = |at: &usize| line[..*at].trim_end().chars().count() <= width;
    let mut last = ends.next()?;
    for end in ends.take_while(fits) {
        last = end;
    }
    Some(last)
}

/// Whether a line may end between these parts: before a word that is not the unit of a number.
fn is_end(before: &str, after: &str) -> bool {
    let is_number = before
        .trim_end()
        .ends_with(|last: char| last.is_ascii_digit());
    let is_word = after
        .trim_start()
        .starts_with(|first: char| first.is_alphabetic());
    let is_unit = is_number && is_word;
    !before.trim().is_empty() && !is_unit
}

/// Behind the number of a row, `[  1] `.
const ROW_INDENT: usize = 6;

/// As much of `text` as `fits`, with `…` for what is left out: its end, or its middle where it has
/// a parameter, whose value stands at the end.
pub fn elided(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let elided = |kept: usize| {
        let end = if text.contains('=') { kept / 2 } else { 0 };
        let (begin, end) = (&letters[..kept - end], &letters[letters.len() - end..]);
        begin.iter().chain(&['…']).chain(end).collect::<String>()
    };
    let mut shorter = (0..letters.len()).rev().map(elided);
    shorter.find(|text| fits(text)).unwrap_or_default()
}

/// Breaks `text` at spaces into lines of at most `width` characters.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_broken_where_no_unit_loses_its_number() {
        let row = "[  1]  0.00-1.00  94.0 Mbits/sec    3    (omitted)";
        assert_eq!(
            wrapped_row(row, 40),
            ["[  1]  0.00-1.00  94.0 Mbits/sec    3", "      (omitted)"]
        );
        assert_eq!(
            wrapped_row(row, 24),
            [
                "[  1]  0.00-1.00",
                "      94.0 Mbits/sec",
                "      3    (omitted)"
            ]
        );
        assert_eq!(wrapped_row(row, 80), [row]);
        let hash = format!("SHA-256 at both ends: {}", "f".repeat(64));
        let lines = wrapped_row(&hash, 40);
        assert_eq!(lines[0], "SHA-256 at both ends:");
        assert_eq!(lines[1].trim(), "f".repeat(64));
        assert_eq!(wrapped_row("", 40), [""]);
    }
}
