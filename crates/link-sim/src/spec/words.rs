use super::error::SpecError;
use super::trace::Trace;
use std::io;

/// The words of a description from left to right.
pub(super) struct Words<'a> {
    text: &'a str,
    /// Byte offset of what is not read yet.
    at: usize,
    /// The word read last.
    pub(super) last: Word<'a>,
    /// How the text of a file is had.
    read: &'a dyn Fn(&str) -> io::Result<String>,
    /// The files that were read.
    pub(super) traces: Vec<Trace>,
}

#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Byte offset in the whole text.
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(
        text: &'a str,
        read: &'a dyn Fn(&str) -> io::Result<String>,
    ) -> Result<Self, SpecError> {
        check_length(text)?;
        Ok(Self {
            text,
            at: 0,
            last: Word { text: "", at: 0 },
            read,
            traces: Vec::new(),
        })
    }

    pub(super) fn peek(&self) -> Option<Word<'a>> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        let at = self.at + (rest.len() - trimmed.len());
        let text = trimmed.split_whitespace().next()?;
        Some(Word { text, at })
    }

    pub(super) fn next(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.at = word.at + word.text.len();
        self.last = word;
        Some(word)
    }

    pub(super) fn next_of(&mut self, names: &[&str]) -> Option<Word<'a>> {
        self.peek().filter(|word| names.contains(&word.text))?;
        self.next()
    }

    /// The next word if it is a value, parsed.
    pub(super) fn value_if_any<V>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<V>,
    ) -> Result<Option<V>, SpecError> {
        let follows = self.peek().is_some_and(|word| is_value(word.text));
        follows.then(|| self.value(expected, parse)).transpose()
    }

    pub(super) fn value<V>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<V>,
    ) -> Result<V, SpecError> {
        let before = self.last.text;
        let word = self.expect(expected)?;
        parse(word.text)
            .ok_or_else(|| self.error(word, format!("expected {expected} after `{before}`")))
    }

    pub(super) fn expect(&mut self, expected: &str) -> Result<Word<'a>, SpecError> {
        let before = self.last.text;
        self.next().ok_or_else(|| {
            let problem = format!("expected {expected} after `{before}`");
            SpecError::new(self.text, self.text.len(), "", problem)
        })
    }

    /// The word `name` and a value behind it.
    pub(super) fn named<V>(
        &mut self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<V>,
    ) -> Result<V, SpecError> {
        let before = self.last.text;
        match self.expect(&format!("`{name}` and {expected}"))? {
            word if word.text == name => self.value(expected, parse),
            word => Err(self.error(word, format!("expected `{name}` after `{before}`"))),
        }
    }

    /// The text of the file that the last word names, made into a value.
    pub(super) fn file<V>(
        &self,
        parse: impl FnOnce(&str) -> Result<V, String>,
    ) -> Result<V, SpecError> {
        let text = (self.read)(self.last.text)
            .map_err(|error| self.error(self.last, format!("cannot read file: {error}")))?;
        parse(&text).map_err(|problem| self.error(self.last, problem))
    }

    pub(super) fn error(&self, word: Word<'_>, problem: impl Into<String>) -> SpecError {
        SpecError::new(self.text, word.at, word.text, problem)
    }

    /// The error about the clause that `name` began, the last one if there are several.
    pub(super) fn error_at(&self, name: &str, problem: &str) -> SpecError {
        let mut words = Words {
            at: 0,
            traces: Vec::new(),
            ..*self
        };
        let mut found = self.last;
        while words.at < self.at
            && let Some(word) = words.next()
        {
            if canonical(word.text) == name {
                found = word;
            }
        }
        self.error(found, problem)
    }
}

/// Refuses a description that is too long, as it was given or as it is written back.
pub(super) fn check_length(text: &str) -> Result<(), SpecError> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let problem = format!("link too long: at most {MAX_TEXT} bytes allowed, in canonical form too");
    Err(SpecError::new("", 0, "", problem))
}

/// The name of the clause that a word begins, tc's aliases resolved.
pub(super) fn canonical(word: &str) -> &str {
    match word {
        "latency" => "delay",
        "drop" => "loss",
        name => name,
    }
}

/// Whether a word can only be a value.
pub(super) fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '-' | '+'))
}

/// A longer description is not one that a person wrote.
const MAX_TEXT: usize = 4_096;
