use super::chance::Chance;
use crate::spec::error::SpecError;
use crate::spec::values::positive;
use crate::spec::words::Words;
use core::fmt;

/// `reorder P% [CORRELATION%] [gap N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reorder {
    pub(crate) chance: Chance,
    pub(crate) gap: u32,
}

impl Reorder {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
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
