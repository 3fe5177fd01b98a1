//! The optional rule `ambient_loss=on`: how the estimate of the path's own loss is applied.

use super::ambient_loss::tolerable;
use super::congestion::Flight;
use super::machine::Bbr;
use super::revision::Revision;
use super::state::State;
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes, Gain, Timestamp};

impl<R: Revision> Bbr<R> {
    /// Takes note of an ACK, before it may lower the bounds.
    pub(super) fn judge_loss_round(&mut self, path: &PathState, sample: &RateSample) {
        let Some(ambient) = &mut self.ambient else {
            return;
        };
        if let (Some(rtt), Some(min_rtt)) = (sample.rtt, self.min_rtt.get()) {
            ambient.on_rtt(rtt, min_rtt);
        }
        if self.congestion.is_round_start {
            ambient.on_loss_round(path);
        }
    }

    /// The bounds were lowered.
    pub(super) fn note_cut(&mut self, now: Timestamp) {
        let pace =
            self.rate.bw() * self.tuning.down_pacing_gain * self.tuning.pacing_margin.complement();
        let is_below = pace <= self.congestion.bw_latest;
        if let Some(ambient) = &mut self.ambient {
            ambient.on_cut(now, self.round.count, is_below);
        }
    }

    /// Measures an ACK, after it may have lowered the bounds.
    pub(super) fn measure_ambient_loss(&mut self, path: &PathState, sample: &RateSample) {
        let Some(ambient) = &mut self.ambient else {
            return;
        };
        let is_end = self.congestion.is_round_start;
        ambient.is_bound_from_startup &= !matches!(self.state, State::Refill);
        if !self.state.is_waiting() {
            ambient.stop();
        } else if ambient.measure(path, sample, self.round.count, is_end) {
            // What was cut since the last probe was cut for loss that is the path's.
            if core::mem::take(&mut ambient.is_bound_from_startup) {
                self.volume.longterm = Bytes::MAX;
            }
            self.reset_short_term_model();
        }
    }

    /// ProbeBW_DOWN begins.
    pub(super) fn start_loss_measurement(&mut self, path: &PathState) {
        let bdp = self.bdp().packets_floor(self.mss);
        if let Some(ambient) = &mut self.ambient {
            ambient.on_down(path, self.round.count, bdp);
        }
    }

    /// Takes note of a lost packet.
    pub(super) fn note_ambient_loss(&mut self, packet: &LostPacket) {
        if let Some(ambient) = &mut self.ambient {
            ambient.on_lost(packet.stamp.sent_at);
        }
    }

    /// Whether the loss round that the ACK at hand ended lost no more than the path does by itself.
    pub(super) fn is_loss_ambient(&self) -> bool {
        let ambient = self.ambient.as_ref();
        self.congestion.marked.is_zero() && ambient.is_some_and(|ambient| ambient.is_round_ambient)
    }

    /// How much the path may be expected to lose of `flight`, and how much more by chance.
    pub(super) fn ambient_loss_of(&self, flight: Bytes) -> (Bytes, Bytes) {
        let Some(ambient) = &self.ambient else {
            return (Bytes::ZERO, Bytes::ZERO);
        };
        let (expected, margin) = ambient.expected(flight.packets_ceil(self.mss));
        (self.mss * expected / 1_000, self.mss * margin / 1_000)
    }

    /// Whether a path may lose by itself what the flight lost, and shows no queue. While Startup
    /// has nothing to compare it with, such loss does not end it; a flat rate does.
    pub(super) fn is_loss_tolerable(&self, flight: &Flight) -> bool {
        let limit = self.mss * tolerable(flight.tx_in_flight.packets_ceil(self.mss)) / 1_000;
        let ambient = self.ambient.as_ref();
        ambient.is_some_and(|ambient| !ambient.has_queue && flight.lost <= limit)
    }

    /// Startup is left because of loss, with a long-term bound.
    pub(super) fn note_startup_bound(&mut self) {
        if let Some(ambient) = &mut self.ambient {
            ambient.is_bound_from_startup = true;
        }
    }

    /// `pacing_gain`: the state's, but not above that of ProbeBW_DOWN while loss is measured.
    pub(super) fn pacing_gain(&self) -> Gain {
        let gain = self.state.pacing_gain(&self.tuning);
        if self.is_measuring_loss() {
            gain.min(self.tuning.down_pacing_gain)
        } else {
            gain
        }
    }

    /// The rate at which to send so that `rate` arrives although the path loses some of it; `rate`
    /// itself while loss is measured and while there is a queue.
    pub(super) fn compensate_loss(&self, rate: Bandwidth) -> Bandwidth {
        let is_sending = matches!(self.state, State::Cruise(_) | State::Refill | State::Up(_));
        match &self.ambient {
            Some(ambient) if is_sending && !ambient.has_queue && !self.is_measuring_loss() => {
                rate * ambient.compensation()
            }
            _ => rate,
        }
    }

    fn is_measuring_loss(&self) -> bool {
        let ambient = self.ambient.as_ref();
        ambient.is_some_and(|ambient| ambient.is_measuring(self.round.count))
    }

    /// What must be in flight for `delivered` to arrive.
    pub(super) fn with_ambient_loss(&self, delivered: Bytes) -> Bytes {
        match &self.ambient {
            Some(ambient) => delivered * ambient.compensation(),
            None => delivered,
        }
    }
}
