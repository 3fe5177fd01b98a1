//! ProbeRTT: draining the queue to see the path's own round-trip time (draft-ietf-ccwg-bbr-06
//! §5.3.4).

use super::machine::Bbr;
use super::revision::Revision;
use super::state::{ProbeRtt, ProbeRttHold, State};
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes};

impl<R: Revision> Bbr<R> {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        let is_probing = matches!(self.state, State::ProbeRtt(_));
        if !is_probing && self.min_rtt.is_probe_due && !self.is_idle_restart {
            self.enter_probe_rtt(context, sample);
        }
        self.handle_probe_rtt(context);
        if !sample.delivered.is_zero() {
            self.is_idle_restart = false;
        }
    }

    /// ProbeRTTCwnd: half a BDP, but room for the minimal pipeline. The same value bounds the
    /// window and judges that the pipe has drained, or the state could never end.
    pub(super) fn probe_rtt_cwnd(&self, probe: &ProbeRtt) -> Bytes {
        let bw = self.rate.bw().min(probe.delivered);
        self.bdp_multiple(bw, self.tuning.probe_rtt_cwnd_gain)
            .max(self.min_pipe_cwnd())
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, context: &mut EventContext<'_>) {
        if let State::ProbeRtt(ProbeRtt {
            hold: Some(hold), ..
        }) = self.state
            && context.path.now > hold.until
        {
            self.min_rtt.on_probed(context.path.now);
            self.restore_cwnd();
            self.exit_probe_rtt(context);
        }
    }

    /// EnterProbeRTT, and what CheckProbeRTT does with it. By the rule `adapts_down=on` a probe
    /// that ends here still ends its cycle, and what is held is half of what the path delivers,
    /// which a `max_bw` from before would overstate. An application-limited rate is not the path's.
    fn enter_probe_rtt(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        let adapts_down = self.adapts_down && !sample.is_app_limited;
        self.probe.is_cut_short = adapts_down && self.state.is_up();
        let delivered = if adapts_down {
            self.latest_delivery_rate(sample)
        } else {
            Bandwidth::MAX
        };
        let hold = None;
        let probe = ProbeRtt { delivered, hold };
        context.transition(&mut self.state, State::ProbeRtt(probe));
        self.save_cwnd();
        self.probe.stop();
        self.round.restart(context.path.delivered);
    }

    /// The highest rate of the present loss round; without any, no bound. The ACK at hand may have
    /// ended a probe and cleared `bw_latest`.
    fn latest_delivery_rate(&self, sample: &RateSample) -> Bandwidth {
        let latest = sample.delivery_rate.unwrap_or_default();
        let latest = latest.max(self.congestion.bw_latest);
        if latest.is_zero() {
            Bandwidth::MAX
        } else {
            latest
        }
    }

    /// HandleProbeRTT, but for marking the connection application-limited: the flow does that for a
    /// controller that [is self-limited](crate::Controller::is_self_limited).
    fn handle_probe_rtt(&mut self, context: &mut EventContext<'_>) {
        let State::ProbeRtt(mut probe) = self.state else {
            return;
        };
        if let Some(hold) = &mut probe.hold {
            hold.is_round_done |= self.round.is_start;
            let is_round_done = hold.is_round_done;
            self.state = State::ProbeRtt(probe);
            if is_round_done {
                self.check_probe_rtt_done(context);
            }
        } else if context.path.inflight <= self.probe_rtt_cwnd(&probe) {
            self.round.restart(context.path.delivered);
            probe.hold = Some(ProbeRttHold {
                until: context.path.now + self.tuning.probe_rtt_duration,
                is_round_done: false,
            });
            self.state = State::ProbeRtt(probe);
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
