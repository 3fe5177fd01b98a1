//! How much the path holds: BDP, max_inflight and the bounds that loss teaches
//! (draft-ietf-ccwg-bbr-06 §2.9.2, §5.6.4.2).

use super::params::{Tuning, UP_EXTRA_PACKETS};
use super::{Bbr, Revision};
use units::{Bandwidth, Bytes, Gain};

/// Bounds of what may be in flight, on both time scales; [`Bytes::MAX`] is none.
#[derive(Debug)]
pub(super) struct DataVolume {
    /// Learned by probing until loss: `inflight_longterm`.
    pub(super) longterm: Bytes,
    /// Learned from loss since the last probe: `inflight_shortterm`.
    pub(super) shortterm: Bytes,
}

impl DataVolume {
    pub(super) fn new() -> Self {
        Self {
            longterm: Bytes::MAX,
            shortterm: Bytes::MAX,
        }
    }

    /// A round with loss: the bound falls to what was delivered in it, but by no more than `beta`.
    pub(super) fn cut_shortterm(&mut self, latest: Bytes, cwnd: Bytes, beta: Gain) {
        let before = if self.shortterm == Bytes::MAX {
            cwnd
        } else {
            self.shortterm
        };
        self.shortterm = latest.max(before * beta);
    }

    /// InflightWithHeadroom: the long-term bound less what is left to others, a packet at least.
    pub(super) fn with_headroom(&self, tuning: &Tuning, mss: Bytes) -> Bytes {
        if self.longterm == Bytes::MAX {
            return Bytes::MAX;
        }
        let headroom = (self.longterm * tuning.headroom).max(mss);
        self.longterm
            .saturating_sub(headroom)
            .max(mss * tuning.min_pipe_packets)
    }
}

impl<R: Revision> Bbr<R> {
    /// BDPMultiple: `gain` times what the path holds at rate `bw`; the initial window while no
    /// round-trip time is known.
    pub(super) fn bdp_multiple(&self, bw: Bandwidth, gain: Gain) -> Bytes {
        match self.min_rtt.nanos() {
            Some(min_rtt) => bw.bytes_in_nanos(min_rtt) * gain,
            None => self.initial_cwnd,
        }
    }

    /// `BBR.bdp`.
    pub(super) fn bdp(&self) -> Bytes {
        let min_rtt = self.min_rtt.nanos();
        min_rtt.map_or(self.initial_cwnd, |min_rtt| {
            self.rate.bw().bytes_in_nanos(min_rtt)
        })
    }

    /// Inflight(bw, gain): `gain` times the BDP at rate `bw`, with room for whole bursts.
    pub(super) fn inflight(&self, bw: Bandwidth, gain: Gain) -> Bytes {
        self.with_quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// UpdateMaxInflight: what the path holds with the present gain, and what ACKs hold back.
    pub(super) fn max_inflight(&self) -> Bytes {
        let gain = self.state.cwnd_gain(&self.tuning);
        let extra_acked = self.aggregation.extra_acked(self.extra_acked_rounds());
        let inflight = self.bdp_multiple(self.rate.bw(), gain);
        self.with_quantization_budget(inflight.saturating_add(extra_acked))
    }

    /// TargetInflight: the BDP, unless congestion has cut the window below.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp().min(self.cwnd)
    }

    /// MinPipeCwnd.
    pub(super) fn min_pipe_cwnd(&self) -> Bytes {
        self.mss * self.tuning.min_pipe_packets
    }

    /// Rounds that the aggregation filter looks back. In Startup, one: the rate doubles, and what
    /// was extra a few rounds ago is not any more (§5.5.9; -02 has no word for it).
    fn extra_acked_rounds(&self) -> u64 {
        if self.full_pipe.is_reached {
            self.tuning.extra_acked_rounds
        } else {
            1
        }
    }

    /// QuantizationBudget. To `offload_budget` -06 adds nothing where no ACK_FREQUENCY frame asks
    /// the receiver to acknowledge more rarely (§5.5.8.2).
    fn with_quantization_budget(&self, inflight: Bytes) -> Bytes {
        let offload_budget = self.send_quantum() * R::RULES.offload_quanta;
        let inflight = inflight.max(offload_budget).max(self.min_pipe_cwnd());
        if self.state.is_up() {
            inflight.saturating_add(self.mss * UP_EXTRA_PACKETS)
        } else {
            inflight
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::bbr::v3::draft_06::PARAMS;
    use crate::registry::Params;

    const MSS: Bytes = Bytes::new(1_200);

    fn headroom_of(longterm: Bytes) -> Bytes {
        let tuning = Tuning::new(&Params::defaults(PARAMS));
        let mut volume = DataVolume::new();
        volume.longterm = longterm;
        volume.with_headroom(&tuning, MSS)
    }

    #[test]
    fn headroom_is_a_share_a_packet_at_least_and_never_the_minimum_window() {
        assert_eq!(headroom_of(MSS * 100), MSS * 85);
        assert_eq!(headroom_of(MSS * 6), MSS * 5);
        assert_eq!(headroom_of(MSS * 3), MSS * 4);
        assert_eq!(headroom_of(Bytes::MAX), Bytes::MAX);
    }

    #[test]
    fn the_first_cut_starts_from_the_window() {
        let mut volume = DataVolume::new();
        volume.cut_shortterm(MSS, MSS * 100, Gain::new(7, 10));
        assert_eq!(volume.shortterm, MSS * 70);
        volume.cut_shortterm(MSS * 60, MSS * 100, Gain::new(7, 10));
        assert_eq!(volume.shortterm, MSS * 60);
    }
}
