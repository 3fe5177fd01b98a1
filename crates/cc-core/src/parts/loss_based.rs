//! What loss-based controllers have in common: slow start, recovery, pacing.
//!
//! ```text
//!  SlowStart ⇄ ConservativeSlowStart ──▶ CongestionAvoidance
//!      │                │                   │          ▲
//!      └────────────────┴── loss or mark ───┤          │ a packet sent since is acknowledged
//!      ▲                                    ▼          │
//!      └── persistent congestion ◀────── Recovery ─────┘
//! ```
//!
//! With `prr=on` Recovery goes on until the flight, too, is as large as the reduced window.
//!
//! An algorithm is an [`Avoidance`]: how far the window falls, and how it grows once it is above
//! the threshold of slow start.

mod params;

use crate::control::Control;
use crate::controller::{Controller, PathState, ResumedWindow, Setup};
use crate::events::LostPacket;
use crate::observer::{Event, Observer, Snapshot};
use crate::params::Params;
use crate::parts::cwnd::{MaxFlightSize, min_window, resized_window};
use crate::parts::cwnd_pacing::CwndPacing;
use crate::parts::hystart::{Growth, HyStart};
use crate::parts::prr::{Delivered, Prr};
use crate::parts::recovery_period::RecoveryPeriod;
use crate::sampler::RateSample;
use core::fmt;
use core::time::Duration;
pub(crate) use params::{BETAS, HYSTARTPP, SHARED, STANDARD, UNDO, params};
use units::{Bandwidth, Bytes, Timestamp};

/// An algorithm's congestion avoidance. `Copy`, so that a reduction can be undone.
pub(crate) trait Avoidance: Copy + fmt::Debug + Send {
    /// Registry name.
    const NAME: &'static str;

    /// Congestion at window `cwnd`. Returns the new window, before the minimum is applied.
    fn on_congestion(&mut self, cwnd: Bytes, signal: CongestionSignal) -> Bytes;

    /// Slow start ended at window `cwnd` without congestion.
    fn on_slow_start_exit(&mut self, cwnd: Bytes);

    /// The window collapsed; what was learned about the path no longer holds.
    fn on_persistent_congestion(&mut self);

    /// Time up to `now` passed without the window being the limit.
    fn skip_time(&mut self, now: Timestamp);

    /// The packet size changed.
    fn on_mtu(&mut self);

    /// Returns by how much the window grows.
    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes;
}

/// The kind of congestion signal, which decides how much the window is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CongestionSignal {
    /// A packet was lost: a queue of unknown length overflowed.
    Loss,
    /// A packet was marked: a queue that is kept short has begun to grow (RFC 8511 §4.1).
    Mark,
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
    recovery: RecoveryPeriod<Window<A>>,
    with_prr: bool,
    /// What may leave while the flight comes down to a reduced window.
    prr: Option<Prr>,
    /// The window in force while `prr` is in use.
    prr_window: Bytes,
    pacing: CwndPacing,
    mss: Bytes,
    /// The rate of the window in the newest round trip.
    pacing_rate: Option<Bandwidth>,
    /// The state that was reported last.
    state: State,
}

/// What congestion changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Window<A> {
    cwnd: Bytes,
    ssthresh: Bytes,
    max_flight_size: MaxFlightSize,
    /// The first slow start's; `None` in later ones, and where it is turned off.
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

