use crate::spec::error::SpecError;
use crate::spec::values::{PERCENT, Percent, percent};
use crate::spec::words::Words;
use core::fmt;
use units::Gain;

/// `P% [CORRELATION%]`: something that happens to a share of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Chance {
    pub(crate) probability: Gain,
    /// How much of netem's random number is that of the packet before.
    pub(crate) correlation: Gain,
}

impl Chance {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        Ok(Self {
            probability: words.value(PERCENT, percent)?,
            correlation: words.value_if_any(PERCENT, percent)?.unwrap_or(Gain::ZERO),
        })
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Percent(self.probability).fmt(f)?;
        if self.correlation > Gain::ZERO {
            write!(f, " {}", Percent(self.correlation))?;
        }
        Ok(())
    }
}
