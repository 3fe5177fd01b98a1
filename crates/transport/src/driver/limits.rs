//! What limits a connection's sending, by time.

use crate::stats::LimitedBy;
use std::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limiter {
    /// There is nothing to send.
    Application,
    /// The window is full.
    CongestionWindow,
    /// The pacer has no tokens.
    Pacing,
    /// A write waits for the peer's credit or for the own send buffer.
    FlowControl,
    /// The pacer has no tokens, but it only spreads what flow control allows.
    SpentCredit,
    /// This machine has not come to it yet.
    Host,
}

/// Adds up time by its limiter: each interval belongs to the limiter found before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    sums: LimitedBy,
    limiter: Limiter,
    since: Timestamp,
    /// When flow control last let nothing leave.
    exhausted_at: Option<Timestamp>,
}

impl Limits {
    /// Not yet known: counts as the host.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            sums: LimitedBy::default(),
            limiter: Limiter::Host,
            since: now,
            exhausted_at: None,
        }
    }

    /// From `now` on the pacer has no tokens, on a path of this round-trip time.
    ///
    /// Where flow control has run out within the last round trip, pacing only spreads over the
    /// round trip what flow control allows in it. Without a pacer the same would be sent, only
    /// earlier, and with more credit more: the time is flow control's.
    pub(super) fn set_pacing(&mut self, now: Timestamp, rtt: Duration) {
        let is_spread = self.limiter == Limiter::FlowControl
            || self.exhausted_at.is_some_and(|at| now < at + rtt);
        let limiter = if is_spread {
            Limiter::SpentCredit
        } else {
            Limiter::Pacing
        };
        self.set(now, limiter);
    }

    /// From `now` on it is `limiter`.
    pub(super) fn set(&mut self, now: Timestamp, limiter: Limiter) {
        if limiter == self.limiter {
            return;
        }
        if self.limiter == Limiter::FlowControl {
            self.exhausted_at = Some(now);
        }
        self.sums = self.until(now);
        self.since = self.since.max(now);
        self.limiter = limiter;
    }

    /// From `now` on it is flow control, if it was the host until now: the send window has grown,
    /// and nobody could write more.
    pub(super) fn on_failed_trial(&mut self, now: Timestamp) {
        if self.limiter == Limiter::Host {
            self.set(now, Limiter::FlowControl);
        }
    }

    /// The sums at `now`.
    pub(super) fn until(&self, now: Timestamp) -> LimitedBy {
        let mut sums = self.sums;
        let sum = match self.limiter {
            Limiter::Application => &mut sums.application,
            Limiter::CongestionWindow => &mut sums.congestion_window,
            Limiter::Pacing => &mut sums.pacing,
            Limiter::FlowControl | Limiter::SpentCredit => &mut sums.flow_control,
            Limiter::Host => &mut sums.host,
        };
        *sum += now.since(self.since);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_moment_belongs_to_one_limiter() {
        let at = Timestamp::from_millis;
        let mut limits = Limits::new(at(10));
        limits.set(at(12), Limiter::Pacing);
        limits.set(at(15), Limiter::Pacing);
        limits.set(at(20), Limiter::Application);
        let sums = limits.until(at(100));
        assert_eq!(sums.host, Duration::from_millis(2));
        assert_eq!(sums.pacing, Duration::from_millis(8));
        assert_eq!(sums.application, Duration::from_millis(80));
        assert_eq!(sums.total(), Duration::from_millis(90));
    }

    #[test]
    fn pacing_within_a_round_trip_of_flow_control_is_flow_controls() {
        let at = Timestamp::from_millis;
        let rtt = Duration::from_millis(100);
        let mut limits = Limits::new(at(0));
        limits.set_pacing(at(0), rtt);
        limits.set(at(30), Limiter::FlowControl);
        limits.set(at(100), Limiter::Host);
        for millis in (100..150).step_by(10) {
            limits.set_pacing(at(millis), rtt);
            limits.set(at(millis + 10), Limiter::Host);
        }
        let sums = limits.until(at(150));
        assert_eq!(sums.pacing, Duration::from_millis(30));
        assert_eq!(sums.flow_control, Duration::from_millis(120));

        limits.set(at(150), Limiter::FlowControl);
        limits.set_pacing(at(160), rtt);
        limits.set_pacing(at(260), rtt);
        let sums = limits.until(at(290));
        assert_eq!(
            sums.pacing,
            Duration::from_millis(60),
            "a round trip is over"
        );
        assert_eq!(sums.flow_control, Duration::from_millis(230));
    }

    #[test]
    fn a_larger_send_window_that_helps_nobody_leaves_flow_control_as_the_limit() {
        let at = Timestamp::from_millis;
        let mut limits = Limits::new(at(0));
        limits.on_failed_trial(at(10));
        limits.set(at(30), Limiter::Application);
        limits.on_failed_trial(at(40));
        let sums = limits.until(at(100));
        assert_eq!(sums.host, Duration::from_millis(10));
        assert_eq!(sums.flow_control, Duration::from_millis(20));
        assert_eq!(sums.application, Duration::from_millis(70));
    }

    #[test]
    fn a_time_that_goes_back_counts_nothing_twice() {
        let at = Timestamp::from_millis;
        let mut limits = Limits::new(at(10));
        limits.set(at(20), Limiter::Pacing);
        limits.set(at(15), Limiter::Application);
        assert_eq!(limits.until(at(30)).total(), Duration::from_millis(20));
    }
}
