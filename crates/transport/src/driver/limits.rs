//! What a connection's time goes by waiting for.

use crate::stats::LimitedBy;
use units::Timestamp;

/// What keeps a connection from sending more.
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
    /// This machine has not come to it yet.
    Host,
}

/// Adds up time by its limiter: every moment belongs to the one that was found last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    sums: LimitedBy,
    limiter: Limiter,
    since: Timestamp,
}

impl Limits {
    /// Nobody has looked yet: the host's doing.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            sums: LimitedBy::default(),
            limiter: Limiter::Host,
            since: now,
        }
    }

    /// From `now` on it is `limiter`.
    pub(super) fn set(&mut self, now: Timestamp, limiter: Limiter) {
        if limiter == self.limiter {
            return;
        }
        self.sums = self.until(now);
        self.since = self.since.max(now);
        self.limiter = limiter;
    }

    /// The sums at `now`.
    pub(super) fn until(&self, now: Timestamp) -> LimitedBy {
        let mut sums = self.sums;
        let sum = match self.limiter {
            Limiter::Application => &mut sums.application,
            Limiter::CongestionWindow => &mut sums.congestion_window,
            Limiter::Pacing => &mut sums.pacing,
            Limiter::FlowControl => &mut sums.flow_control,
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
    fn a_time_that_goes_back_counts_nothing_twice() {
        let at = Timestamp::from_millis;
        let mut limits = Limits::new(at(10));
        limits.set(at(20), Limiter::Pacing);
        limits.set(at(15), Limiter::Application);
        assert_eq!(limits.until(at(30)).total(), Duration::from_millis(20));
    }
}