impl<A> Window<A> {
    /// Conservative slow start included.
    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
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
                max_flight_size: MaxFlightSize::new(setup.initial_cwnd),
                hystart: with_hystart.then(|| HyStart::new(pacing.pacing)),
                avoidance,
            },
            recovery: RecoveryPeriod::new(params.switch("undo")),
            with_prr: params.switch("prr"),
            prr: None,
            prr_window: setup.initial_cwnd,
            pacing,
            mss: setup.mss,
            pacing_rate: pacing.rate(setup.initial_cwnd, setup.srtt, true),
            state: State::SlowStart,
        }
    }

    fn present_state(&self) -> State {
        let is_conservative = |hystart: &HyStart| hystart.is_conservative();
        if self.is_recovering() {
            State::Recovery
        } else if !self.window.is_in_slow_start() {
            State::CongestionAvoidance
        } else if self.window.hystart.as_ref().is_some_and(is_conservative) {
            State::ConservativeSlowStart
        } else {
            State::SlowStart
        }
    }

    /// Whether the window does not grow now.
    fn is_recovering(&self) -> bool {
        self.recovery.is_active() || self.prr.is_some()
    }

    /// Reduces the window: the first signal of congestion in a recovery period.
    ///
    /// RFC 9438 §4.6 lets marks reduce to one packet; QUIC's minimum governs.
    ///
    /// Marks cut less than losses in congestion avoidance alone (RFC 8511 §3.1): slow start ends
    /// with up to twice the window that the path has room for, whichever signal ended it.
    fn reduce(&mut self, path: &PathState, signal: CongestionSignal) {
        let least = min_window(self.mss);
        let window = &mut self.window;
        let signal = if window.is_in_slow_start() {
            CongestionSignal::Loss
        } else {
            signal
        };
        window.ssthresh = window
            .avoidance
            .on_congestion(window.cwnd, signal)
            .max(least);
        window.cwnd = window.ssthresh;
        window.max_flight_size.on_reduced();
        self.prr = self
            .with_prr
            .then(|| Prr::new(path.prior_inflight, path.mss));
    }

    /// Updates Proportional Rate Reduction, where it is in use, with an ACK.
    fn release(&mut self, path: &PathState, delivered: Bytes, has_further_loss: bool) {
        let Some(prr) = &mut self.prr else { return };
        let is_repair = !self.recovery.is_active();
        let target = self.window.ssthresh;
        prr.on_delivered(&Delivered {
            bytes: delivered,
            inflight: path.inflight,
            target,
            mss: path.mss,
            is_safe: is_repair && !has_further_loss,
        });
        if is_repair && prr.repair(delivered, path.inflight, target) {
            self.prr = None;
        }
    }

    fn grow(&mut self, path: &PathState, sample: &RateSample) {
        let is_in_slow_start = self.window.is_in_slow_start();
        let growth = match &mut self.window.hystart {
            Some(hystart) if is_in_slow_start => hystart.on_ack(path, sample),
            _ => Growth::By(sample.newly_acked),
        };
        match growth {
            Growth::Over => self.end_slow_start(),
            _ if !path.is_cwnd_limited => self.window.avoidance.skip_time(path.now),
            Growth::By(bytes) if is_in_slow_start => {
                let window = &mut self.window;
                let grown = window.max_flight_size.slow_start(window.cwnd, bytes);
                window.cwnd = grown.min(window.ssthresh);
            }
            Growth::By(_) => self.avoid(path, sample),
        }
    }

    /// The window after a Safe Retreat: from there slow start goes on to `ssthresh`, without the
    /// round-trip times of the queue that the jump filled.
    fn retreat(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        let least = min_window(self.mss);
        let window = &mut self.window;
        window.cwnd = window.cwnd.min(cwnd).max(least);
        window.ssthresh = window.ssthresh.min(ssthresh).max(least);
        window.max_flight_size.on_reduced();
        window.hystart = None;
        window.avoidance.on_slow_start_exit(window.ssthresh);
        self.prr = None;
    }

    fn end_slow_start(&mut self) {
        let window = &mut self.window;
        window.hystart = None;
        window.ssthresh = window.cwnd;
        window.avoidance.on_slow_start_exit(window.cwnd);
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
        // Never faster than slow start: with a window of two packets and `beta` below a half W_est
        // would be.
        window.cwnd = window.cwnd.saturating_add(growth.min(sample.newly_acked));
    }

    /// Updates the pacing rate and PRR's window, and reports a change of state. Inlined: every ACK
    /// ends with it.
    ///
    /// After a reduction the queue drains, but the smoothed round-trip time still includes it for
    /// most of a round trip. Paced by that, the window would leave more slowly than the bottleneck
    /// serves it, and the link would idle; RFC 9002 §7.7 asks that RTT variation does not leave the
    /// window underutilized. So the newest sample is used where it is shorter.
    #[inline(always)]
    fn settle(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let state = self.present_state();
        let doubles = state == State::SlowStart;
        let rtt = if doubles {
            path.srtt
        } else {
            path.srtt.min(path.latest_rtt)
        };
        self.pacing_rate = self.pacing.rate(self.window.cwnd, rtt, doubles);
        if let Some(prr) = &self.prr {
            self.prr_window = prr.window(path.inflight).max(min_window(self.mss));
        }
        if state != self.state {
            observer.on_event(&Event::StateChanged {
                at: path.now,
                from: self.state.name(),
                to: state.name(),
            });
            self.state = state;
        }
    }
}

