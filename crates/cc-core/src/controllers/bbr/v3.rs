//! BBR of the drafts: nearly all of version 3 (draft-ietf-ccwg-bbr-06) and version 2
//! (draft-cardwell-iccrg-bbr-congestion-control-02) is the same.
//!
//! A [`Revision`] makes a controller of this machine: its [`Rules`](revision::Rules) state where
//! the drafts differ; what follows, and every § in these files unless it is marked "-02", is -06.
//!
//! The algorithm in ten lines. On each ACK:
//! 1. sample how fast the network delivers, and how long a round trip takes;
//! 2. `max_bw` is the highest rate of the last two probing cycles, `min_rtt` the minimum round-trip
//!    time of the last ten seconds; their product, the BDP, is what fills the path without a queue;
//! 3. loss lowers two pairs of bounds: the short-term pair (a rate and a volume) after each round
//!    with loss, forgotten when the next probe begins; the long-term volume when a probe lost more
//!    than 2 % of a flight, raised again only by probing;
//! 4. the state machine below decides whether to send faster than, slower than or just as fast as
//!    the path delivers;
//! 5. pacing rate = gain of the state × min(max_bw, bw_shortterm) × 99 %;
//! 6. window = gain of the state × BDP + what ACKs hold back, below the bounds of volume.
//!
//! ```text
//!              ┌─────────┐ pipe full: three flat rounds,
//!              │ Startup │ or a round that lost too much
//!              └────┬────┘
//!              ┌────▼────┐ in flight ≤ BDP, or after three rounds
//!              │  Drain  │
//!              └────┬────┘
//!      ┌───────────▼┐       drained, with headroom  ┌────────┐
//!  ┌──▶│ProbeBW_DOWN├──────────────────────────────▶│ CRUISE │
//!  │   └──────┬─────┘                               └───┬────┘
//!  │ plateau  │ 2–3 s, or min(BDP, 63) rounds           │ 2–3 s, or
//!  │ or loss  └────────────┐             ┌──────────────┘ rounds
//!  │   ┌──────────┐       ┌▼─────────────▼┐
//!  └───┤    UP    │◀──────┤    REFILL     │      Any of them ──▶ ProbeRTT when min_rtt was not
//!      └──────────┘ one   └───────────────┘      undercut for 5 s; ProbeRTT ──▶ DOWN ──▶ CRUISE,
//!                   round                        or Startup where the pipe was never full.
//! ```
//!
//! The life of a flow. It starts with ten packets and doubles its rate each round trip until three
//! rounds bring no more; that took log2(BDP) rounds and left up to a BDP in the queue. Drain sends
//! at half the rate for about a round. From then on the flow cruises at the estimated rate and
//! every two or three seconds, more often where the BDP is small so that Reno beside it gets its
//! share, probes: a round to fill the pipe, then a quarter faster for as long as that brings more
//! and costs little, then slower until the queue is gone. If five seconds pass without a shorter
//! round trip it holds half a BDP for 200 ms, together with all other such flows, so that all see
//! the path without their queues.
//!
//! The model lives in `data_rate`, `data_volume`, `min_rtt` and `congestion`, and in
//! `ack_aggregation`, `full_bandwidth` and `round` of `parts`; what a state owns in `state` and
//! `probe`, the state of a flow in `machine`. Above these are the rules: `startup`, `drain`,
//! `probe_bw` and `probe_rtt`; `inflight` and `control` for what is sent; `loss_response` and
//! `undo` for loss, where the revisions' `recovery` is `loss_recovery` for -06 and
//! `packet_conservation` for -02. Two rules are ours: `late_packets` for paths that reorder, and
//! `adapts_down` of `probe_rtt` for rates that fall before a deep queue. Names in comments such as
//! CheckDrainDone are those of the draft's pseudocode; -02 puts BBR before each.

mod congestion;
mod control;
mod data_rate;
mod data_volume;
pub(super) mod draft_02;
pub(super) mod draft_06;
mod drain;
mod inflight;
mod late_packets;
mod loss_recovery;
mod loss_response;
mod machine;
mod min_rtt;
mod packet_conservation;
mod params;
mod probe;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod revision;
mod startup;
mod state;
mod undo;

use crate::control::Control;
use crate::controller::{Controller, PathState, ResumedWindow};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::parts::transition::{EventContext, Machine};
use crate::sampler::RateSample;
use machine::Bbr;
use recovery::RecoveryPolicy as _;
use revision::{Plateau, Revision};
use state::State;
use units::{Bytes, Gain};

