//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06): background traffic that yields to other flows.
//!
//! ```text
//!  queueing delay = least of the last 4 RTTs − least RTT of the last 10 minutes
//!  per round trip:  W += GAIN                                          delay ≤ TARGET
//!                   W += max(GAIN − W · (delay ÷ TARGET − 1), −W ÷ 2)  beyond it
//!  GAIN = 1 ÷ min(16, ⌈2 · TARGET ÷ base delay⌉), TARGET = 60 ms
//!
//!              ¾ TARGET, loss                     time is up
//!   SlowStart ───────────────▶ CongestionAvoidance ────────▶ Slowdown: two packets,
//!   (by GAIN)                         ▲                         │        2 RTTs
//!                                     │ window of before        ▼
//!                                     └────────────────────── RampUp (by GAIN)
//! ```
//!
//! It uses a path that no other flow uses, with 60 ms of queue, and reduces its rate when others
//! make the queue longer. Slowdowns empty that queue: the initial one two round trips after slow
//! start, each next one after nine times the duration of the last, so that they cost a tenth.
//! Without them a flow that starts later counts the standing queue as base delay, and takes the
//! bandwidth of the others.
//!
//! `docs/ledbat_pp.md` goes through the draft section by section and says where this differs.

mod delay;
mod params;
mod state;
mod window;

use crate::control::Control;
use crate::controller::{Controller, PathState, Setup};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::params::Params;
use crate::parts::cwnd_pacing::CwndPacing;
use crate::parts::recovery_period::RecoveryPeriod;
use crate::parts::transition::{EventContext, Machine};
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use core::time::Duration;
use delay::Delay;
use params::{PARAMS, Tuning};
use state::{SlowdownDuration, SlowdownTimer, State};
use units::Bytes;
use window::{Window, WindowAck};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "ledbat_pp",
    aliases: &[],
    summary: "LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06), for background traffic",
    params: &PARAMS,
    build: |params, setup| Box::new(LedbatPp::new(params, setup)),
};

#[derive(Debug)]
struct LedbatPp {
    tuning: Tuning,
    pacing: CwndPacing,
    state: State,
    window: Window,
    delay: Delay,
    recovery: RecoveryPeriod<Saved>,
    mss: Bytes,
    /// The decision in force, which follows from the window, the state and the smoothed RTT.
    control: Control,
}

/// What a loss changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Saved {
    cwnd: Bytes,
    state: State,
}

impl LedbatPp {
    fn new(params: &Params, setup: &Setup) -> Self {
        let (tuning, pacing) = (Tuning::new(params), CwndPacing::new(params));
        let cwnd = match setup.srtt {
            None => setup.mss * tuning.initial_window,
            // A running connection changed its controller and goes on with its window.
            Some(_) => setup.initial_cwnd,
        };
        let window = Window::new(cwnd, setup.mss);
        Self {
            tuning,
            pacing,
            state: State::SlowStart {
                ssthresh: Bytes::MAX,
            },
            window,
            delay: Delay::new(),
            recovery: RecoveryPeriod::new(params.switch("undo")),
            mss: setup.mss,
            control: pacing.control(window.cwnd, setup.srtt, setup.mss, true),
        }
    }

    /// State changes due to time and delay; those due to the window are in `update_window`.
    fn advance(&mut self, context: &mut EventContext<'_>) {
        let queueing = self.delay.queueing(&self.tuning);
        match &mut self.state {
            State::SlowStart { .. } => {
                let limit = units::duration::scale(self.tuning.target, self.tuning.slow_start_exit);
                if queueing > limit {
                    self.avoid_congestion(context);
                }
            }
            State::CongestionAvoidance(wait) => {
                // A flow that does not fill its window rarely has a queue of its own to drain.
                let is_due = context.path.is_cwnd_limited && context.path.now >= wait.until;
                if is_due && self.tuning.slowdown {
                    self.slow_down(context);
                }
            }
            State::Slowdown {
                ssthresh,
                until,
                duration,
            } => {
                duration.count(context.path.now);
                if context.path.now >= *until {
                    let (ssthresh, duration) = (*ssthresh, *duration);
                    context.transition(&mut self.state, State::RampUp { ssthresh, duration });
                }
            }
            State::RampUp { duration, .. } if context.path.is_cwnd_limited => {
                duration.count(context.path.now)
            }
            State::RampUp { duration, .. } => {
                duration.skip(context.path.now);
                // The application sent little, and meanwhile other flows started.
                if queueing > self.tuning.target {
                    self.avoid_congestion(context);
                }
            }
        }
    }

    /// Ends a slow start, the initial one or that after a slowdown, and sets when the next slowdown
    /// is due (§4.4).
    fn avoid_congestion(&mut self, context: &mut EventContext<'_>) {
        let shortest = self.slowdown_time(context.path);
        let (delay, interval) = match &self.state {
            State::RampUp { duration, .. } => {
                let interval = times(duration.spent(), self.tuning.slowdown_interval);
                (interval, interval)
            }
            _ => (shortest, times(shortest, self.tuning.slowdown_interval)),
        };
        let wait = SlowdownTimer {
            until: context.path.now + delay,
            interval,
        };
        context.transition(&mut self.state, State::CongestionAvoidance(wait));
    }

