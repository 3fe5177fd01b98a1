//! The states, what each one owns, and which may follow which (draft-ietf-ccwg-bbr-06 §5.1.1,
//! §5.6.1).

use super::params::Tuning;
use super::probe_bw::{Climb, ProbeWait};
use super::probe_rtt::Hold;
use crate::parts::transition::Machine;
use units::Gain;

/// Where a flow is; a variant owns what is known only there.
#[derive(Debug)]
pub(super) enum State {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Empties the queue that Startup left.
    Drain {
        /// Round trip in which the state was entered: `drain_start_round`.
        start_round: u64,
    },
    /// ProbeBW_DOWN: empties the queue that the last probe left.
    Down(ProbeWait),
    /// ProbeBW_CRUISE: sends at the estimated rate.
    Cruise(ProbeWait),
    /// ProbeBW_REFILL: fills the pipe for a round without a queue.
    Refill,
    /// ProbeBW_UP: sends faster than the estimated rate to see whether there is more.
    Up(Climb),
    /// Sends half a BDP to see the round-trip time without queues; until the pipe has drained to
    /// that, there is nothing to hold.
    ProbeRtt(Option<Hold>),
}

impl Machine for State {
    fn name(&self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain { .. } => "Drain",
            Self::Down(_) => "ProbeBW_DOWN",
            Self::Cruise(_) => "ProbeBW_CRUISE",
            Self::Refill => "ProbeBW_REFILL",
            Self::Up(_) => "ProbeBW_UP",
            Self::ProbeRtt(_) => "ProbeRTT",
        }
    }

    fn may_become(&self, next: &Self) -> bool {
        match next {
            // The end of ProbeRTT before the pipe was ever full, or the undo of an exit on loss.
            Self::Startup => !matches!(self, Self::Startup),
            Self::Drain { .. } => matches!(self, Self::Startup),
            Self::Down(_) => matches!(self, Self::Drain { .. } | Self::Up(_) | Self::ProbeRtt(_)),
            Self::Cruise(_) => matches!(self, Self::Down(_)),
            // From Refill itself by the undo of an exit from Up on loss, which begins it again.
            Self::Refill => matches!(self, Self::Down(_) | Self::Cruise(_) | Self::Refill),
            Self::Up(_) => matches!(self, Self::Refill),
            Self::ProbeRtt(_) => !matches!(self, Self::ProbeRtt(_)),
        }
    }
}

impl State {
    /// `pacing_gain`: factor between the estimated bandwidth and the pacing rate (§5.6.1).
    pub(super) fn pacing_gain(&self, tuning: &Tuning) -> Gain {
        match self {
            Self::Startup => tuning.startup_pacing_gain,
            Self::Drain { .. } => tuning.drain_pacing_gain,
            Self::Down(_) => tuning.down_pacing_gain,
            Self::Cruise(_) | Self::Refill | Self::ProbeRtt(_) => Gain::ONE,
            Self::Up(_) => tuning.up_pacing_gain,
        }
    }

    /// `cwnd_gain`: factor between the estimated BDP and the window (§5.6.1).
    pub(super) fn cwnd_gain(&self, tuning: &Tuning) -> Gain {
        match self {
            Self::Up(_) => tuning.up_cwnd_gain,
            Self::ProbeRtt(_) => tuning.probe_rtt_cwnd_gain,
            _ => tuning.cwnd_gain,
        }
    }

    /// IsInAProbeBWState.
    pub(super) fn is_probe_bw(&self) -> bool {
        matches!(
            self,
            Self::Down(_) | Self::Cruise(_) | Self::Refill | Self::Up(_)
        )
    }

    /// Whether this is ProbeBW_DOWN or ProbeBW_CRUISE, between two probes.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self, Self::Down(_) | Self::Cruise(_))
    }

    /// Whether this is ProbeBW_UP.
    pub(super) fn is_up(&self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// IsProbingBW: loss is the price of the search here and moves no short-term bound.
    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up(_))
    }
}
