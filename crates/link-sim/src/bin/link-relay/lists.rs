//! What a link can be, for people, in 80 columns.

use crate::failure::Failure;
use link_sim::{LINK_WORDS, presets};
use std::io::{self, Write as _};
use textwrap::{Options, WordSplitter};

/// Prints each word of the grammar with what it does and a link that has it.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn print_words() -> Result<(), Failure> {
    let entries = LINK_WORDS.iter().map(|word| {
        let example = format!("example: {}", word.example);
        let indented = [word.meaning, &example].map(|text| wrapped(text, WORD_INDENT));
        wrapped(word.form, 0) + &indented.concat()
    });
    print(&entries.collect::<String>())
}

/// Prints each link that has a name, with what it is, its words and where its numbers come from.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn print_presets() -> Result<(), Failure> {
    let mut list = String::new();
    for preset in presets() {
        let texts = [preset.summary, preset.link, preset.source];
        let entry = texts.map(|text| wrapped(text, NAME_INDENT)).concat();
        // The name stands in the indentation of the first line.
        list.push_str(&format!("{:NAME_INDENT$}", preset.name));
        list.push_str(&entry[NAME_INDENT..]);
    }
    list.push_str("\nAddresses of the sources: scenarios/links.toml\n");
    print(&list)
}

fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Failure::run),
    }
}

/// Lines as long as there is room; a word that is longer has its own.
fn wrapped(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = Options::new(COLUMNS)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options) + "\n"
}

const COLUMNS: usize = 80;
const WORD_INDENT: usize = 4;
/// Behind the longest name.
const NAME_INDENT: usize = 20;
