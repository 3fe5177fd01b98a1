use super::bootstrap::{Estimate, estimate};
use super::signed_rank;
use crate::result::AbResult;
use units::Rng;

/// What has ended a test, on which the width of its intervals depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A number of rounds that was set beforehand.
    Planned,
    /// The intervals: the test went on until they were narrow. Whoever stops when a width happens
    /// to be small stops when the scatter happens to be underestimated, and the interval contains
    /// the truth less often than it says. Such intervals are therefore at least as wide as those of
    /// signed ranks are, widened to what a median has; `docs/measuring.md` has the measured levels.
    Narrow,
}

impl End {
    /// How this test was to end.
    pub fn of(result: &AbResult) -> Self {
        if result.until.is_some() {
            Self::Narrow
        } else {
            Self::Planned
        }
    }

    pub(super) fn estimate(self, values: &[f64], rng: &mut Rng) -> Option<Estimate> {
        let estimate = estimate(values, rng)?;
        Some(match self {
            Self::Planned => estimate,
            Self::Narrow => signed_rank::at_least(estimate, values),
        })
    }
}
