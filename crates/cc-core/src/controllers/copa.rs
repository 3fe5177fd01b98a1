//! Copa: a window that keeps few packets waiting (Arun and Balakrishnan, "Copa: Practical
//! Delay-Based Congestion Control for the Internet", NSDI 2018).
//!
//! The algorithm in seven lines. On each ACK:
//! 1. `dq = RTTstanding − RTTmin` is the delay of the standing queue;
//! 2. the target rate is 1 ÷ (δ·dq) packets per second, the rate in use cwnd ÷ RTTstanding;
//! 3. below the target the window grows by v ÷ δ packets in a round trip, above it it shrinks by as
//!    many;
//! 4. `v` is 1, and doubles with each round trip after three in the same direction;
//! 5. packets leave at 2·cwnd ÷ RTTstanding, so that the window and not the pacer is the limit;
//! 6. where the queue was not nearly empty for five round trips another flow fills it: then 1 ÷ δ
//!    grows by a packet each round trip and a loss halves it;
//! 7. otherwise δ is ½, and loss is not a signal.
//!
//! ```text
//!  ┌───────────┐ above target ┌─────────┐ no empty queue in 5 RTT ┌─────────────┐
//!  │ SlowStart ├─────────────▶│ Default ├────────────────────────▶│ Competitive │
//!  └───────────┘              └─────────┘◀────────────────────────┴─────────────┘
//!        ▲                                   a nearly empty queue
//!        └── persistent congestion, from any state
//! ```
//!
//! The life of a flow. It doubles its window each round trip until 1 ÷ δ = 2 packets wait. By then
//! a round trip's worth more is under way, so it shrinks, faster and faster, until the queue is
//! gone, and from then on oscillates around its target: up for two and a half round trips, because
//! that is how long the effect of a change takes to be measured, down for as many. Flows that share
//! a queue see the same delay, hence have the same target. Every five round trips the queue is
//! empty, and `RTTmin` is measured; when that does not happen, a flow that does not respond to
//! delay shares the queue.
//!
//! Units: `1 ÷ δ` packets of the present size, in bytes, are called the *target queue* here.
//! cwnd ÷ RTTstanding ≤ 1 ÷ (δ·dq) is then cwnd × dq ≤ target × RTTstanding, exact in integers.

mod capacity;
mod competition;
mod delay;
mod detector;
mod loss_rate;
mod params;
mod state;
#[cfg(test)]
mod tests;
mod velocity;

use crate::control::Control;
use crate::controller::{Controller, PathState, ResumedWindow, Setup};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::params::Params;
use crate::parts::cwnd::{min_window, resized_window};
use crate::parts::cwnd_pacing::CwndPacing;
use crate::parts::remainder::Remainder;
use crate::parts::round::RoundCounter;
use crate::parts::transition::{EventContext, Machine};
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use capacity::Capacity;
use competition::Competition;
use core::time::Duration;
use delay::{Delay, Rtts};
use detector::Detector;
use loss_rate::LossRate;
use params::{PARAMS, Tuning};
use state::State;
use units::{Bytes, Gain};
use velocity::{Direction, Velocity};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "copa",
    aliases: &[],
    summary: "Copa, default and competitive mode (NSDI 2018)",
    params: PARAMS,
    build: |params, setup| Box::new(Copa::new(params, setup)),
};

/// A flow under Copa.
#[derive(Debug)]
struct Copa {
    tuning: Tuning,
    pacing: CwndPacing,
    mss: Bytes,
    state: State,
    round: RoundCounter,
    delay: Delay,
    detector: Detector,
    capacity: Capacity,
    velocity: Velocity,
    loss_rate: LossRate,
    /// 1 ÷ δ of the default mode in packets, or less after too much was lost.
    inverse_delta: Gain,
    cwnd: Bytes,
    /// The remainder of the window's changes, in fractions of a byte.
    rest: Remainder,
    control: Control,
}

impl Copa {
    fn new(params: &Params, setup: &Setup) -> Self {
        let tuning = Tuning::new(params);
        let pacing = CwndPacing::constant(tuning.pacing_gain);
        Self {
            tuning,
            pacing,
            mss: setup.mss,
            state: State::SlowStart,
            round: RoundCounter::default(),
            delay: Delay::new(tuning.rtt_min_window, tuning.standing_window),
            detector: Detector::new(
                tuning.empty_rounds,
                tuning.max_rounds,
                tuning.empty_threshold,
            ),
            capacity: Capacity::new(),
            velocity: Velocity::new(tuning.velocity_rounds, setup.initial_cwnd),
            loss_rate: LossRate::default(),
            inverse_delta: tuning.inverse_delta(),
            cwnd: setup.initial_cwnd,
            rest: Remainder::default(),
            control: pacing.control(setup.initial_cwnd, setup.srtt, setup.mss, true),
        }
    }

