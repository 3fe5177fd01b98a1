//! Prague: the window falls with the share of packets that come back marked.
//!
//! ```text
//!  alpha = moving average of marked ÷ acknowledged, a sixteenth per round trip
//!  a mark:       cwnd −= cwnd × alpha ÷ 2, once per round trip
//!  unmarked ACK: cwnd += acknowledged × SMSS ÷ cwnd, between marks too
//!  a loss:       cwnd ÷ 2, once per flight, as NewReno
//!  pacing rate = cwnd ÷ srtt, in bursts of 250 µs at most
//! ```
//!
//! draft-briscoe-iccrg-prague-congestion-control-04 adapts DCTCP (RFC 8257) to the Internet: it is
//! the controller that meets the requirements of RFC 9331 for the low-latency queue of L4S. There
//! marks come early, before a queue is a millisecond long, and often, two per round trip however
//! large the window is; a sender that halved for each would never fill a link. A flow that sees the
//! share p of its packets marked has a window of 2 × (1 − p) ÷ p packets.
//!
//! Below a round trip of 25 ms a flow that has run for a while behaves as if it had one
//! ([`virtual_rtt`]), so that it takes no more of a shared link than a flow with a longer round
//! trip.
//!
//! Where its packets cannot carry ECT(1), marks do not come from a low-latency queue, and this is
//! NewReno with finer bursts. The transport may learn so in the middle of a connection; each
//! packet's mark is answered as the packet was sent. And where a classic queue marks ECT(1), which
//! shows in how long what it marks has waited ([`classic_ecn`]), a mark is answered as NewReno
//! does.

mod alpha;
mod classic_ecn;
mod ect1;
mod params;
mod virtual_rtt;

use crate::control::{Control, MIN_RATE};
use crate::controller::{Controller, PathState, ResumedWindow, Setup};
use crate::events::LostPacket;
use crate::observer::{Event, Observer, Snapshot};
use crate::params::Params;
use crate::parts::cwnd::{MaxFlightSize, min_window, resized_window};
use crate::parts::recovery_period::RecoveryPeriod;
use crate::parts::remainder::Remainder;
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use alpha::Alpha;
use classic_ecn::ClassicEcn;
use core::time::Duration;
use ect1::Ect1;
use params::{PARAMS, Tuning};
use units::{Bandwidth, Bytes, Gain, Timestamp};
use virtual_rtt::VirtualRtt;

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "prague",
    aliases: &[],
    summary: "Prague for L4S (draft-briscoe-iccrg-prague-congestion-control-04), ECT(1)",
    params: PARAMS,
    build: |params, setup| Box::new(Prague::new(params, setup)),
};

#[derive(Debug)]
struct Prague {
    tuning: Tuning,
    ect1: Ect1,
    window: Window,
    alpha: Alpha,
    virtual_rtt: VirtualRtt,
    classic_ecn: ClassicEcn,
    /// When marks last cut the window: the beginning of the round trip called CWR.
    cut_at: Option<Timestamp>,
    /// Fractions of a byte by which the window has not grown yet.
    rest: Remainder,
    recovery: RecoveryPeriod<Window>,
    mss: Bytes,
    /// The decision in force, which follows from all of the above and the smoothed RTT.
    control: Control,
}

/// What a loss changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Not a multiple of anything: `frac_cwnd` of tcp_prague.c.
    cwnd: Bytes,
    ssthresh: Bytes,
    max_flight_size: MaxFlightSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    SlowStart,
    CongestionAvoidance,
    /// Congestion avoidance while marks are taken for those of a classic queue.
    ClassicEcn,
    Recovery,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "SlowStart",
            Self::CongestionAvoidance => "CongestionAvoidance",
            Self::ClassicEcn => "ClassicEcn",
            Self::Recovery => "Recovery",
        }
    }
}

impl Prague {
    fn new(params: &Params, setup: &Setup) -> Self {
        let tuning = Tuning::new(params);
        let mut prague = Self {
            ect1: Ect1::new(setup.sends_ect1),
            window: Window {
                cwnd: setup.initial_cwnd,
                ssthresh: Bytes::MAX,
                max_flight_size: MaxFlightSize::new(setup.initial_cwnd),
            },
            alpha: Alpha::new(setup.now, &tuning),
            virtual_rtt: VirtualRtt::new(&tuning),
            classic_ecn: ClassicEcn::new(tuning.classic_ecn),
            cut_at: None,
            rest: Remainder::default(),
            recovery: RecoveryPeriod::new(tuning.undo),
            mss: setup.mss,
            control: Control::unpaced(setup.initial_cwnd),
            tuning,
        };
        prague.decide(setup.srtt);
        prague
    }

