//! The ProbeBW cycle: down, cruise, refill, up (draft-ietf-ccwg-bbr-06 §5.3.3).

use super::machine::Bbr;
use super::probe::AckPhase;
use super::revision::{Revision, UpEnd};
use super::state::{ProbeUp, ProbeWait, State};
use crate::controller::PathState;
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;
use units::{Bytes, Gain, Timestamp};

impl<R: Revision> Bbr<R> {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, context: &mut EventContext<'_>) {
        self.congestion.reset();
        self.probe.stop();
        self.round.restart(context.path.delivered);
        let wait = ProbeWait::pick(context.path.now, &self.tuning, &mut self.rng);
        context.transition(&mut self.state, State::Down(wait));
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self, context: &mut EventContext<'_>) {
        if let State::Down(wait) = self.state {
            context.transition(&mut self.state, State::Cruise(wait));
        }
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, context: &mut EventContext<'_>) {
        self.reset_short_term_model();
        self.probe.was_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.round.restart(context.path.delivered);
        context.transition(&mut self.state, State::Refill);
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        self.probe.is_sample = true;
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.round.restart(context.path.delivered);
        if R::RULES.up_ends == UpEnd::Plateau {
            self.restart_plateau(sample);
        }
        let up = ProbeUp::new(context.path.now, self.cwnd, self.mss);
        context.transition(&mut self.state, State::Up(up));
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw_cycle(
        &mut self,
        context: &mut EventContext<'_>,
        sample: &RateSample,
    ) {
        if !self.full_bw.is_reached || self.adapt_long_term_model(context, sample) {
            return;
        }
        match self.state {
            State::Down(wait) => {
                if self.is_time_to_probe_bw(context.path.now, &wait) {
                    self.start_refill(context);
                } else if self.is_time_to_cruise(context.path.inflight) {
                    self.start_cruise(context);
                }
            }
            State::Cruise(wait) => {
                if self.is_time_to_probe_bw(context.path.now, &wait) {
                    self.start_refill(context);
                }
            }
            State::Refill => {
                if self.round.is_start {
                    self.start_up(context, sample);
                }
            }
            State::Up(up) => {
                if self.is_time_to_go_down(context.path, sample, &up) {
                    // Feedback that is still to come shows what it lost.
                    self.probe.went_too_high = false;
                    self.start_down(context);
                }
            }
            State::Startup | State::Drain { .. } | State::ProbeRtt(_) => {}
        }
    }

    /// AdaptLongTermModel; true where it has moved the state machine.
    fn adapt_long_term_model(
        &mut self,
        context: &mut EventContext<'_>,
        sample: &RateSample,
    ) -> bool {
        if self.round.is_start && self.on_probe_round(context, sample) {
            return true;
        }
        let is_bounded = self.volume.longterm != Bytes::MAX;
        let is_judged = R::RULES.acks_end_probes && self.probe.is_sample;
        let flight = self.flight(context.path, sample);
        if (is_bounded || is_judged) && self.is_inflight_too_high(&flight) {
            if is_judged {
                self.handle_inflight_too_high(context, &flight);
            }
        } else if is_bounded {
            self.volume.longterm = self.volume.longterm.max(sample.tx_in_flight);
            self.probe_inflight_longterm_upward(context.path, sample);
        }
        false
    }

    /// A round has ended: updates `ack_phase`. Returns whether that has moved the state machine.
    fn on_probe_round(&mut self, context: &mut EventContext<'_>, sample: &RateSample) -> bool {
        match self.probe.ack_phase {
            AckPhase::ProbeStarting => {
                self.probe.ack_phase = AckPhase::ProbeFeedback;
                false
            }
            AckPhase::ProbeStopping => {
                self.probe.is_sample = false;
                // Without this the filter would age every round instead of every cycle.
                self.probe.ack_phase = AckPhase::Init;
                let is_probe_bw = self.state.is_probe_bw();
                let was_cut_short = core::mem::take(&mut self.probe.is_cut_short);
                if was_cut_short || (is_probe_bw && !sample.is_app_limited) {
                    self.rate.advance();
                }
                // A precautionary probe that did no harm: now a whole one.
                let is_safe =
                    is_probe_bw && self.probe.was_precautionary && !self.probe.went_too_high;
                if is_safe {
                    self.start_refill(context);
                }
                is_safe
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => false,
        }
    }

    /// ProbeInflightLongtermUpward.
    fn probe_inflight_longterm_upward(&mut self, path: &PathState, sample: &RateSample) {
        let State::Up(up) = &mut self.state else {
            return;
        };
        if !path.is_cwnd_limited || self.cwnd < self.volume.longterm {
            return;
        }
        let packets = up.grow(sample.newly_acked);
        self.volume.longterm = self.volume.longterm.saturating_add(self.mss * packets);
        if self.round.is_start {
            up.steepen(self.cwnd, self.mss);
        }
    }

    /// IsTimeToProbeBW: by the clock, or after as many rounds as Reno would need to grow by what
    /// the probe may cost it.
    fn is_time_to_probe_bw(&self, now: Timestamp, wait: &ProbeWait) -> bool {
        // Reno needs a round for each packet of the BDP: rounds ≥ ⌈target ÷ packet⌉.
        now > wait.started_at + wait.limit
            || wait.rounds >= self.tuning.probe_wait_rounds
            || self.mss * wait.rounds >= self.target_inflight()
    }

    /// IsTimeToCruise: the queue is gone and there is headroom.
    fn is_time_to_cruise(&self, inflight: Bytes) -> bool {
        inflight <= self.volume.with_headroom(&self.tuning, self.mss)
            && inflight <= self.inflight(self.rate.max_bw(), Gain::ONE)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, path: &PathState, sample: &RateSample, up: &ProbeUp) -> bool {
        match R::RULES.up_ends {
            UpEnd::Queue => self.is_queue_built(path, up),
            UpEnd::Plateau => self.is_plateau_reached(path, sample),
        }
    }

    /// Whether the probe has lasted and filled the path at its pace.
    fn is_queue_built(&self, path: &PathState, up: &ProbeUp) -> bool {
        let min_rtt = self.min_rtt.get().unwrap_or_default();
        let target = self.inflight(self.rate.max_bw(), self.tuning.up_pacing_gain);
        path.now > up.started_at + min_rtt && path.inflight > target
    }

    /// Whether the rate is flat, or what was too much the last time is in flight again.
    fn is_plateau_reached(&mut self, path: &PathState, sample: &RateSample) -> bool {
        if self.probe.went_too_high && path.inflight >= self.volume.longterm {
            self.probe.was_precautionary = true;
            return true;
        }
        if path.is_cwnd_limited && self.cwnd >= self.volume.longterm {
            // The bound and not the path holds the rate down: no plateau can be judged.
            self.restart_plateau(sample);
            return false;
        }
        self.full_bw.is_now
    }

    /// ResetFullBW.
    fn restart_plateau(&mut self, sample: &RateSample) {
        self.full_bw
            .restart(sample.delivery_rate.unwrap_or_default());
    }
}
