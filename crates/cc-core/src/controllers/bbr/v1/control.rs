//! From the model to the three controls: pacing rate, window, burst.

use super::bandwidth::MaxBandwidth;
use super::cycle::{GainCycle, Phase};
use super::machine::{BbrV1, initial_pacing_rate};
use super::params::{
    BUDGET_QUANTA, EXTRA_ACKED_PERIODS, MAX_EXTRA_ACKED_TIME, MAX_QUANTUM, MAX_QUANTUM_PACKETS,
    MIN_TSO_RATE, QUANTA_PER_SECOND, UP_EXTRA_PACKETS,
};
use super::state::State;
use crate::controller::{PathState, ResumedWindow};
use crate::parts::fast_recovery::Change;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes, Gain};

impl<C: GainCycle> BbrV1<C> {
    /// Factor between bandwidth and pacing rate (`bbr_update_gains`).
    pub(super) fn pacing_gain(&self) -> Gain {
        match self.state {
            State::Startup => self.tuning.high_gain,
            State::Drain => self.tuning.drain_gain,
            State::ProbeBw if self.policer.bandwidth().is_some() => Gain::ONE,
            State::ProbeBw => match self.cycle.phase() {
                Phase::Up => self.tuning.up_gain,
                Phase::Down => self.tuning.down_gain,
                Phase::Cruise => Gain::ONE,
            },
            State::ProbeRtt(_) => Gain::ONE,
        }
    }

    /// Factor between the BDP and the window (`bbr_update_gains`).
    pub(super) fn cwnd_gain(&self) -> Gain {
        match self.state {
            State::Startup | State::Drain => self.tuning.high_gain,
            State::ProbeBw => self.tuning.cwnd_gain,
            State::ProbeRtt(_) => Gain::ONE,
        }
    }

    /// `bbr_set_pacing_rate`. The first round-trip time replaces the guess made without one.
    pub(super) fn set_pacing_rate(&mut self, path: &PathState) {
        if !self.has_seen_rtt && path.srtt.is_some_and(|srtt| !srtt.is_zero()) {
            self.has_seen_rtt = true;
            self.pacing_rate = initial_pacing_rate(self.initial_cwnd, path.srtt, &self.tuning);
        }
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// Before the pipe is full the rate only rises: samples may be low because the application had
    /// little to send.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: Gain) {
        let rate = self.bw() * gain * self.tuning.pacing_margin.complement();
        if rate > self.pacing_rate || (self.plateau.is_full() && !rate.is_zero()) {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: a millisecond at the pacing rate in whole packets, two of them, or one
    /// at a low rate. Derived from the pacing rate, so it is never out of date.
    pub(super) fn send_quantum(&self) -> Bytes {
        let rate = self.pacing_rate.bytes_per_sec();
        let bytes = Bytes::new(rate / QUANTA_PER_SECOND).min(MAX_QUANTUM);
        let least = if self.pacing_rate < MIN_TSO_RATE {
            1
        } else {
            2
        };
        let packets = bytes.packets_floor(self.mss);
        self.mss * packets.max(least).min(MAX_QUANTUM_PACKETS)
    }

    /// `bbr_cwnd_min_target`.
    pub(super) fn min_pipe_cwnd(&self) -> Bytes {
        self.mss * self.tuning.min_pipe_packets
    }

    /// `bbr_bdp`: `gain` times what the path holds at rate `bw`; the initial window while no
    /// round-trip time is known. Rounded down to a byte, where the kernel rounds up to a packet.
    fn bdp(&self, bw: Bandwidth, gain: Gain) -> Bytes {
        match self.min_rtt.get() {
            Some(min_rtt) => bw * min_rtt * gain,
            None => self.initial_cwnd,
        }
    }

    /// `bbr_inflight`: the BDP at rate `bw` times `gain`, with room for whole bursts.
    pub(super) fn inflight(&self, bw: Bandwidth, gain: Gain) -> Bytes {
        self.with_quantization_budget(self.bdp(bw, gain))
    }

    /// `bbr_quantization_budget`.
    fn with_quantization_budget(&self, inflight: Bytes) -> Bytes {
        let inflight = inflight.saturating_add(self.send_quantum() * BUDGET_QUANTA);
        if !C::ROUNDS_WINDOWS {
            return inflight;
        }
        let packets = inflight.packets_ceil(self.mss);
        let is_up = self.state.is_probe_bw() && self.cycle.phase() == Phase::Up;
        let extra = if is_up { UP_EXTRA_PACKETS } else { 0 };
        self.mss * (packets + packets % 2 + extra)
    }

    /// `bbr_ack_aggregation_cwnd`: the excess of ACK aggregation, so that sending goes on while
    /// ACKs are held back.
    fn ack_aggregation_cwnd(&self) -> Bytes {
        if !self.plateau.is_full() {
            return Bytes::ZERO;
        }
        let extra = self.aggregation.extra_acked(EXTRA_ACKED_PERIODS as u64);
        (extra * self.tuning.extra_acked_gain).min(self.bw() * MAX_EXTRA_ACKED_TIME)
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, path: &PathState, sample: &RateSample) {
        let conserved = path.inflight + sample.newly_acked;
        let mut cwnd = self.cwnd.saturating_sub(sample.newly_lost).max(self.mss);
        match self.recovery.on_ack(sample.newest_sent_at) {
            Some(Change::Entered) => {
                self.round.restart(path.delivered);
                self.plateau.on_recovery(self.max_bw.get(), &self.tuning);
                cwnd = conserved;
            }
            Some(Change::Left) => cwnd = cwnd.max(self.prior_cwnd),
            None => {}
        }
        self.cwnd = if self.recovery.conserves() {
            cwnd.max(conserved).max(self.mss)
        } else {
            self.grown(cwnd, path, sample)
        };
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.min_pipe_cwnd());
        }
    }

