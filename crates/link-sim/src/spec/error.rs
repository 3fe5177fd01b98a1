use core::fmt;

/// A description that is not a link: the word, where it stands, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    text: String,
    /// Byte offset of the word in `text`.
    at: usize,
    word: String,
    problem: String,
}

impl SpecError {
    /// `word` is a part of `text` that begins at byte `at`.
    pub(crate) fn new(text: &str, at: usize, word: &str, problem: impl Into<String>) -> Self {
        Self {
            text: text.to_owned(),
            at,
            word: word.to_owned(),
            problem: problem.into(),
        }
    }

    /// About the first occurrence of `word` in `text`.
    pub(crate) fn at_word(text: &str, word: &str, problem: impl Into<String>) -> Self {
        Self::new(text, text.find(word).unwrap_or(0), word, problem)
    }

    /// The word that was refused; empty when the text ended too early.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Where that word begins: characters from the left, the first being 1.
    pub fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// What was expected there.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.word.is_empty() {
            f.write_str("end")?;
        } else {
            write!(f, "`{}`", self.word.escape_debug())?;
        }
        let (column, text) = (self.column(), self.text.escape_debug());
        write!(f, " at column {column} of link `{text}`: {}", self.problem)
    }
}

impl core::error::Error for SpecError {}
