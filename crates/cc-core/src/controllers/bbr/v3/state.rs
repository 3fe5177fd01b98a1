//! The states, what each one owns, and which may follow which (draft-ietf-ccwg-bbr-06 §5.1.1,
//! §5.6.1).

use super::params::{MAX_UP_ROUNDS, Tuning};
use crate::parts::transition::Machine;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Rng, Timestamp};

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
    Up(ProbeUp),
    /// Sends half a BDP to see the round-trip time without queues.
    ProbeRtt(ProbeRtt),
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

    /// Whether this is ProbeBW_UP.
    pub(super) fn is_up(&self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// IsProbingBW: loss is expected while probing and does not move the short-term bounds.
    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up(_))
    }
}

/// How long to wait until the next probe; begins with ProbeBW_DOWN, goes on through
/// ProbeBW_CRUISE.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeWait {
    /// `cycle_stamp`.
    pub(super) started_at: Timestamp,
    /// `bw_probe_wait`.
    pub(super) limit: Duration,
    /// `rounds_since_probe_up`.
    pub(super) rounds: u64,
}

impl ProbeWait {
    /// PickProbeWait: random, so that flows mix.
    pub(super) fn pick(now: Timestamp, tuning: &Tuning, rng: &mut Rng) -> Self {
        Self {
            started_at: now,
            rounds: rng.below(2),
            limit: rng.duration_between(tuning.probe_wait_min, tuning.probe_wait_max),
        }
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }
}

/// One ProbeBW_UP, and how `inflight_longterm` grows in it: by 1, 2, 4 … packets per round.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeUp {
    /// When it began; -02's `cycle_stamp`.
    pub(super) started_at: Timestamp,
    /// `bw_probe_up_rounds`.
    rounds: u32,
    /// Acknowledged since the last growth: `bw_probe_up_acked`.
    acked: Bytes,
    /// To be acknowledged for growth by a packet: `probe_up_acked_per_inc`.
    acked_per_packet: Bytes,
}

impl ProbeUp {
    pub(super) fn new(now: Timestamp, cwnd: Bytes, mss: Bytes) -> Self {
        let mut up = Self {
            started_at: now,
            rounds: 0,
            acked: Bytes::ZERO,
            acked_per_packet: Bytes::MAX,
        };
        up.steepen(cwnd, mss);
        up
    }

    /// RaiseInflightLongtermSlope: twice as many packets in the coming round as in the last.
    pub(super) fn steepen(&mut self, cwnd: Bytes, mss: Bytes) {
        let packets = 1_u64 << self.rounds;
        self.rounds = (self.rounds + 1).min(MAX_UP_ROUNDS);
        self.acked_per_packet = (cwnd / packets).max(mss);
    }

    /// How many packets the bound grows by for `newly_acked`; the remainder is kept.
    pub(super) fn grow(&mut self, newly_acked: Bytes) -> u64 {
        self.acked += newly_acked;
        let packets = self.acked.packets_floor(self.acked_per_packet);
        self.acked = self.acked % self.acked_per_packet;
        packets
    }
}

/// One ProbeRTT.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeRtt {
    /// Half a BDP at this rate is held, unless the model's is lower; [`Bandwidth::MAX`] without the
    /// rule `adapts_down=on`.
    pub(super) delivered: Bandwidth,
    /// `None` until the pipe has drained to that.
    pub(super) hold: Option<ProbeRttHold>,
}

/// The hold of ProbeRTT, once the pipe has drained.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeRttHold {
    /// `probe_rtt_done_stamp`.
    pub(super) until: Timestamp,
    /// Whether a round trip has passed, too: `probe_rtt_round_done`.
    pub(super) is_round_done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_200);

    #[test]
    fn the_bound_climbs_by_1_2_4_packets_per_round() {
        let cwnd = MSS * 64;
        let mut up = ProbeUp::new(Timestamp::ZERO, cwnd, MSS);
        let mut growth = [0; 4];
        for packets in &mut growth {
            // One round: a window's worth of acknowledgements, a packet each.
            *packets = (0..64).map(|_| up.grow(MSS)).sum::<u64>();
            up.steepen(cwnd, MSS);
        }
        assert_eq!(growth, [1, 2, 4, 8]);
    }

    #[test]
    fn the_climb_is_never_steeper_than_doubling_nor_does_its_step_overflow() {
        let mut up = ProbeUp::new(Timestamp::ZERO, MSS * 64, MSS);
        for _ in 0..100 {
            up.steepen(MSS * 64, MSS);
        }
        assert_eq!(up.grow(MSS * 64), 64);
    }

    #[test]
    fn waits_are_two_to_three_seconds_and_differ_by_seed() {
        use super::super::params::DRAFT_06;
        let tuning = Tuning::new(&crate::params::Params::defaults(DRAFT_06));
        let pick = |seed| ProbeWait::pick(Timestamp::ZERO, &tuning, &mut Rng::new(seed)).limit;
        assert!((0..100).all(|seed| (2..3).contains(&pick(seed).as_secs())));
        assert_ne!(pick(1), pick(2));
        assert_eq!(pick(1), pick(1));
    }
}