    fn state(&self) -> State {
        if self.recovery.is_active() {
            State::Recovery
        } else if self.is_in_slow_start() {
            State::SlowStart
        } else if self.classic_ecn.is_classic() {
            State::ClassicEcn
        } else {
            State::CongestionAvoidance
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// Bytes that this ACK reports as marked. Reports count packets (RFC 9000 §19.3.2); each is
    /// taken for a full one, which for smaller ones errs towards more marks, but never beyond the
    /// ACK.
    fn marked(&self, sample: &RateSample) -> Bytes {
        let packets = Bytes::new(self.mss.get().saturating_mul(sample.ce_marked));
        packets.min(sample.newly_acked)
    }

    /// Multiplicative decrease on ECN feedback (§2.4.2): at once, by what earlier round trips have
    /// shown, and then not for a round trip. A loss has reduced more already. A mark of a classic
    /// queue cuts at least as it does without ECT(1).
    fn on_marks(&mut self, path: &PathState, sent_at: Timestamp) {
        let (now, cwnd) = (path.now, self.window.cwnd);
        let alpha = self.alpha.on_mark();
        let min_round = self.min_round();
        let may_cut = self
            .cut_at
            .is_none_or(|cut_at| sent_at > cut_at && now.since(cut_at) >= min_round);
        if may_cut && !self.recovery.is_active() {
            self.cut_at = Some(now);
            let scalable = cwnd - alpha::half_of(alpha, cwnd);
            let left = if self.classic_ecn.is_classic() {
                scalable.min(cwnd * self.tuning.beta_ecn)
            } else {
                scalable
            };
            let least = self.virtual_rtt.least_window(self.mss, path.srtt);
            self.reduce_to(left, least);
        }
    }

    /// Fall-back on loss (§2.4.1), and on a mark where there is no ECT(1): this leaves more, but
    /// for slow start, which ends with up to twice the window that the path has room for (RFC 8511
    /// §3.1).
    fn on_congestion(&mut self, is_mark: bool) {
        let beta = if is_mark && !self.is_in_slow_start() {
            self.tuning.beta_ecn
        } else {
            self.tuning.beta
        };
        self.reduce_to(self.window.cwnd * beta, min_window(self.mss));
    }

    /// Never raises the window: it may be below `least` already.
    fn reduce_to(&mut self, cwnd: Bytes, least: Bytes) {
        let cwnd = cwnd.max(least).min(self.window.cwnd);
        self.window.cwnd = cwnd;
        self.window.ssthresh = cwnd;
        self.window.max_flight_size.on_reduced();
    }

    /// What a round trip lasts at least. Without ECT(1) the virtual one does not apply: NewReno
    /// shares a classic queue as NewReno does.
    fn min_round(&self) -> Duration {
        if self.ect1.is_sent() {
            self.virtual_rtt.min_round()
        } else {
            Duration::ZERO
        }
    }

    /// Additive increase by what came unmarked (§2.4.3), or slow start.
    fn grow(&mut self, unmarked: Bytes, srtt: Option<Duration>) {
        let Window {
            cwnd,
            ssthresh,
            max_flight_size,
        } = self.window;
        self.window.cwnd = if self.is_in_slow_start() {
            max_flight_size.slow_start(cwnd, unmarked).min(ssthresh)
        } else {
            let srtt = srtt.filter(|_| self.ect1.is_sent());
            let per_round = self.virtual_rtt.increase(self.mss, srtt);
            let product = u128::from(per_round) * u128::from(unmarked.get());
            let growth = self
                .rest
                .divide(product, cwnd.get().saturating_mul(MILLION));
            // Below a packet per round trip at most to the double, as in slow start: more than a
            // window is acknowledged at once.
            cwnd.saturating_add(Bytes::new(growth).min(cwnd))
        };
    }

    /// Packet pacing and bursts (§2.5). The rate carries the fraction of the window; the limit of
    /// what is in flight is the next whole packet, as otherwise the fraction would never be sent,
    /// and two at least (RFC 9002 §7.2): a window below is kept to by pacing alone.
    ///
    /// Before a round-trip time is known it is taken for the virtual one. An initial window that
    /// left at once would be marked by any link below 120 Mbit/s, where ten packets are a queue of
    /// a millisecond, and slow start would be over.
    fn decide(&mut self, srtt: Option<Duration>) {
        let packets = self.window.cwnd.packets_ceil(self.mss);
        let srtt = srtt.unwrap_or(self.tuning.virtual_rtt);
        let rate = Bandwidth::from_transfer(self.window.cwnd, srtt) * self.pacing_gain();
        let rate = rate.max(MIN_RATE);
        self.control = Control {
            cwnd: Bytes::new(self.mss.get().saturating_mul(packets)).max(min_window(self.mss)),
            pacing_rate: rate,
            send_quantum: rate.bytes_in(self.tuning.burst).max(self.mss),
        };
    }

    /// A round trip is over.
    fn on_round(&mut self) {
        if self.is_in_slow_start() {
            self.classic_ecn.on_slow_start();
        } else {
            self.virtual_rtt.on_round();
            let packet_time = self.mss / self.control.pacing_rate;
            self.classic_ecn.on_round(packet_time);
        }
    }

    fn pacing_gain(&self) -> Gain {
        if self.is_in_slow_start() {
            self.tuning.pacing_gain_slow_start
        } else {
            self.tuning.pacing_gain_avoidance
        }
    }

    /// Updates the decision, and reports a change of state.
    fn settle(&mut self, path: &PathState, before: State, observer: &mut dyn Observer) {
        self.decide(path.srtt);
        let state = self.state();
        if state != before {
            observer.on_event(&Event::StateChanged {
                at: path.now,
                from: before.name(),
                to: state.name(),
            });
        }
    }
}

impl Controller for Prague {
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        self.window.max_flight_size.on_sent(path.inflight + bytes);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        let before = self.state();
        if self.recovery.on_lost(path.now, packet, self.window) {
            self.on_congestion(false);
            self.settle(path, before, observer);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        let before = self.state();
        let (marked, sent_at) = (self.marked(sample), sample.newest_sent_at);
        self.recovery.on_acked(sent_at);
        let is_marked = !marked.is_zero();
        let is_l4s = self.ect1.was_sent(sent_at);
        self.classic_ecn
            .on_ack(path.now, sample.rtt, is_marked && is_l4s);
        if is_marked && is_l4s {
            self.on_marks(path, sent_at);
        } else if is_marked && self.recovery.on_marked(path.now, sent_at) {
            self.on_congestion(true);
        }
        if path.is_cwnd_limited && !self.recovery.is_active() {
            self.grow(sample.newly_acked - marked, path.srtt);
        }
        let min_round = self.min_round();
        if self.alpha.on_ack(path, sample, marked, min_round) {
            self.on_round();
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
            }
            self.settle(path, before, observer);
        }
    }

    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        let before = self.state();
        self.window.cwnd = self.window.cwnd.min(min_window(self.mss));
        self.window.max_flight_size.on_reduced();
        self.recovery.forget();
        self.settle(path, before, observer);
    }

