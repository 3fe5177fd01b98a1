//! The decision in force: pacing rate, window and burst size.

use super::bandwidth::{Estimate, from_f64};
use super::cycle::Phase;
use super::numbers::to_f64;
use super::startup::Startup;
use super::state::{AGGREGATION_PERIODS, Paceline};
use crate::control::Control;
use crate::controller::{PathState, ResumedWindow, Setup};
use crate::params::Params;
use units::Bytes;

impl Paceline {
    /// A flow with its first decision.
    pub(super) fn decided(params: &Params, setup: &Setup) -> Self {
        let mut paceline = Self::new(params, setup);
        paceline.decide();
        paceline
    }

    /// The factor on the estimate that this phase sends.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.cycle.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::Cruise if self.is_app_limited() => LIMITED_GAIN,
            Phase::Cruise => self.trim_factor,
            Phase::Up => 1.0 + self.probe.step,
            Phase::Down if self.ambient.is_at_half() => DRAIN_GAIN,
            Phase::Down => (1.0 - self.probe.step).clamp(DRAIN_GAIN, MOST_DOWN_GAIN),
        }
    }

    /// Whether the application had less to send than the estimate in the last round trip, and
    /// no queue is to drain. No Up would tell more than what the application sends.
    fn is_app_limited(&self) -> bool {
        self.rounds.last().is_limited && self.trim_factor >= 1.0
    }

    /// What is lost at random is sent again, so more has to leave for the estimate to arrive. Not
    /// while a queue is to drain, and not in Down, where loss is measured.
    fn loss_gain(&self) -> f64 {
        let is_plain = match self.cycle.phase {
            Phase::Cruise => self.trim_factor >= 1.0,
            Phase::Up => true,
            Phase::Startup | Phase::Drain | Phase::Down => false,
        };
        if is_plain {
            1.0 / (1.0 - self.ambient_loss())
        } else {
            1.0
        }
    }

    /// A packet per round trip, B/s, as round trips are counted here: less tells nothing within
    /// one. A queue makes round trips longer, so where the buffer is long any number of flows fits.
    fn least_rate(&self) -> f64 {
        let time = self.round_time().max(self.rounds.last().rtt);
        (to_f64(self.mss) / time).max(1.0)
    }

    /// The decision from all that is known.
    pub(super) fn decide(&mut self) {
        let estimate = self.estimate.get();
        let rate = if estimate > 0.0 {
            estimate * self.pacing_gain() * self.loss_gain() * PACING_MARGIN
        } else {
            to_f64(self.cwnd) / self.reference.get() * STARTUP_GAIN
        };
        let mut pacing_rate = from_f64(rate.max(self.least_rate()));
        if self.cycle.phase == Phase::Startup {
            pacing_rate = pacing_rate.max(self.control.pacing_rate);
        }
        self.control = Control {
            cwnd: self.cwnd,
            pacing_rate,
            send_quantum: self.quantum(pacing_rate),
        };
    }

    /// Goes on at the rate that the path has shown, which is the window in a round trip. The
    /// estimate follows from what is delivered of it. What the jump delivered says nothing after a
    /// Safe Retreat (RFC 9959 appendix C.3), beside which the growth from half of PipeSize would be
    /// none: Startup begins anew.
    pub(super) fn resume_from(&mut self, path: &PathState, window: &ResumedWindow) {
        let cwnd = window.cwnd();
        let rate = window.per_round_trip(path);
        if let ResumedWindow::Raised { .. } = window {
            self.cwnd = self.cwnd.max(cwnd);
            self.control.pacing_rate = self.control.pacing_rate.max(rate);
        } else {
            self.cwnd = self.cwnd.min(cwnd).max(self.mss * LEAST_PACKETS);
            self.control.pacing_rate = rate;
            if self.cycle.phase == Phase::Startup {
                self.estimate = Estimate::new();
                self.startup = Startup::default();
            }
        }
        self.decide();
    }

    /// Twice what the path holds at the estimate, less while the RTT rises, and what comes in one
    /// aggregated ACK.
    fn target_cwnd(&self) -> Bytes {
        let estimate = self.estimate.get();
        if estimate <= 0.0 {
            return self.cwnd;
        }
        let gain = match self.cycle.phase {
            Phase::Startup => STARTUP_GAIN,
            _ if self.rounds.is_rising() && self.tuning.hold => RISING_GAIN,
            _ => CWND_GAIN,
        };
        let bdp = Bytes::new((estimate * self.reference.get() * gain) as u64);
        bdp.saturating_add(self.aggregation.extra_acked(AGGREGATION_PERIODS as u64))
            .saturating_add(self.control.send_quantum * QUANTA)
    }

    /// `acked` bytes were acknowledged.
    pub(super) fn update_cwnd(&mut self, acked: Bytes) {
        let target = self.target_cwnd();
        let grown = self.cwnd.saturating_add(acked);
        self.cwnd = match self.cycle.phase {
            Phase::Startup if self.cwnd < target => grown,
            Phase::Startup => self.cwnd,
            _ => grown.min(target),
        };
        self.cwnd = self.cwnd.max(self.mss * LEAST_PACKETS);
        self.is_recovering &= self.cwnd < target;
    }
}

/// As BBR's in Startup, in which the rate doubles each round trip (draft-ietf-ccwg-bbr-06
/// §5.1.1).
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
/// A Down at least a tenth below the estimate is below what the path delivers to the flow.
const MOST_DOWN_GAIN: f64 = 0.9;
/// BBR.PacingMarginPercent: below the estimate, so that queues drain (draft-ietf-ccwg-bbr-06
/// §5.6.2).
pub(super) const PACING_MARGIN: f64 = 0.99;
/// What an application-limited flow has to send leaves as fast as in BBR's ProbeBW_UP
/// (draft-ietf-ccwg-bbr-06 §5.3.3.4), so that its bursts show more than the estimate, and an
/// application that sends more is not held at it.
const LIMITED_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.0;
/// A flow that cruises has a BDP in flight. While the RTT rises it sends no more than what arrives:
/// the rest would wait, and all of it is to drain later.
const RISING_GAIN: f64 = 1.0;
/// A burst at the sender, one on its way, one at the receiver (draft-ietf-ccwg-bbr-06 §5.6.4.2).
const QUANTA: u64 = 3;
/// BBRMinPipeCwnd (draft-ietf-ccwg-bbr-06 §2.7).
pub(super) const LEAST_PACKETS: u64 = 4;
