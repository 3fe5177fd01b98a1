//! `aqm NAME [PARAMETERS]`: the discipline of the queue before the bottleneck.

mod codel;

use super::SpecError;
use super::words::{Word, Words};
pub(crate) use codel::Codel;
use core::fmt;

/// What a queue does about its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aqm {
    /// Nothing: what does not fit is dropped.
    DropTail,
    /// Nothing, but what does not fit pushes out the oldest.
    DropHead,
    Codel(Codel),
}

impl Aqm {
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let word = words.expect(&format!("a discipline, one of {},", NAMES.join(", ")))?;
        match word.text {
            "droptail" => Ok(Self::DropTail),
            "drophead" => Ok(Self::DropHead),
            "codel" => Codel::read(words).map(Self::Codel),
            _ => Err(unknown(words, word)),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::DropTail => "droptail",
            Self::DropHead => "drophead",
            Self::Codel(_) => "codel",
        }
    }

    /// Packets that it holds when no `queue` says how many.
    pub(crate) const fn default_limit(&self) -> u32 {
        match self {
            // Linux: sch_fifo takes the device's txqueuelen, sch_codel its own number.
            Self::DropTail | Self::DropHead | Self::Codel(_) => 1_000,
        }
    }

    /// Whether packets of one flow may overtake those of another.
    pub(crate) const fn separates_flows(&self) -> bool {
        match self {
            Self::DropTail | Self::DropHead | Self::Codel(_) => false,
        }
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::DropTail | Self::DropHead => Ok(()),
            Self::Codel(parameters) => parameters.fmt(f),
        }
    }
}

fn unknown(words: &Words<'_>, word: Word<'_>) -> SpecError {
    let mut problem = format!("expected a discipline, one of {}", NAMES.join(", "));
    if let Some(near) = units::nearest(word.text, NAMES) {
        problem = format!("{problem}; did you mean `{near}`?");
    }
    words.error(word, problem)
}

const NAMES: [&str; 3] = ["droptail", "drophead", "codel"];