    /// The queue that the flow aims at: 1 ÷ δ packets.
    fn target_queue(&self) -> Bytes {
        let inverse_delta = match &self.state {
            State::Competitive(competition) => competition.inverse_delta(),
            State::SlowStart | State::Default => self.inverse_delta,
        };
        self.mss * inverse_delta
    }

    fn on_rtt(&mut self, path: &PathState, rtt: Duration) {
        self.delay.on_rtt(path.now, rtt, path.srtt.unwrap_or(rtt));
        self.detector.on_rtt(self.round.count, rtt);
    }

    /// A marked packet counts as lost.
    fn count_losses(&mut self, sample: &RateSample) {
        let marked = (self.mss * sample.ce_marked).min(sample.newly_acked);
        let lost = sample.newly_lost.saturating_add(marked);
        self.loss_rate
            .on_ack(sample.newly_acked.saturating_sub(marked), lost);
    }

    /// §2.2: the mode follows from what the newest round trips have shown.
    fn update_mode(&mut self, context: &mut EventContext<'_>, rtts: &Rtts) {
        let has_empty_queue = !self.tuning.mode_switching || {
            let grain = self.capacity.time_for(self.mss * self.tuning.empty_packets);
            let is_allowed = grain <= rtts.min / COARSE || self.capacity.is_in_use();
            let grain = if is_allowed { grain } else { Duration::ZERO };
            self.detector.saw_empty_queue(rtts.min, grain)
        };
        match self.state {
            State::Default if !has_empty_queue => {
                context.transition(
                    &mut self.state,
                    State::Competitive(Competition::new(&self.tuning)),
                );
            }
            State::Competitive(_) if has_empty_queue => {
                context.transition(&mut self.state, State::Default)
            }
            _ => {}
        }
    }

    /// Once per window: updates velocity, δ and the loss rate.
    fn on_round(&mut self, context: &mut EventContext<'_>) {
        self.velocity.on_round(self.cwnd);
        if let State::Competitive(competition) = &mut self.state
            && context.path.is_cwnd_limited
        {
            competition.on_round(&self.tuning, self.cwnd.packets_floor(self.mss));
        }
        if self.loss_rate.on_round(self.mss, self.tuning.loss_limit) {
            self.cut(context);
        } else {
            let more =
                Gain::from_millionths(self.inverse_delta.millionths() + Gain::ONE.millionths());
            self.inverse_delta = more.min(self.tuning.inverse_delta());
        }
    }

    /// Too much is lost: the queue is shorter than the flow's target for it.
    fn cut(&mut self, context: &mut EventContext<'_>) {
        self.inverse_delta =
            (self.inverse_delta * Gain::new(1, 2)).max(self.tuning.min_inverse_delta());
        self.cwnd = (self.cwnd * self.tuning.loss_reduction).max(min_window(self.mss));
        self.leave_slow_start(context);
        self.velocity = Velocity::new(self.tuning.velocity_rounds, self.cwnd);
    }

    fn leave_slow_start(&mut self, context: &mut EventContext<'_>) {
        if matches!(self.state, State::SlowStart) {
            context.transition(&mut self.state, State::Default);
            self.velocity = Velocity::new(self.tuning.velocity_rounds, self.cwnd);
        }
    }

    /// §2.1, steps 2 and 3.
    fn update_cwnd(&mut self, context: &mut EventContext<'_>, rtts: &Rtts, acked: Bytes) {
        let target = self.target_queue();
        if product(self.cwnd, rtts.queueing()) > product(target, rtts.standing) {
            self.leave_slow_start(context);
            self.velocity.turn(Direction::Down, self.cwnd);
            let step = self.step(target, acked);
            self.cwnd = self.cwnd.saturating_sub(step).max(min_window(self.mss));
        } else if !context.path.is_cwnd_limited {
            // RFC 9002 §7.8: a window that the application does not fill does not grow.
        } else if matches!(self.state, State::SlowStart) {
            self.cwnd = self.cwnd.saturating_add(acked);
        } else {
            self.velocity.turn(Direction::Up, self.cwnd);
            let step = self.step(target, acked);
            self.rise(step, rtts);
        }
    }

