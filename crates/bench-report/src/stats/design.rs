use super::bootstrap::{Estimate, estimate};
use super::signed_rank;
use crate::result::AbResult;
use units::Rng;

/// The design of a test, on which the width of its intervals depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// The number of rounds was set beforehand.
    FixedSample,
    /// The test went on until its intervals were narrow. A width that happens to be small comes
    /// from a scatter that happens to be underestimated, so that the interval contains the truth
    /// less often than its level says. Such intervals are therefore at least as wide as those of
    /// signed ranks, widened to what a median has; `docs/measuring.md` has the measured levels.
    Sequential,
}

impl Design {
    /// That of a test with this result.
    pub fn of(result: &AbResult) -> Self {
        if result.until.is_some() {
            Self::Sequential
        } else {
            Self::FixedSample
        }
    }

    pub(super) fn estimate(self, values: &[f64], rng: &mut Rng) -> Option<Estimate> {
        let estimate = estimate(values, rng)?;
        Some(match self {
            Self::FixedSample => estimate,
            Self::Sequential => signed_rank::at_least(estimate, values),
        })
    }
}
