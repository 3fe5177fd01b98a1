use super::chance::Chance;
use super::error::SpecError;
use super::values::positive;
use super::words::Words;
use core::fmt;

/// `reorder P% [CORRELATION%] [gap N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reorder {
    pub(crate) chance: Chance,
    pub(crate) gap: u32,
}

impl Reorder {
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let chance = Chance::read(words)?;
        let gap = match words.next_of(&["gap"]) {
            Some(_) => words.value("a number of packets from 1", positive)?,
            None => 1,
        };
        Ok(Self { chance, gap })
    }
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chance.fmt(f)?;
        match self.gap {
            1 => Ok(()),
            gap => write!(f, " gap {gap}"),
        }
    }
}
