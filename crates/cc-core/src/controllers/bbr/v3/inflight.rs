//! How much may be in flight and leave at once: BDP, max_inflight, send quantum
//! (draft-ietf-ccwg-bbr-06 §5.5.8, §5.6.3, §5.6.4.2).

use super::machine::Bbr;
use super::params::UP_EXTRA_PACKETS;
use super::revision::Revision;
use crate::control::send_quantum;
use units::{Bandwidth, Bytes, Gain};

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

    /// Rounds that the aggregation filter looks back. In Startup, one: the rate doubles, and the
    /// excess of a few rounds ago is out of date (§5.5.9; -02 does not cover it).
    fn extra_acked_rounds(&self) -> u64 {
        if self.full_bw.is_reached {
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

    /// SetSendQuantum: a millisecond at the pacing rate, within what offload takes and what is
    /// worth a call. Derived from the pacing rate, so it is never out of date.
    pub(super) fn send_quantum(&self) -> Bytes {
        let least = if self.pacing_rate < R::RULES.single_packets_below {
            1
        } else {
            2
        };
        send_quantum(self.pacing_rate, self.mss * least)
    }
}
