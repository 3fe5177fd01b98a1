//! From the model to the three controls (draft-ietf-ccwg-bbr-06 §5.6).

use super::params::{INITIAL_RTT, MAX_QUANTUM, MIN_QUANTUM_PACKETS, QUANTUM_TIME, Tuning};
use super::state::State;
use super::{Bbr, Revision};
use crate::control::LEAST_RATE;
use crate::controller::PathState;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// InitPacingRate: the initial window in a round-trip time, or in a millisecond while none is
/// known, at the pace of Startup.
pub(super) fn initial_pacing_rate(
    initial_cwnd: Bytes,
    srtt: Option<Duration>,
    tuning: &Tuning,
) -> Bandwidth {
    let rtt = srtt.filter(|srtt| !srtt.is_zero()).unwrap_or(INITIAL_RTT);
    let rate = Bandwidth::from_transfer(initial_cwnd, rtt) * tuning.startup_pacing_gain;
    rate.max(LEAST_RATE)
}

impl<R: Revision> Bbr<R> {
    /// SetPacingRate. The first round-trip time replaces the guess made without one.
    pub(super) fn set_pacing_rate(&mut self, path: &PathState) {
        if !self.has_seen_rtt && path.srtt.is_some_and(|srtt| !srtt.is_zero()) {
            self.has_seen_rtt = true;
            self.pacing_rate = initial_pacing_rate(self.initial_cwnd, path.srtt, &self.tuning);
        }
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// SetPacingRateWithGain. Until the pipe was full the rate only rises: samples may be low
    /// because the application had little to send.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: Gain) {
        let rate = self.rate.bw() * gain * self.tuning.pacing_margin.complement();
        let rate = self.made_good(rate);
        if rate > self.pacing_rate || (self.full_pipe.is_reached && !rate.is_zero()) {
            self.pacing_rate = rate;
        }
    }

    /// SetSendQuantum: a millisecond at the pacing rate, within what offload takes and what is
    /// worth a call. Derived from the pacing rate, so it is never out of date.
    pub(super) fn send_quantum(&self) -> Bytes {
        let least = if self.pacing_rate < R::RULES.single_packets_below {
            1
        } else {
            MIN_QUANTUM_PACKETS
        };
        (self.pacing_rate * QUANTUM_TIME)
            .min(MAX_QUANTUM)
            .max(self.mss * least)
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, path: &PathState, sample: &RateSample) {
        self.modulate_cwnd_for_recovery(path, sample);
        if !self.conserves_packets() {
            self.grow_cwnd(path, sample);
        }
        self.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// Towards what the path holds by what was delivered, as slow start does; above it only before
    /// the pipe was ever full.
    fn grow_cwnd(&mut self, path: &PathState, sample: &RateSample) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd + sample.newly_acked;
        if self.full_pipe.is_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || path.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
    }

    fn bound_cwnd_for_probe_rtt(&mut self) {
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// BoundCwndForModel. In Startup and Drain the long-term bound does not hold, as in the
    /// draft's pseudocode; its table names it for Drain.
    fn bound_cwnd_for_model(&mut self) {
        let longterm = match self.state {
            State::Startup | State::Drain { .. } => Bytes::MAX,
            State::Down(_) | State::Refill | State::Up(_) => self.volume.longterm,
            State::Cruise(_) | State::ProbeRtt(_) => {
                self.volume.with_headroom(&self.tuning, self.mss)
            }
        };
        let cap = longterm
            .min(self.volume.shortterm)
            .max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }
}
