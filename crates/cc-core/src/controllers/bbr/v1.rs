//! BBR version 1, as in Linux 5.x (`net/ipv4/tcp_bbr.c`): what `bbr1` and `bbrplus` share.
//!
//! The algorithm in ten lines. On each ACK:
//! 1. sample how fast the network delivers, and how long a round trip takes;
//! 2. `max_bw` is the highest rate of the last ten round trips, `min_rtt` the minimum round-trip
//!    time of the last ten seconds; their product, the BDP, is what fills the path without a queue;
//! 3. the state machine below decides by which gain to pace faster or slower than `max_bw`;
//! 4. where two long intervals in a row lose a fifth and deliver the same, a policer is at work,
//!    and what it let through is the bandwidth for the next 48 round trips;
//! 5. pacing rate = gain × bandwidth × 99 %;
//! 6. window = 2 × BDP + what ACKs hold back + three bursts; loss limits it only by one round of
//!    packet conservation.
//!
//! ```text
//!     ┌─────────┐ three flat rounds ┌───────┐
//!  ┌─▶│ Startup ├──────────────────▶│ Drain │
//!  │  └────┬────┘                   └───┬───┘
//!  │       │                            │ in flight ≤ BDP
//!  │       │     min_rtt 10 s old  ┌────▼────┐ gains 1.25, 0.75, 1 …
//!  │       │ ┌─────────────────────┤ ProbeBW ├──┐ for a min_rtt each
//!  │  ┌────▼─▼───┐ 200 ms, a round └────▲────┘◀─┘
//!  └──┤ ProbeRTT ├──────────────────────┘
//!     └──────────┘
//! ```
//!
//! The life of a flow. It starts with ten packets and doubles its rate each round trip until three
//! rounds bring no more; Drain sends at a third of the rate until the queue that this made is gone.
//! From then on the flow cycles: a round trip at 1.25 to see whether there is more, one at 0.75 to
//! drain the queue if there was not, and a few at the estimated rate. When no round trip was as
//! short as the minimum for ten seconds, it holds four packets for 200 ms to see the path without
//! its queue.
//!
//! How the gain cycles is a [`GainCycle`]'s; it makes a controller of this machine. The model lives
//! in `bandwidth`, `policer`, `min_rtt` and `startup`, and in `ack_aggregation`, `fast_recovery`
//! and `round` of `parts`; the state of a flow in `machine`, its rules in `probe_rtt` and
//! `control`. Names such as `bbr_set_cwnd` are the functions of the kernel.

mod bandwidth;
mod control;
mod cycle;
pub(super) mod eight_phases;
mod machine;
mod min_rtt;
mod params;
mod policer;
mod probe_rtt;
mod startup;
mod state;

use crate::control::Control;
use crate::controller::{Controller, PathState, ResumedWindow};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::parts::transition::{EventContext, Machine};
use crate::sampler::RateSample;
#[cfg(test)]
pub(super) use cycle::tests::cycle_ack;
pub(super) use cycle::{CycleAck, GainCycle, Phase};
pub(super) use machine::BbrV1;
pub(super) use params::PARAMS;
use policer::{PolicerAck, Totals};
use startup::PlateauAck;
use state::State;
use units::{Bytes, Gain};

impl<C: GainCycle> BbrV1<C> {
    /// `bbr_update_model`.
    fn update_model(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        self.round
            .on_ack(sample.prior_delivered, context.path.delivered);
        let was_conserving = self.recovery.conserves();
        if self.round.is_start {
            self.recovery.on_round();
        }
        self.sample_policer(&PolicerAck {
            totals: Totals::of(context.path),
            has_loss: !sample.newly_lost.is_zero(),
            is_round_start: self.round.is_start,
            is_app_limited: sample.is_app_limited,
            is_probe_bw: self.state.is_probe_bw(),
        });
        self.update_max_bw(sample);
        self.update_ack_aggregation(context.path, sample);
        self.update_cycle(context.path, sample);
        self.check_full_bw_reached(sample, was_conserving);
        self.check_drain(context);
        self.update_min_rtt(context, sample);
    }

    /// `bbr_lt_bw_sampling`. Where the policer's rate has expired, cycling begins anew.
    fn sample_policer(&mut self, ack: &PolicerAck) {
        if self.tuning.lt_bw && self.policer.on_ack(ack, &self.tuning) {
            self.cycle.start(ack.totals.at, &mut self.rng);
        }
    }

    /// The second half of `bbr_update_bw`.
    fn update_max_bw(&mut self, sample: &RateSample) {
        if let Some(rate) = sample.delivery_rate {
            self.max_bw
                .on_sample(rate, sample.is_app_limited, self.round.count);
        }
    }

    /// `bbr_update_ack_aggregation`.
    fn update_ack_aggregation(&mut self, path: &PathState, sample: &RateSample) {
        self.aggregation.on_ack(
            path.now,
            self.round.count / self.tuning.extra_acked_rounds,
            sample.newly_acked,
            self.bw(),
            self.cwnd,
        );
    }

