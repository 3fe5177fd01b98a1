//! The round-trip time without queues (`bbr_update_min_rtt`, its first half).

use core::time::Duration;
use units::Timestamp;

/// The minimum round-trip time of a window, which is also the interval of ProbeRTT.
#[derive(Debug)]
pub(super) struct MinRtt {
    /// `min_rtt_us`; `None` before the first sample.
    estimate: Option<Duration>,
    /// When `estimate` was measured, or the last ProbeRTT ended: `min_rtt_stamp`.
    measured_at: Timestamp,
}

impl MinRtt {
    /// `srtt` is the estimate to begin with, where a connection has one already.
    pub(super) fn new(now: Timestamp, srtt: Option<Duration>) -> Self {
        Self {
            estimate: srtt,
            measured_at: now,
        }
    }

    /// The estimate; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        self.estimate
    }

    /// An ACK gave the sample `rtt`, or none. Returns whether the estimate was older than `window`
    /// when it came. Where there was no sample, none can be out of date.
    pub(super) fn on_ack(
        &mut self,
        now: Timestamp,
        rtt: Option<Duration>,
        window: Duration,
        equal_refreshes: bool,
    ) -> bool {
        let is_expired = self.estimate.is_some() && now > self.measured_at + window;
        if let Some(rtt) = rtt {
            let is_less = match self.estimate {
                None => true,
                Some(estimate) => rtt < estimate || (equal_refreshes && rtt == estimate),
            };
            if is_less || is_expired {
                self.estimate = Some(rtt);
                self.measured_at = now;
            }
        }
        is_expired
    }

    /// A ProbeRTT has ended; the next is due a window from now.
    pub(super) fn on_probed(&mut self, now: Timestamp) {
        self.measured_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn no_sample_yet_is_not_an_expired_one() {
        let mut min_rtt = MinRtt::new(at(0), None);
        assert!(!min_rtt.on_ack(at(20_000), None, WINDOW, true));
        assert!(!min_rtt.on_ack(at(20_001), Some(ms(30)), WINDOW, true));
        assert_eq!(min_rtt.get(), Some(ms(30)));
    }

    #[test]
    fn an_estimate_lives_for_its_window_and_is_replaced_by_whatever_comes_then() {
        let mut min_rtt = MinRtt::new(at(0), None);
        min_rtt.on_ack(at(0), Some(ms(30)), WINDOW, true);
        assert!(!min_rtt.on_ack(at(10_000), Some(ms(50)), WINDOW, true));
        assert_eq!(min_rtt.get(), Some(ms(30)));
        assert!(min_rtt.on_ack(at(10_001), Some(ms(50)), WINDOW, true));
        assert_eq!(min_rtt.get(), Some(ms(50)));
    }

    #[test]
    fn an_equal_sample_makes_the_estimate_new_where_that_is_wanted() {
        for equal_refreshes in [true, false] {
            let mut min_rtt = MinRtt::new(at(0), None);
            min_rtt.on_ack(at(0), Some(ms(30)), WINDOW, equal_refreshes);
            min_rtt.on_ack(at(5_000), Some(ms(30)), WINDOW, equal_refreshes);
            let is_expired = min_rtt.on_ack(at(10_001), Some(ms(40)), WINDOW, equal_refreshes);
            assert_eq!(is_expired, !equal_refreshes);
        }
    }
}
