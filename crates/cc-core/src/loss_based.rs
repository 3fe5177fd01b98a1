//! What the controllers that fear loss have in common: slow start, recovery, pacing.
//!
//! ```text
//!  SlowStart ⇄ ConservativeSlowStart ──▶ CongestionAvoidance
//!      │                │                   │          ▲
//!      └────────────────┴── loss or mark ───┤          │ a packet sent since is acknowledged
//!      ▲                                    ▼          │
//!      └── persistent congestion ◀────── Recovery ─────┘
//! ```
//!
//! An algorithm is an [`Avoidance`]: how far the window falls, and how it grows once it is above
//! the threshold of slow start.

use crate::control::Control;
use crate::controller::{Controller, PathState, Setup, initial_window};
use crate::cwnd_pacing::{self, CwndPacing};
use crate::delivery_rate::RateSample;
use crate::event::LostPacket;
use crate::hystart::{Growth, HyStart};
use crate::observe::{Event, Observer, Snapshot};
use crate::recovery::Recovery;
use crate::registry::{ParamSpec, Params, Range, Value};
use core::fmt;
use core::time::Duration;
use units::{Bytes, Timestamp};

/// An algorithm's congestion avoidance. `Copy`, so that a reduction can be undone.
pub(crate) trait Avoidance: Copy + fmt::Debug + Send {
    /// Registry name.
    const NAME: &'static str;

    /// Congestion at window `cwnd`. Answers the new window, before the minimum is applied.
    fn on_congestion(&mut self, cwnd: Bytes) -> Bytes;

    /// Slow start ended at window `cwnd` without congestion.
    fn on_full_path(&mut self, cwnd: Bytes);

    /// The window collapsed; what was learned about the path no longer holds.
    fn on_persistent_congestion(&mut self);

    /// Time up to `now` passed without the window being the limit.
    fn skip_time(&mut self, now: Timestamp);

    /// The packet size changed while the window is `cwnd`.
    fn on_mtu(&mut self, cwnd: Bytes);

    /// Answers by how much the window grows.
    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes;
}

/// An ACK in congestion avoidance, to a sender that fills its window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AvoidanceAck {
    pub(crate) now: Timestamp,
    /// Bytes newly acknowledged.
    pub(crate) acked: Bytes,
    pub(crate) cwnd: Bytes,
    pub(crate) mss: Bytes,
    /// Smoothed round-trip time; zero if none is known.
    pub(crate) srtt: Duration,
}

/// A controller whose algorithm is `A`.
#[derive(Debug)]
pub(crate) struct LossBased<A> {
    window: Window<A>,
    recovery: Recovery<Window<A>>,
    pacing: CwndPacing,
    mss: Bytes,
    /// The decision in force, which follows from all of the above and the smoothed RTT.
    control: Control,
}

/// What congestion changes, and an undo brings back.
#[derive(Debug, Clone, Copy)]
struct Window<A> {
    cwnd: Bytes,
    ssthresh: Bytes,
    /// The first slow start's; `None` in later ones, and where it is not wanted.
    hystart: Option<HyStart>,
    avoidance: A,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    SlowStart,
    ConservativeSlowStart,
    CongestionAvoidance,
    Recovery,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "SlowStart",
            Self::ConservativeSlowStart => "ConservativeSlowStart",
            Self::CongestionAvoidance => "CongestionAvoidance",
            Self::Recovery => "Recovery",
        }
    }
}

impl<A: Avoidance> LossBased<A> {
    pub(crate) fn new(avoidance: A, params: &Params, setup: &Setup) -> Self {
        let pacing = CwndPacing::new(params);
        let with_hystart = params.word("slow_start") == HYSTARTPP;
        Self {
            window: Window {
                cwnd: setup.initial_cwnd,
                ssthresh: Bytes::MAX,
                hystart: with_hystart.then(|| HyStart::new(pacing.is_on())),
                avoidance,
            },
            recovery: Recovery::new(params.switch("undo")),
            pacing,
            mss: setup.mss,
            control: pacing.control(setup.initial_cwnd, setup.srtt, setup.mss, true),
        }
    }

    fn state(&self) -> State {
        let is_conservative = |hystart: &HyStart| hystart.is_conservative();
        if self.recovery.is_active() {
            State::Recovery
        } else if self.window.cwnd >= self.window.ssthresh {
            State::CongestionAvoidance
        } else if self.window.hystart.as_ref().is_some_and(is_conservative) {
            State::ConservativeSlowStart
        } else {
            State::SlowStart
        }
    }

    /// Reduces the window: the first sign of congestion in a recovery period.
    fn reduce(&mut self) {
        let least = self.mss * MIN_WINDOW_PACKETS;
        let window = &mut self.window;
        window.ssthresh = window.avoidance.on_congestion(window.cwnd).max(least);
        window.cwnd = window.ssthresh;
    }

    fn grow(&mut self, path: &PathState, sample: &RateSample) {
        let is_in_slow_start = self.window.cwnd < self.window.ssthresh;
        let growth = match &mut self.window.hystart {
            Some(hystart) if is_in_slow_start => hystart.on_ack(path, sample),
            _ => Growth::By(sample.newly_acked),
        };
        match growth {
            Growth::Over => self.end_slow_start(),
            _ if !path.is_cwnd_limited => self.window.avoidance.skip_time(path.now),
            Growth::By(bytes) if is_in_slow_start => {
                let window = &mut self.window;
                window.cwnd = window.cwnd.saturating_add(bytes).min(window.ssthresh);
            }
            Growth::By(_) => self.avoid(path, sample),
        }
    }