    /// Towards the target by what was delivered, as slow start does; above it only before the pipe
    /// was ever full.
    fn grown(&self, cwnd: Bytes, path: &PathState, sample: &RateSample) -> Bytes {
        let target = self.bdp(self.bw(), self.cwnd_gain());
        let target = target.saturating_add(self.ack_aggregation_cwnd());
        let target = self.with_quantization_budget(target);
        let grown = cwnd + sample.newly_acked;
        let cwnd = if self.plateau.is_full() {
            grown.min(target)
        } else if cwnd < target || path.delivered < self.initial_cwnd {
            grown
        } else {
            cwnd
        };
        cwnd.max(self.min_pipe_cwnd())
    }

    /// Goes on in Startup at the rate that the path has shown, which is the window in a round trip;
    /// the estimate of the bandwidth comes from the samples of what leaves. After a Safe Retreat,
    /// which has drained the path, there are none that may be used (RFC 9959 appendix C.3), those
    /// of the jump included, beside which the growth from half of PipeSize would be none: Startup
    /// finds the rate anew, from the window at its own pace.
    pub(super) fn resume_from(&mut self, path: &PathState, window: &ResumedWindow) {
        let rate = window.per_round_trip(path);
        match *window {
            ResumedWindow::Raised { cwnd } => {
                self.cwnd = self.cwnd.max(cwnd);
                self.pacing_rate = self.pacing_rate.max(rate);
            }
            ResumedWindow::Retreated { cwnd, .. } => {
                self.cwnd = self.cwnd.min(cwnd).max(self.min_pipe_cwnd());
                self.prior_cwnd = self.cwnd;
                self.pacing_rate = rate;
                if matches!(self.state, State::Startup) {
                    self.max_bw = MaxBandwidth::new(self.tuning.bw_rounds);
                    self.plateau.restart();
                    self.pacing_rate = rate * self.pacing_gain();
                }
            }
        }
    }

    /// `bbr_save_cwnd`: the newest window that neither recovery nor ProbeRTT had reduced.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.recovery.is_active() || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }
}
