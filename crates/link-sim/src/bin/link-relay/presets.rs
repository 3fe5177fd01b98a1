//! The links that are known by name, for people.

use crate::Failure;
use core::iter;
use link_sim::{Preset, presets};
use std::io::{self, Write as _};

/// Prints each with what it is, its words and where its numbers come from, in 80 columns.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn print() -> Result<(), Failure> {
    let mut list: String = presets().map(entry).collect();
    list.push_str("\nAddresses of the sources: scenarios/links.toml\n");
    match io::stdout().write_all(list.as_bytes()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Failure::run),
    }
}

fn entry(preset: Preset) -> String {
    let texts = [preset.summary, preset.link, preset.source];
    let lines = texts.into_iter().flat_map(wrapped);
    let names = iter::once(preset.name).chain(iter::repeat(""));
    let lines = names.zip(lines);
    lines
        .map(|(name, line)| format!("{name:INDENT$}{line}\n"))
        .collect()
}

/// The words of `text` in lines as long as there is room; a longer word has its own.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("it begins with one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.len() + 1 + word.len() <= COLUMNS - INDENT {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

const COLUMNS: usize = 80;
/// Behind the longest name.
const INDENT: usize = 20;