    /// The velocity is reset at the window that filled the path before. If the path has more now,
    /// the window goes on and the velocity doubles again; if not, the overshoot stays small until
    /// it is measured.
    fn rise(&mut self, step: Bytes, rtts: &Rtts) {
        let before = self.cwnd;
        self.cwnd = before.saturating_add(step);
        let full = self.capacity.full_window(rtts.min);
        if self.tuning.velocity_stop && before < full && self.cwnd >= full {
            self.velocity.stop(self.cwnd);
        }
    }

    /// What `acked` bytes of a window have of the v ÷ δ packets by which a window moves: all of
    /// them where v ÷ δ is more than the window, so that it never moves faster than slow start.
    fn step(&mut self, target: Bytes, acked: Bytes) -> Bytes {
        let change = u128::from(target.get()) * u128::from(self.velocity.get());
        let change = change.saturating_mul(u128::from(acked.get()));
        Bytes::new(self.rest.divide(change, self.cwnd.get())).min(acked)
    }

    /// The smoothed round-trip time is used where the standing one is unknown.
    fn decide(&mut self, path: &PathState) {
        let standing = self.delay.get().map(|rtts| rtts.standing);
        let rtt = standing.or(path.srtt);
        self.control = self.pacing.control(self.cwnd, rtt, self.mss, false);
    }
}

impl Controller for Copa {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        if let State::Competitive(competition) = &mut self.state {
            competition.on_lost(path.now, packet, &self.tuning);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let context = &mut EventContext { path, observer };
        self.round.on_ack(sample.prior_delivered, path.delivered);
        if let State::Competitive(competition) = &mut self.state {
            if sample.ce_marked > 0 {
                competition.on_marked(path.now, sample.newest_sent_at, &self.tuning);
            }
            competition.on_acked(sample.newest_sent_at);
        }
        if let Some(rtt) = sample.rtt {
            self.on_rtt(path, rtt);
        }
        if let Some(rate) = sample.delivery_rate {
            self.capacity.on_rate(self.round.count, rate);
        }
        if let Some(rtts) = self.delay.get() {
            self.update_mode(context, &rtts);
            if self.round.is_start {
                self.on_round(context);
            }
            self.update_cwnd(context, &rtts, sample.newly_acked);
        }
        self.count_losses(sample);
        self.decide(path);
    }

    fn on_spurious_loss(&mut self, _: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        self.loss_rate.on_spurious_loss(packet.bytes);
        if let State::Competitive(competition) = &mut self.state {
            competition.on_spurious_loss(packet);
        }
    }

    /// The minimum window, and slow start with the round-trip times of what may be another path
    /// (RFC 9002 §7.6.2 and §5.2). The paper does not cover it. The detector keeps its samples: the
    /// next one is the new RTTmin, and with it an empty queue.
    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        if !matches!(self.state, State::SlowStart) {
            EventContext { path, observer }.transition(&mut self.state, State::SlowStart);
        }
        self.cwnd = min_window(self.mss);
        self.delay.forget();
        self.capacity = Capacity::new();
        self.loss_rate = LossRate::default();
        self.inverse_delta = self.tuning.inverse_delta();
        self.velocity = Velocity::new(self.tuning.velocity_rounds, self.cwnd);
        self.decide(path);
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.cwnd = resized_window(self.cwnd, self.mss, path.mss);
        self.mss = path.mss;
        self.decide(path);
    }

    fn can_resume(&self) -> bool {
        matches!(self.state, State::SlowStart)
    }

    /// After a Safe Retreat Copa goes on in the state that the queue of the jump has brought it to,
    /// with the window of the retreat.
    fn resume(&mut self, path: &PathState, window: &ResumedWindow, _: &mut dyn Observer) {
        self.cwnd = match *window {
            ResumedWindow::Raised { cwnd } => self.cwnd.max(cwnd),
            ResumedWindow::Retreated { cwnd, .. } => cwnd.max(min_window(self.mss)),
        };
        self.velocity = Velocity::new(self.tuning.velocity_rounds, self.cwnd);
        self.decide(path);
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            pacing_gain: Some(self.tuning.pacing_gain),
            bandwidth: self.capacity.rate(),
            min_rtt: self.delay.get().map(|rtts| rtts.min),
            ..Snapshot::new(SPEC.name, self.state.name(), self.control)
        }
    }
}

/// In byte-nanoseconds.
fn product(bytes: Bytes, time: Duration) -> u128 {
    u128::from(bytes.get()) * u128::from(units::duration::nanos(time))
}

/// A few packets that take more than this part of `RTTmin` count as a queue, where the flow had
/// more of the path recently; six flows that share 20 Mbit/s and 40 ms are below it.
const COARSE: u32 = 5;