    fn slow_down(&mut self, context: &mut EventContext<'_>) {
        let slowdown = State::Slowdown {
            ssthresh: self.window.cwnd,
            until: context.path.now + self.slowdown_time(context.path),
            duration: SlowdownDuration::new(context.path.now),
        };
        self.window.reduce_to(Bytes::ZERO);
        context.transition(&mut self.state, slowdown);
    }

    /// The draft's 2 RTT, as they are before the queue drains: one of them is for that.
    fn slowdown_time(&self, path: &PathState) -> Duration {
        times(path.srtt.unwrap_or_default(), self.tuning.slowdown_rtts)
    }

    /// The first congestion signal in a recovery period.
    fn reduce(&mut self, context: &mut EventContext<'_>) {
        if let State::Slowdown { ssthresh, .. } = &mut self.state {
            // What was lost was sent before the slowdown and concerns the window of then.
            *ssthresh = (*ssthresh / 2).max(self.window.min_cwnd);
            return;
        }
        self.window.halve();
        if self.state.is_slow_start() {
            self.avoid_congestion(context);
        }
    }

    fn update_window(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        let ack = WindowAck {
            acked: sample.newly_acked,
            mss: self.mss,
            gain_divisor: self.delay.gain_divisor(&self.tuning),
            queueing: self.delay.queueing(&self.tuning),
            is_full: context.path.is_cwnd_limited,
        };
        match self.state {
            State::CongestionAvoidance(_) => self.window.avoid(&ack, &self.tuning),
            State::Slowdown { .. } => {}
            State::SlowStart { ssthresh } | State::RampUp { ssthresh, .. } => {
                self.window.slow_start(&ack, ssthresh);
                if self.window.cwnd >= ssthresh {
                    self.avoid_congestion(context);
                }
            }
        }
    }

    fn decide(&mut self, path: &PathState) {
        let grows_fast = self.state.is_slow_start();
        let cwnd = self.window.cwnd;
        self.control = self.pacing.control(cwnd, path.srtt, self.mss, grows_fast);
    }
}

impl Controller for LedbatPp {
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        self.window.max_flight_size.on_sent(path.inflight + bytes);
        if !path.inflight.is_zero() {
            return;
        }
        match &mut self.state {
            State::SlowStart { .. } => {}
            // The gap has drained the queue, as the slowdown would have.
            State::CongestionAvoidance(wait) if path.now >= wait.until => {
                wait.until = path.now + wait.interval;
            }
            State::CongestionAvoidance(_) => {}
            State::Slowdown { duration, .. } | State::RampUp { duration, .. } => {
                duration.skip(path.now)
            }
        }
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        let saved = Saved {
            cwnd: self.window.cwnd,
            state: self.state,
        };
        if self.recovery.on_lost(path.now, packet, saved) {
            self.reduce(&mut EventContext { path, observer });
            self.decide(path);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let context = &mut EventContext { path, observer };
        if let Some(rtt) = sample.rtt {
            self.delay.on_rtt(path.now, rtt);
        }
        let marked_at = sample.newest_sent_at;
        if sample.ce_marked > 0 && self.recovery.on_marked(path.now, marked_at) {
            self.reduce(context);
        }
        self.recovery.on_acked(sample.newest_sent_at);
        self.advance(context);
        if !self.recovery.is_active() {
            self.update_window(context, sample);
        }
        self.decide(path);
    }

    /// The reduction is undone, and so is the end of a slow start that it caused. A slowdown that
    /// has begun since goes on, up to the window of before.
    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        let Some(saved) = self.recovery.on_spurious_loss(packet) else {
            return;
        };
        match &mut self.state {
            State::Slowdown { ssthresh, .. } | State::RampUp { ssthresh, .. } => {
                *ssthresh = saved.state.full_window(saved.cwnd).max(*ssthresh);
            }
            State::SlowStart { .. } | State::CongestionAvoidance(_) => {
                self.window.cwnd = saved.cwnd.max(self.window.cwnd);
                if saved.state.is_slow_start() {
                    EventContext { path, observer }.transition(&mut self.state, saved.state);
                }
            }
        }
        self.decide(path);
    }

    /// Slow start up to where the losses left the window. The path may be another one, so the
    /// estimates of the old one are discarded (RFC 9002 §5.2).
    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let ssthresh = self.state.full_window(self.window.cwnd);
        self.window.reduce_to(Bytes::ZERO);
        self.delay = Delay::new();
        self.recovery.forget();
        EventContext { path, observer }.transition(&mut self.state, State::SlowStart { ssthresh });
        self.decide(path);
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
        self.window.on_mtu(path.mss);
        self.decide(path);
    }

    fn is_self_limited(&self) -> bool {
        self.state.is_slowdown()
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        let ssthresh = self.state.ssthresh();
        Snapshot {
            pacing_gain: self.pacing.gain(self.state.is_slow_start()),
            min_rtt: self.delay.base(&self.tuning),
            ssthresh: ssthresh.filter(|ssthresh| *ssthresh != Bytes::MAX),
            ..Snapshot::new(SPEC.name, self.state.name(), self.control)
        }
    }
}

fn times(duration: Duration, count: u64) -> Duration {
    duration * u32::try_from(count).expect("the range of every count is small")
}

#[cfg(test)]
mod tests;
