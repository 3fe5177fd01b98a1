//! ProbeRTT: draining the queue to see the path's own round-trip time (draft-ietf-ccwg-bbr-06
//! §5.3.4).

use super::machine::Bbr;
use super::revision::Revision;
use super::state::{ProbeRttHold, State};
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;
use units::Bytes;

impl<R: Revision> Bbr<R> {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        let is_probing = matches!(self.state, State::ProbeRtt(_));
        if !is_probing && self.min_rtt.is_probe_due && !self.is_idle_restart {
            self.enter_probe_rtt(context);
        }
        self.handle_probe_rtt(context);
        if !sample.delivered.is_zero() {
            self.is_idle_restart = false;
        }
    }

    /// ProbeRTTCwnd: half a BDP, but room for the minimal pipeline. The same value bounds the
    /// window and judges that the pipe has drained, or the state could never end.
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp_multiple(self.rate.bw(), self.tuning.probe_rtt_cwnd_gain)
            .max(self.min_pipe_cwnd())
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, context: &mut EventContext<'_>) {
        if let State::ProbeRtt(Some(hold)) = self.state
            && context.path.now > hold.until
        {
            self.min_rtt.on_probed(context.path.now);
            self.restore_cwnd();
            self.exit_probe_rtt(context);
        }
    }

    fn enter_probe_rtt(&mut self, context: &mut EventContext<'_>) {
        context.transition(&mut self.state, State::ProbeRtt(None));
        self.save_cwnd();
        self.probe.stop();
        self.round.restart(context.path.delivered);
    }

    /// HandleProbeRTT, but for marking the connection application-limited: the flow does that for a
    /// controller that [is self-limited](crate::Controller::is_self_limited).
    fn handle_probe_rtt(&mut self, context: &mut EventContext<'_>) {
        let State::ProbeRtt(hold) = &mut self.state else {
            return;
        };
        if let Some(hold) = hold {
            hold.is_round_done |= self.round.is_start;
            if hold.is_round_done {
                self.check_probe_rtt_done(context);
            }
        } else if context.path.inflight <= self.probe_rtt_cwnd() {
            self.round.restart(context.path.delivered);
            self.state = State::ProbeRtt(Some(ProbeRttHold {
                until: context.path.now + self.tuning.probe_rtt_duration,
                is_round_done: false,
            }));
        }
    }

    /// ExitProbeRTT. Through ProbeBW_DOWN, which resets the clock of probing, straight to cruising:
    /// the pipe is drained already.
    fn exit_probe_rtt(&mut self, context: &mut EventContext<'_>) {
        self.reset_short_term_model();
        if self.full_bw.is_reached {
            self.start_down(context);
            self.start_cruise(context);
        } else {
            context.transition(&mut self.state, State::Startup);
        }
    }
}