impl<R: Revision> Bbr<R> {
    /// UpdateModelAndState.
    fn update_model_and_state(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        self.congestion
            .update_latest(sample, context.path.delivered);
        self.update_round(context.path, sample);
        self.update_max_bw(sample);
        self.adapt_lower_bounds();
        self.update_ack_aggregation(context.path, sample);
        self.check_full_bw_reached(sample);
        self.check_startup_done(context, sample);
        self.check_drain_done(context);
        self.update_probe_bw_cycle(context, sample);
        self.min_rtt
            .on_ack(context.path.now, sample.rtt, &self.tuning);
        self.check_probe_rtt(context, sample);
        self.congestion.advance_latest(sample);
    }

    fn update_round(&mut self, path: &PathState, sample: &RateSample) {
        self.round.on_ack(sample.prior_delivered, path.delivered);
        if self.round.is_start
            && let State::Down(wait) | State::Cruise(wait) = &mut self.state
        {
            wait.on_round();
        }
    }

    fn update_max_bw(&mut self, sample: &RateSample) {
        if let Some(rate) = sample.delivery_rate {
            self.rate.on_sample(rate, sample.is_app_limited);
        }
    }

    fn update_ack_aggregation(&mut self, path: &PathState, sample: &RateSample) {
        self.aggregation.on_ack(
            path.now,
            self.round.count,
            sample.newly_acked,
            self.rate.bw(),
            self.cwnd,
        );
    }

    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if let Some(rate) = sample.delivery_rate
            && self.round.is_start
            && !sample.is_app_limited
        {
            self.full_bw.on_round(match R::RULES.plateau {
                Plateau::MaxBw => self.rate.max_bw(),
                Plateau::Sample => rate,
            });
        }
    }

    /// HandleRestartFromIdle.
    fn handle_restart_from_idle(&mut self, path: &PathState) {
        if !path.inflight.is_zero() || !path.is_app_limited {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.on_restart(path.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(Gain::ONE);
            return;
        }
        let mut deferred = core::mem::take(&mut self.deferred);
        let mut context = EventContext {
            path,
            observer: &mut deferred,
        };
        self.check_probe_rtt_done(&mut context);
        self.deferred = deferred;
    }
}

impl<R: Revision> Controller for Bbr<R> {
    fn on_sent(&mut self, path: &PathState, _bytes: Bytes) {
        self.handle_restart_from_idle(path);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        self.on_packet_lost(&mut EventContext { path, observer }, packet);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        let mut context = EventContext { path, observer };
        self.count_overdue(&mut context);
        self.handle_marks(&mut context, sample);
        self.update_model_and_state(&mut context, sample);
        self.set_pacing_rate(path);
        self.set_cwnd(path, sample);
        self.late.on_ack(self.round.is_start);
    }

    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        self.deferred.report(observer);
        self.handle_late_packet(&mut EventContext { path, observer }, packet);
    }

    fn on_persistent_congestion(&mut self, path: &PathState, _observer: &mut dyn Observer) {
        self.enter_persistent_congestion(path);
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
    }

    /// Unvalidated packets leave in Startup alone (RFC 9959 appendix C.1).
    fn can_resume(&self) -> bool {
        matches!(self.state, State::Startup)
            && !self.full_bw.is_reached
            && !self.recovery.is_active()
    }

    /// What ends Startup where it was lost (RFC 9959 appendix C.2).
    fn tolerated_loss(&self) -> Gain {
        self.tuning.loss_thresh
    }

    fn resume(&mut self, path: &PathState, window: &ResumedWindow, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        self.resume_from(path, window);
    }

    fn is_self_limited(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            pacing_rate: self.pacing_rate,
            send_quantum: self.send_quantum(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let bw = self.rate.bw();
        let bound = |bytes: Bytes| (bytes != Bytes::MAX).then_some(bytes);
        Snapshot {
            pacing_gain: Some(self.state.pacing_gain(&self.tuning)),
            cwnd_gain: Some(self.state.cwnd_gain(&self.tuning)),
            bandwidth: (!bw.is_zero()).then_some(bw),
            min_rtt: self.min_rtt.get(),
            inflight_longterm: bound(self.volume.longterm),
            inflight_shortterm: bound(self.volume.shortterm),
            ..Snapshot::new(R::NAME, self.state.name(), self.control())
        }
    }
}

#[cfg(test)]
mod tests;
