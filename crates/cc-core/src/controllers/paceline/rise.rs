//! An RTT that rises within a round trip: the bottleneck's rate has fallen.

use super::numbers::{LEAST_TIME, seconds};
use core::time::Duration;
use units::Timestamp;

/// The RTT against the mean of the round trip before.
///
/// A rate that falls to a tenth lengthens the RTT by 0.9 s per second from the first packet on that
/// it delays, and the round trip by as much: to wait for its end is to fill the queue until then.
#[derive(Debug, Default)]
pub(super) struct Rise {
    /// Since when each RTT is a quarter above the mean, and the first of them, s.
    began: Option<(Timestamp, f64)>,
    is_under_way: bool,
    /// Since when each RTT is twice the mean.
    doubled_since: Option<Timestamp>,
}

impl Rise {
    /// An RTT of `rtt` was sampled, after a round trip of mean RTT `last` s, on a path that has
    /// `reference` without a queue. Returns whether each RTT has been twice the mean for as long.
    pub(super) fn on_rtt(
        &mut self,
        now: Timestamp,
        rtt: Duration,
        last: f64,
        reference: Duration,
    ) -> bool {
        let rtt = seconds(rtt);
        if last <= 0.0 || rtt < last * HIGHER {
            *self = Self::default();
            return false;
        }
        let (since, first) = *self.began.get_or_insert((now, rtt));
        let time = now.since(since);
        self.is_under_way = time >= reference / 8 && rtt - first > seconds(time) * LEAST_GROWTH;
        if rtt < last * 2.0 {
            self.doubled_since = None;
            return false;
        }
        let since = *self.doubled_since.get_or_insert(now);
        now.since(since) >= reference.max(LEAST_TIME)
    }

    /// Whether the RTT is higher and rises by a third of a second per second at least.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// A round trip has ended, and so there is another mean.
    pub(super) fn restart(&mut self) {
        self.doubled_since = None;
    }
}

/// Of the mean.
const HIGHER: f64 = 1.25;
/// What has waited for a radio that was silent comes with RTTs that fall. s per s.
const LEAST_GROWTH: f64 = 1.0 / 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Duration = Duration::from_millis(100);

    /// The RTT at each millisecond after a step to `first` ms, rising by `growth` ms each.
    fn run(first: f64, growth: f64, samples: u64) -> (Rise, Option<u64>) {
        let mut rise = Rise::default();
        let ends_at = (0..samples).find(|&ms| {
            let rtt = Duration::from_secs_f64((first + growth * ms as f64) / 1e3);
            rise.on_rtt(Timestamp::from_millis(ms), rtt, 0.1, REFERENCE)
        });
        (rise, ends_at)
    }

    #[test]
    fn a_rate_that_fell_to_a_tenth_shows_within_half_a_round_trip_and_doubles_the_rtt_for_one() {
        let (rise, ends_at) = run(100.0, 0.9, 45);
        assert!(rise.is_under_way());
        assert_eq!(ends_at, None);
        assert_eq!(run(100.0, 0.9, 300).1, Some(112 + 100));
    }

    #[test]
    fn rtts_that_are_longer_and_level_or_falling_are_no_rise() {
        assert!(!run(190.0, 0.0, 100).0.is_under_way());
        assert!(!run(190.0, -0.5, 100).0.is_under_way());
        assert!(!run(101.0, 0.2, 100).0.is_under_way());
    }
}
