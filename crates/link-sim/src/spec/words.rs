use super::clauses::CLAUSES;
use super::{SpecError, Trace, presets};
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

    /// The next word if it is one of these.
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

    /// The next word as a value.
    pub(super) fn value<V>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<V>,
    ) -> Result<V, SpecError> {
        let before = self.last.text;
        let word = self.expect(expected)?;
        parse(word.text)
            .ok_or_else(|| self.error(word, format!("expected {expected} behind `{before}`")))
    }

    /// The next word, whatever it is.
    pub(super) fn expect(&mut self, expected: &str) -> Result<Word<'a>, SpecError> {
        let before = self.last.text;
        self.next().ok_or_else(|| {
            let problem = format!("expected {expected} behind `{before}`");
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
            word => Err(self.error(word, format!("expected `{name}` behind `{before}`"))),
        }
    }

    /// The text of the file that the last word names, made into a value.
    pub(super) fn file<V>(
        &self,
        parse: impl FnOnce(&str) -> Result<V, String>,
    ) -> Result<V, SpecError> {
        let text = (self.read)(self.last.text)
            .map_err(|error| self.error(self.last, format!("cannot be read: {error}")))?;
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

    /// The error for a word that begins no clause.
    pub(super) fn unknown(&self, word: Word<'_>) -> SpecError {
        if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == word.text) {
            return self.error(word, format!("it belongs behind {place}"));
        }
        if presets().any(|preset| preset.name == word.text) {
            return self.error(word, "the name of a preset stands at the begin");
        }
        let mut problem = format!("expected {} or at", CLAUSES.join(", "));
        let known = CLAUSES.into_iter().chain(PARTS.map(|(part, _)| part));
        let known = known.chain(presets().map(|preset| preset.name));
        if is_value(word.text) {
            problem.push_str(" before a value");
        } else if let Some(near) = units::nearest(word.text, known) {
            problem = format!("{problem}; did you mean `{near}`?");
        }
        self.error(word, problem)
    }
}

/// Refuses a description that is too long, as it was given or as it is written back.
pub(super) fn check_length(text: &str) -> Result<(), SpecError> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let problem = format!("a link is described in at most {MAX_TEXT} bytes, in canonical form too");
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

fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '-' | '+'))
}

/// Words that stand inside a clause, and where.
const PARTS: [(&str, &str); 40] = [
    ("distribution", "`delay TIME JITTER`"),
    ("ordered", "`delay TIME JITTER`"),
    ("random", "`loss`"),
    ("gemodel", "`loss`"),
    ("state", "`loss`"),
    ("packets", "`loss` or `slot TIME`"),
    ("bytes", "`slot TIME`"),
    ("gap", "`reorder P%`"),
    ("burst", "`tbf RATE`, `policer RATE` or `aqm red`"),
    ("peakrate", "`tbf RATE burst SIZE`"),
    ("mtu", "`tbf RATE burst SIZE peakrate RATE`"),
    ("suspend", "`radio TIME`"),
    ("every", "`radio TIME suspend TIME`"),
    ("ecn", "`loss P%` or `aqm NAME`"),
    ("target", "`aqm NAME`"),
    ("interval", "`aqm NAME`"),
    ("min", "`aqm red`"),
    ("max", "`aqm red`"),
    ("probability", "`aqm red`"),
    ("avpkt", "`aqm red`"),
    ("harddrop", "`aqm red`"),
    ("nodrop", "`aqm red`"),
    ("tupdate", "`aqm NAME`"),
    ("alpha", "`aqm NAME`"),
    ("beta", "`aqm NAME`"),
    ("bytemode", "`aqm pie`"),
    ("coupling_factor", "`aqm dualpi2`"),
    ("step_thresh", "`aqm dualpi2`"),
    ("drop_on_overload", "`aqm dualpi2`"),
    ("overflow", "`aqm dualpi2`"),
    ("classic_protection", "`aqm dualpi2`"),
    ("drop_enqueue", "`aqm dualpi2`"),
    ("drop_dequeue", "`aqm dualpi2`"),
    ("l4s_ect", "`aqm dualpi2`"),
    ("any_ect", "`aqm dualpi2`"),
    ("flows", "`aqm NAME`"),
    ("noecn", "`aqm NAME`"),
    ("ce_threshold", "`aqm NAME`"),
    ("quantum", "`aqm fq_codel`"),
    ("rtt", "`aqm cake`"),
];

/// A longer description is not one that a person wrote.
const MAX_TEXT: usize = 4_096;
