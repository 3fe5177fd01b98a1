//! From the model to pacing rate and window, in loss recovery too (draft-ietf-ccwg-bbr-06 §5.6;
//! draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.4).

use super::data_rate::DataRate;
use super::machine::{Bbr, initial_pacing_rate};
use super::recovery::{RecoveryPolicy, UndoBounds};
use super::revision::Revision;
use super::state::State;
use crate::controller::{PathState, ResumedWindow};
use crate::events::LostPacket;
use crate::parts::fast_recovery::Change;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes, Gain, Timestamp};

impl<R: Revision> Bbr<R> {
    /// SetPacingRate. The first round-trip time replaces the guess made without one.
    pub(super) fn set_pacing_rate(&mut self, path: &PathState) {
        if !self.has_seen_rtt && path.srtt.is_some_and(|srtt| !srtt.is_zero()) {
            self.has_seen_rtt = true;
            self.pacing_rate = initial_pacing_rate(self.initial_cwnd, path.srtt, &self.tuning);
        }
        self.set_pacing_rate_with_gain(self.state.pacing_gain(&self.tuning));
    }

    /// SetPacingRateWithGain. Before the pipe is full the rate only rises: samples may be low
    /// because the application had little to send.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: Gain) {
        let rate = self.rate.bw() * gain * self.tuning.pacing_margin.complement();
        if rate > self.pacing_rate || (self.full_bw.is_reached && !rate.is_zero()) {
            self.pacing_rate = rate;
        }
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
        if self.full_bw.is_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || path.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
    }

    fn bound_cwnd_for_probe_rtt(&mut self) {
        if let State::ProbeRtt(probe) = self.state {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd(&probe));
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

    /// SaveStateUponLoss, where the packet begins a recovery.
    pub(super) fn note_loss_for_recovery(&mut self, now: Timestamp, packet: &LostPacket) {
        if self.recovery.begins_with(packet) {
            self.save_cwnd();
        }
        let bounds = UndoBounds {
            bw_shortterm: self.rate.shortterm,
            inflight_shortterm: self.volume.shortterm,
            inflight_longterm: self.volume.longterm,
        };
        self.recovery.on_lost(now, packet, bounds);
    }

    /// BBRModulateCwndForRecovery of -02; of -06 the end of recovery, which gives the window back.
    pub(super) fn modulate_cwnd_for_recovery(&mut self, path: &PathState, sample: &RateSample) {
        if R::RULES.deducts_losses {
            let left = self.cwnd.saturating_sub(self.newly_lost(sample));
            self.cwnd = left.max(self.mss);
        }
        match self.recovery.on_ack(path, sample) {
            Some(Change::Entered) if self.conserves_packets() => {
                self.cwnd = path.inflight + sample.newly_acked.max(self.mss);
            }
            Some(Change::Left) => self.restore_cwnd(),
            Some(Change::Entered) | None => {}
        }
        if self.conserves_packets() {
            self.cwnd = self.cwnd.max(path.inflight + sample.newly_acked);
        }
    }

    /// `packet_conservation`, but where the pipe is to be filled: what -02 §4.3.3.3 and §4.3.3.4
    /// are for is not possible with no more in flight than loss has left.
    pub(super) fn conserves_packets(&self) -> bool {
        let is_filling = matches!(self.state, State::Refill | State::Up(_));
        self.recovery.conserves() && !is_filling
    }

    /// OnEnterRTO. QUIC has no such timeout; persistent congestion is its equivalent. The losses
    /// that establish it have saved the state before.
    pub(super) fn enter_persistent_congestion(&mut self, path: &PathState) {
        self.save_cwnd();
        self.recovery.on_persistent_congestion(path.now);
        self.cwnd = path.inflight + self.mss;
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
                    self.rate = DataRate::new();
                    self.full_bw.restart(Bandwidth::ZERO);
                    self.pacing_rate = rate * self.state.pacing_gain(&self.tuning);
                }
            }
        }
    }

    /// SaveCwnd: the newest window that neither recovery nor ProbeRTT had reduced.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.recovery.is_active() || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
