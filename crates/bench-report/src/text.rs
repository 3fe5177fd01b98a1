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

/// As much of `text` as `fits`, with `…` for what is left out: its end, or its middle where it has
/// a parameter, whose value stands at the end.
pub(crate) fn elided(text: &str, fits: impl Fn(&str) -> bool) -> String {
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
