//! Whether a queue stands: one that does not go, because no flow alone can drain it.

use super::numbers::{duration, seconds};
use crate::parts::sliding_min::SlidingMin;
use core::time::Duration;
use units::Timestamp;

/// The recent mean RTT, and the least RTT of a round trip in a minute.
///
/// The reference is restarted where a flow has drained in vain: what is left is others' queue or
/// the path's delay, and the flow cannot tell which. Here it stays a queue for a minute. What is
/// lost beside it is more likely overflow than the path's own loss. Round trips of Startup do not
/// count: they have few packets, and on a path with jitter that keeps packets in order the mean of
/// few is less than that of many.
#[derive(Debug)]
pub(super) struct Standing {
    least: SlidingMin,
    /// s; zero before the first round trip.
    mean: f64,
}

impl Standing {
    pub(super) fn new() -> Self {
        Self {
            least: SlidingMin::new(),
            mean: 0.0,
        }
    }

    /// A round trip after Startup has ended, of mean RTT `rtt` s.
    pub(super) fn on_round(&mut self, now: Timestamp, rtt: f64) {
        self.least.insert(now, duration(rtt), WINDOW);
        if self.mean > 0.0 {
            self.mean += (rtt - self.mean) * SMOOTHING;
        } else {
            self.mean = rtt;
        }
    }

    /// Whether the RTT stays above its least by a sixth, and by four times `jitter`, its mean
    /// change from round trip to round trip in s.
    pub(super) fn is_there(&self, jitter: f64) -> bool {
        self.least.get().is_some_and(|least| {
            let least = seconds(least);
            self.mean - least > (least * LEAST_SHARE).max(jitter * JITTERS)
        })
    }
}

const WINDOW: Duration = Duration::from_secs(60);
const SMOOTHING: f64 = 1.0 / 8.0;
/// A queue of half a BDP that is always full has three times as much.
const LEAST_SHARE: f64 = 1.0 / 6.0;
/// The least of a thousand normally distributed means is 3.2 standard deviations below theirs, and
/// the mean change between two of them is 1.1.
const JITTERS: f64 = 4.0;
