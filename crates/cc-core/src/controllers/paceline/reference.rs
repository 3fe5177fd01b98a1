//! The RTT without a queue, and how much it varies by itself.

use super::numbers::{duration, seconds};
use crate::parts::sliding_min::SlidingMin;
use core::time::Duration;
use units::Timestamp;

/// The least *mean* RTT of a round trip in ten seconds, and the mean change from one round trip to
/// the next.
///
/// A mean has the path's jitter in it, so jitter is not taken for a queue, as it would be beside a
/// minimum of single samples.
#[derive(Debug)]
pub(super) struct Reference {
    least: SlidingMin,
    /// Until the first round trip has ended, s.
    first: f64,
    /// Mean change of the mean RTT between round trips, s.
    jitter: f64,
    /// Mean change of the delivery rate between round trips, as a share of the estimate.
    rate_jitter: f64,
}

impl Reference {
    pub(super) fn new(first: f64) -> Self {
        Self {
            least: SlidingMin::new(),
            first,
            jitter: 0.0,
            rate_jitter: 0.0,
        }
    }

    /// The first sample stands in until a round trip has ended.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        if self.least.get().is_none() {
            self.first = seconds(rtt);
        }
    }

    /// A round trip of mean RTT `rtt` has ended.
    pub(super) fn on_round(&mut self, now: Timestamp, rtt: f64) {
        self.least.insert(now, duration(rtt), WINDOW);
    }

    /// By how much the mean RTT and the delivery rate changed between two round trips in which the
    /// flow did not send more than the estimate.
    pub(super) fn on_change(&mut self, rtt: f64, rate: f64) {
        self.jitter += (rtt - self.jitter) * SMOOTHING;
        self.rate_jitter += (rate - self.rate_jitter) * SMOOTHING;
    }

    /// What showed as a queue is not ours to drain: it is the path.
    pub(super) fn restart(&mut self, now: Timestamp, rtt: f64) {
        self.least = SlidingMin::new();
        self.on_round(now, rtt);
    }

    /// s.
    pub(super) fn get(&self) -> f64 {
        self.least.get().map_or(self.first, seconds)
    }

    /// s.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }

    pub(super) fn rate_jitter(&self) -> f64 {
        self.rate_jitter
    }

    /// By how much the mean RTT of a round trip may exceed the reference without a queue, s:
    /// a sixteenth of it, two packets, a burst of the flow's own, or twice the jitter, whichever is
    /// most.
    pub(super) fn tolerance(&self, packet_time: f64, burst_wait: f64) -> f64 {
        (self.get() / 16.0)
            .max(2.0 * packet_time)
            .max(burst_wait)
            .max(2.0 * self.jitter)
            .max(LEAST_TOLERANCE)
    }
}

/// As long as BBR's min_rtt filter (draft-ietf-ccwg-bbr-06 §5.5.7).
const WINDOW: Duration = Duration::from_secs(10);
const SMOOTHING: f64 = 1.0 / 8.0;
/// Below a tenth of a millisecond hosts vary by more than paths.
const LEAST_TOLERANCE: f64 = 0.000_1;