    fn end_slow_start(&mut self) {
        let window = &mut self.window;
        window.hystart = None;
        window.ssthresh = window.cwnd;
        window.avoidance.on_full_path(window.cwnd);
    }

    fn avoid(&mut self, path: &PathState, sample: &RateSample) {
        let window = &mut self.window;
        let growth = window.avoidance.growth(&AvoidanceAck {
            now: path.now,
            acked: sample.newly_acked,
            cwnd: window.cwnd,
            mss: self.mss,
            srtt: path.srtt.unwrap_or_default(),
        });
        window.cwnd = window.cwnd.saturating_add(growth);
    }

    /// Derives the decision anew, and tells where the state has changed.
    fn settle(&mut self, path: &PathState, before: State, observer: &mut dyn Observer) {
        let state = self.state();
        let doubles = state == State::SlowStart;
        self.control = self
            .pacing
            .control(self.window.cwnd, path.srtt, self.mss, doubles);
        if state != before {
            observer.on_event(&Event::StateChanged {
                at: path.now,
                from: before.name(),
                to: state.name(),
            });
        }
    }
}

impl<A: Avoidance> Controller for LossBased<A> {
    fn on_sent(&mut self, path: &PathState, _: Bytes) {
        if path.inflight.is_zero() {
            self.window.avoidance.skip_time(path.now);
        }
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        let before = self.state();
        if self.recovery.on_lost(path.now, packet, self.window) {
            self.reduce();
            self.settle(path, before, observer);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let before = self.state();
        let marked_at = sample.newest_sent_at;
        if sample.ce_marked > 0 && self.recovery.on_marked(path.now, marked_at) {
            self.reduce();
        }
        self.recovery.on_acked(sample.newest_sent_at);
        if self.recovery.is_active() {
            self.window.avoidance.skip_time(path.now);
        } else {
            self.grow(path, sample);
        }
        self.settle(path, before, observer);
    }

    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        let before = self.state();
        if let Some(saved) = self.recovery.on_spurious_loss(packet) {
            if self.window.cwnd < saved.cwnd {
                self.window = saved;
                self.window.avoidance.skip_time(path.now);
            }
            self.settle(path, before, observer);
        }
    }

    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let before = self.state();
        let window = &mut self.window;
        window.cwnd = self.mss * MIN_WINDOW_PACKETS;
        window.hystart = None;
        window.avoidance.on_persistent_congestion();
        self.recovery.forget();
        self.settle(path, before, observer);
    }

    fn on_mtu(&mut self, path: &PathState) {
        let window = &mut self.window;
        // Untouched so far: the initial window is that of the new size (RFC 9002 §7.2).
        if window.cwnd == initial_window(self.mss) {
            window.cwnd = initial_window(path.mss);
        }
        self.mss = path.mss;
        window.cwnd = window.cwnd.max(self.mss * MIN_WINDOW_PACKETS);
        window.avoidance.on_mtu(window.cwnd);
        self.settle(path, self.state(), &mut ());
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        let (state, ssthresh) = (self.state(), self.window.ssthresh);
        Snapshot {
            pacing_gain: self.pacing.gain(state == State::SlowStart),
            ssthresh: (ssthresh != Bytes::MAX).then_some(ssthresh),
            ..Snapshot::new(A::NAME, state.name(), self.control)
        }
    }
}

/// What the registry offers for tuning, beside what the algorithm has of its own.
pub(crate) const fn params<const OWN: usize, const ALL: usize>(
    slow_start: &'static str,
    own: [ParamSpec; OWN],
) -> [ParamSpec; ALL] {
    let undo = ParamSpec {
        name: "undo",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether a reduction is taken back when all its lost packets arrive after all",
        source: "RFC 9438 section 4.9.2",
    };
    let slow_start = ParamSpec {
        name: "slow_start",
        default: Value::Word(slow_start),
        range: Range::OneOf(&[HYSTARTPP, STANDARD]),
        summary: "how the first slow start ends: before the queue overflows, or with loss",
        source: "RFC 9406; RFC 9438 section 4.10; RFC 9002 section 7.3.1",
    };
    let mut all = [undo; ALL];
    let mut index = 0;
    while index < OWN {
        all[index] = own[index];
        index += 1;
    }
    all[OWN + 1] = slow_start;
    let mut pacing = 0;
    while pacing < cwnd_pacing::PARAMS.len() {
        all[OWN + 2 + pacing] = cwnd_pacing::PARAMS[pacing];
        pacing += 1;
    }
    all
}

/// The words of the parameter `slow_start`.
pub(crate) const HYSTARTPP: &str = "hystartpp";
pub(crate) const STANDARD: &str = "standard";

/// kMinimumWindow (RFC 9002 §7.2): two packets, so that there is something that a receiver
/// acknowledges without delay. RFC 9438 §4.6 lets marks reduce to one; QUIC's minimum governs.
const MIN_WINDOW_PACKETS: u64 = 2;

#[cfg(test)]
pub(crate) mod tests;