    fn on_mtu(&mut self, path: &PathState) {
        if self.window.cwnd >= min_window(self.mss) {
            self.window.cwnd = resized_window(self.window.cwnd, self.mss, path.mss);
        }
        self.mss = path.mss;
        self.settle(path, self.state(), &mut ());
    }

    /// What marks have shown belongs to the queue that ECT(1) leads to. alpha is kept for those of
    /// packets that are in flight with it.
    fn on_sends_ect1(&mut self, path: &PathState, sends_ect1: bool) {
        if self.ect1.set(path.now, sends_ect1) {
            self.classic_ecn = ClassicEcn::new(self.tuning.classic_ecn);
            if sends_ect1 {
                self.alpha = Alpha::new(path.now, &self.tuning);
            }
        }
        self.settle(path, self.state(), &mut ());
    }

    fn can_resume(&self) -> bool {
        self.is_in_slow_start() && !self.recovery.is_active()
    }

    fn resume(&mut self, path: &PathState, window: &ResumedWindow, observer: &mut dyn Observer) {
        let before = self.state();
        match *window {
            ResumedWindow::Raised { cwnd } => self.window.cwnd = self.window.cwnd.max(cwnd),
            ResumedWindow::Retreated { cwnd, ssthresh } => {
                self.reduce_to(cwnd, min_window(self.mss));
                self.window.ssthresh = ssthresh.max(self.window.cwnd);
            }
        }
        self.settle(path, before, observer);
    }

    fn wants_ect1(&self) -> bool {
        true
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        let ssthresh = self.window.ssthresh;
        Snapshot {
            pacing_gain: Some(self.pacing_gain()),
            ssthresh: (ssthresh != Bytes::MAX).then_some(ssthresh),
            marked_share: self.alpha.get().filter(|_| self.ect1.is_sent()),
            ..Snapshot::new(SPEC.name, self.state().name(), self.control)
        }
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests;
