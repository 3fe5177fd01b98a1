use super::error::SpecError;
use super::trace::{Recorded, Recordings, known_traces, text_of};
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
    /// The traces that were read.
    traces: Recordings,
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
            traces: Recordings::default(),
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

    /// The trace that the next word names, a built-in one or a file. `of_kind` picks those of its
    /// kind among the ones that were read before: each is read and kept once.
    pub(super) fn trace<T>(
        &mut self,
        of_kind: fn(&mut Recordings) -> &mut Vec<Recorded<T>>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Recorded<T>, SpecError> {
        let word = self.expect("a file name")?;
        let known = of_kind(&mut self.traces);
        if let Some(known) = known.iter().find(|trace| trace.name == word.text) {
            return Ok(known.clone());
        }
        let text = text_of(word.text, self.read).map_err(|error| {
            let problem = match error.kind() {
                io::ErrorKind::NotFound => {
                    format!("no such file; built-in traces: {}", known_traces())
                }
                _ => format!("cannot read file: {error}"),
            };
            self.error(word, problem)
        })?;
        let trace = parse(&text).map_err(|problem| self.error(word, problem))?;
        let recorded = Recorded::new(word.text, trace);
        of_kind(&mut self.traces).push(recorded.clone());
        Ok(recorded)
    }

    pub(super) fn error(&self, word: Word<'_>, problem: impl Into<String>) -> SpecError {
        SpecError::new(self.text, word.at, word.text, problem)
    }

    /// The error about the clause that `name` began, the last one if there are several.
    pub(super) fn error_at(&self, name: &str, problem: &str) -> SpecError {
        let mut words = Words {
            at: 0,
            traces: Recordings::default(),
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
