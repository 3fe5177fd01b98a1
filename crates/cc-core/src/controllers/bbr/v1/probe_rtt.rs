//! ProbeRTT: draining the queue to see the path's own round-trip time (`bbr_update_min_rtt`, its
//! second half).

use super::cycle::GainCycle;
use super::machine::BbrV1;
use super::state::{ProbeRttHold, State};
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;

impl<C: GainCycle> BbrV1<C> {
    /// `bbr_update_min_rtt`, but for marking the connection application-limited: the flow does that
    /// for a controller that [is self-limited](crate::Controller::is_self_limited).
    pub(super) fn update_min_rtt(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        let window = self.tuning.probe_rtt_interval;
        let is_expired =
            self.min_rtt
                .on_ack(context.path.now, sample.rtt, window, C::EQUAL_RTT_REFRESHES);
        let is_wanted = !self.tuning.probe_rtt_duration.is_zero() && !self.is_idle_restart;
        if is_expired && is_wanted && !matches!(self.state, State::ProbeRtt(_)) {
            self.save_cwnd();
            context.transition(&mut self.state, State::ProbeRtt(None));
        }
        self.handle_probe_rtt(context);
        if !sample.delivered.is_zero() {
            self.is_idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, context: &mut EventContext<'_>) {
        let State::ProbeRtt(hold) = &mut self.state else {
            return;
        };
        if let Some(hold) = hold {
            hold.is_round_done |= self.round.is_start;
            if hold.is_round_done {
                self.check_probe_rtt_done(context);
            }
        } else if context.path.inflight <= self.min_pipe_cwnd() {
            self.round.restart(context.path.delivered);
            self.state = State::ProbeRtt(Some(ProbeRttHold {
                until: context.path.now + self.tuning.probe_rtt_duration,
                is_round_done: false,
            }));
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, context: &mut EventContext<'_>) {
        let State::ProbeRtt(Some(hold)) = self.state else {
            return;
        };
        if context.path.now <= hold.until {
            return;
        }
        self.min_rtt.on_probed(context.path.now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.plateau.is_full() {
            self.enter_probe_bw(context);
        } else {
            context.transition(&mut self.state, State::Startup);
        }
    }
}
