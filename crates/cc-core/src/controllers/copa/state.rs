//! The states, what each one owns, and which may follow which.

use super::competition::Competition;
use crate::parts::transition::Machine;

/// Where a flow is; a variant owns what is known only there.
#[derive(Debug)]
pub(super) enum State {
    /// Doubles the window each round trip until the rate is above the target (§2.1).
    SlowStart,
    /// Keeps 1 ÷ δ packets in the queue (§2.2).
    Default,
    /// Another flow fills the queue: δ follows AIMD (§2.2).
    Competitive(Competition),
}

impl Machine for State {
    fn name(&self) -> &'static str {
        match self {
            Self::SlowStart => "SlowStart",
            Self::Default => "Default",
            Self::Competitive(_) => "Competitive",
        }
    }

    fn may_become(&self, next: &Self) -> bool {
        match next {
            Self::SlowStart => !matches!(self, Self::SlowStart),
            Self::Default => !matches!(self, Self::Default),
            Self::Competitive(_) => matches!(self, Self::Default),
        }
    }
}
