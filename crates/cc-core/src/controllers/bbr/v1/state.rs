//! The states, what each one owns, and which may follow which (`enum bbr_mode`).

use crate::parts::transition::Machine;
use units::Timestamp;

/// Where a flow is; a variant owns what is known only there.
#[derive(Debug)]
pub(super) enum State {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Empties the queue that Startup left.
    Drain,
    /// Cycles through gains; the phase is kept by a [`GainCycle`](super::cycle::GainCycle).
    ProbeBw,
    /// Sends four packets a round trip to see the round-trip time without queues; until the pipe
    /// has drained to that, no hold has begun.
    ProbeRtt(Option<ProbeRttHold>),
}

impl Machine for State {
    fn name(&self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::ProbeBw => "ProbeBW",
            Self::ProbeRtt(_) => "ProbeRTT",
        }
    }

    fn may_become(&self, next: &Self) -> bool {
        match next {
            Self::Startup => matches!(self, Self::ProbeRtt(_)),
            Self::Drain => matches!(self, Self::Startup),
            Self::ProbeBw => matches!(self, Self::Drain | Self::ProbeRtt(_)),
            Self::ProbeRtt(_) => !matches!(self, Self::ProbeRtt(_)),
        }
    }
}

impl State {
    /// Whether this is ProbeBW.
    pub(super) fn is_probe_bw(&self) -> bool {
        matches!(self, Self::ProbeBw)
    }
}

/// The hold of ProbeRTT, once the pipe has drained.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeRttHold {
    /// `probe_rtt_done_stamp`.
    pub(super) until: Timestamp,
    /// Whether a round trip has passed, too: `probe_rtt_round_done`.
    pub(super) is_round_done: bool,
}