impl<A: Avoidance> Controller for LossBased<A> {
    /// What is sent moves from the allowance to the flight; their sum, the window in force, stays.
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        if path.inflight.is_zero() {
            self.window.avoidance.skip_time(path.now);
        }
        self.window.max_flight_size.on_sent(path.inflight + bytes);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        let begins = self.recovery.on_lost(path.now, packet, self.window);
        if begins {
            self.reduce(path, CongestionSignal::Loss);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_lost(packet.bytes);
        }
        if begins || self.prr.is_some() {
            self.settle(path, observer);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let marked_at = sample.newest_sent_at;
        if sample.ce_marked > 0 && self.recovery.on_marked(path.now, marked_at) {
            self.reduce(path, CongestionSignal::Mark);
        }
        self.recovery.on_acked(sample.newest_sent_at);
        if self.prr.is_some() {
            self.release(path, sample.newly_acked, !sample.newly_lost.is_zero());
        }
        if !self.is_recovering() {
            self.grow(path, sample);
        }
        self.settle(path, observer);
    }

    fn on_spurious_loss(
        &mut self,
        path: &PathState,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        if let Some(saved) = self.recovery.on_spurious_loss(packet) {
            if self.window.cwnd < saved.cwnd {
                self.window = saved;
                self.window.avoidance.skip_time(path.now);
            }
            self.prr = None;
        }
        self.release(path, packet.bytes, true);
        self.settle(path, observer);
    }

    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let window = &mut self.window;
        window.cwnd = min_window(self.mss);
        window.max_flight_size.on_reduced();
        window.hystart = None;
        window.avoidance.on_persistent_congestion();
        self.recovery.forget();
        self.prr = None;
        self.settle(path, observer);
    }

    fn on_mtu(&mut self, path: &PathState) {
        let window = &mut self.window;
        window.cwnd = resized_window(window.cwnd, self.mss, path.mss);
        self.mss = path.mss;
        window.avoidance.on_mtu();
        self.settle(path, &mut ());
    }

    fn can_resume(&self) -> bool {
        self.window.is_in_slow_start() && !self.is_recovering()
    }

    fn resume(&mut self, path: &PathState, window: &ResumedWindow, observer: &mut dyn Observer) {
        match *window {
            ResumedWindow::Raised { cwnd } => self.window.cwnd = self.window.cwnd.max(cwnd),
            ResumedWindow::Retreated { cwnd, ssthresh } => self.retreat(cwnd, ssthresh),
        }
        self.settle(path, observer);
    }

    fn control(&self) -> Control {
        let window = self.window.cwnd;
        let control = self.pacing.control_at(self.pacing_rate, window, self.mss);
        let cwnd = match self.prr {
            Some(_) => self.prr_window,
            None => window,
        };
        Control { cwnd, ..control }
    }

    fn snapshot(&self) -> Snapshot {
        let ssthresh = self.window.ssthresh;
        Snapshot {
            pacing_gain: self.pacing.gain(self.state == State::SlowStart),
            ssthresh: (ssthresh != Bytes::MAX).then_some(ssthresh),
            ..Snapshot::new(A::NAME, self.state.name(), self.control())
        }
    }
}

#[cfg(test)]
mod tests;
