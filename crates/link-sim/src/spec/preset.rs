use super::words::Words;
use super::{Clauses, SpecError};

/// A link that is known by name: a real kind of network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// What stands at the begin of a description.
    pub name: &'static str,
    /// What it stands for.
    pub link: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
}

/// Every known link, in alphabetical order.
pub fn presets() -> impl Iterator<Item = Preset> {
    PRESETS.iter().copied()
}

/// The clauses of the preset that the next word names, if it does.
pub(super) fn read(words: &mut Words<'_>) -> Result<Option<Clauses>, SpecError> {
    let next = words.peek().map(|word| word.text);
    let Some(preset) = presets().find(|preset| Some(preset.name) == next) else {
        return Ok(None);
    };
    words.next();
    let refuse = |_: &str| Err(std::io::Error::other("presets read no files"));
    let mut clauses = Words::new(preset.link, &refuse)?;
    Clauses::default().read_over(&mut clauses).map(Some)
}

const PRESETS: [Preset; 0] = [];