    /// `bbr_update_cycle_phase`. The cycle rests while a policer's rate is in use, and begins anew
    /// afterwards.
    fn update_cycle(&mut self, path: &PathState, sample: &RateSample) {
        if !self.state.is_probe_bw() || self.policer.bandwidth().is_some() {
            return;
        }
        let gain = match self.cycle.phase() {
            Phase::Up => self.tuning.up_gain,
            Phase::Down | Phase::Cruise => Gain::ONE,
        };
        let ack = CycleAck {
            now: path.now,
            min_rtt: self.min_rtt.get().unwrap_or_default(),
            prior_inflight: path.prior_inflight,
            send_quantum: self.send_quantum(),
            target: self.inflight(self.max_bw.get(), gain),
            has_loss: !sample.newly_lost.is_zero(),
            is_app_limited: sample.is_app_limited || path.is_app_limited,
        };
        self.cycle.on_ack(&ack, &mut self.rng);
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_bw_reached(&mut self, sample: &RateSample, was_conserving: bool) {
        let ack = PlateauAck {
            is_round_start: self.round.is_start,
            was_conserving,
            max_bw: self.max_bw.get(),
            min_rtt: self.min_rtt.get(),
            mss: self.mss,
        };
        self.plateau.on_ack(&ack, sample, &self.tuning);
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, context: &mut EventContext<'_>) {
        if matches!(self.state, State::Startup) && self.plateau.is_full() {
            context.transition(&mut self.state, State::Drain);
        }
        if matches!(self.state, State::Drain)
            && context.path.inflight <= self.inflight(self.max_bw.get(), Gain::ONE)
        {
            self.enter_probe_bw(context);
        }
    }

    /// `bbr_reset_probe_bw_mode`.
    fn enter_probe_bw(&mut self, context: &mut EventContext<'_>) {
        context.transition(&mut self.state, State::ProbeBw);
        self.cycle.start(context.path.now, &mut self.rng);
    }

    /// `bbr_cwnd_event`: the first packet after nothing was in flight.
    fn handle_restart_from_idle(&mut self, path: &PathState) {
        if !path.inflight.is_zero() || !path.is_app_limited {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.on_restart(path.now);
        match self.state {
            State::ProbeBw => self.set_pacing_rate_with_gain(Gain::ONE),
            State::ProbeRtt(_) => {
                let mut deferred = core::mem::take(&mut self.deferred);
                let mut context = EventContext {
                    path,
                    observer: &mut deferred,
                };
                self.check_probe_rtt_done(&mut context);
                self.deferred = deferred;
            }
            State::Startup | State::Drain => {}
        }
    }
}

impl<C: GainCycle> Controller for BbrV1<C> {
    fn on_sent(&mut self, path: &PathState, _bytes: Bytes) {
        self.handle_restart_from_idle(path);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        if !self.recovery.is_active() {
            self.save_cwnd();
        }
        self.recovery.on_lost(path.now, packet);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        // `acked_sacked` counts what arrived late, too.
        let sample = &RateSample {
            newly_acked: sample.newly_acked + core::mem::take(&mut self.late),
            ..*sample
        };
        self.update_model(&mut EventContext { path, observer }, sample);
        self.set_pacing_rate(path);
        self.set_cwnd(path, sample);
    }

    /// `bbr_undo_cwnd`, once all that a recovery had counted as lost has arrived. The next ACK
    /// restores the window.
    fn on_spurious_loss(
        &mut self,
        _path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        self.deferred.report(observer);
        self.late += packet.bytes;
        self.plateau.on_late(packet.bytes);
        if self.recovery.on_spurious_loss(packet) {
            self.plateau.restart();
            self.policer.reset();
        }
    }

    /// `tcp_enter_loss` and `bbr_set_state`: a packet more than is in flight, growing from there.
    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        self.deferred.report(observer);
        self.save_cwnd();
        self.recovery.on_persistent_congestion(path.now);
        self.plateau.restart();
        self.sample_policer(&PolicerAck {
            totals: Totals::of(path),
            has_loss: true,
            is_round_start: true,
            is_app_limited: false,
            is_probe_bw: self.state.is_probe_bw(),
        });
        self.cwnd = path.inflight + self.mss;
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
    }

    /// Unvalidated packets leave in Startup alone (RFC 9959 appendix C.1).
    fn can_resume(&self) -> bool {
        matches!(self.state, State::Startup)
            && !self.plateau.is_full()
            && !self.recovery.is_active()
    }

    /// No loss ends the kernel's Startup. A jump is answered as later versions answer it
    /// (draft-ietf-ccwg-bbr-06 §2.8, LossThresh), because more is at stake than in Startup.
    fn tolerated_loss(&self) -> Gain {
        Gain::percent(2)
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
        let bw = self.bw();
        Snapshot {
            pacing_gain: Some(self.pacing_gain()),
            cwnd_gain: Some(self.cwnd_gain()),
            bandwidth: (!bw.is_zero()).then_some(bw),
            min_rtt: self.min_rtt.get(),
            ..Snapshot::new(C::NAME, self.state.name(), self.control())
        }
    }
}

#[cfg(test)]
mod tests;
