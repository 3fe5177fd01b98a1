//! Whether the path has become longer: a step of the RTT that stays.

use super::numbers::{LEAST_TIME, seconds};
use units::Timestamp;

/// A longer route shows as a step from one RTT sample to the next, after which RTTs are level.
///
/// A queue grows packet by packet: not by many times the time between two packets of one flow.
/// What others fill at once drains, and so does what has waited for a radio.
#[derive(Debug, Default)]
pub(super) struct RouteChange {
    /// The newest RTT sample, and when its packet left.
    newest: Option<Sample>,
    step: Option<Step>,
}

/// An RTT that was sampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// When its packet left.
    pub(super) sent_at: Timestamp,
    /// s.
    pub(super) rtt: f64,
}

/// A step, until it is known whether it stays.
#[derive(Debug, Clone, Copy)]
struct Step {
    at: Timestamp,
    /// The first RTT after it, s.
    level: f64,
    /// By how much RTTs may differ from that, s.
    margin: f64,
}

impl RouteChange {
    /// `sample` was taken at `now`, on a path that has `reference` s without a queue and means that
    /// change by `jitter` s. Returns the RTT of a longer path, s, when a step has stayed for as
    /// long as that.
    pub(super) fn on_sample(
        &mut self,
        now: Timestamp,
        sample: Sample,
        reference: f64,
        jitter: f64,
    ) -> Option<f64> {
        let before = self.newest.replace(sample)?;
        if let Some(step) = self.step {
            if (sample.rtt - step.level).abs() > step.margin {
                self.step = None;
            } else if seconds(now.since(step.at)) >= step.level {
                self.step = None;
                return Some(step.level);
            }
        }
        let height = sample.rtt - before.rtt;
        let apart = seconds(sample.sent_at.since(before.sent_at));
        let least = (reference * LEAST_HEIGHT)
            .max(jitter * JITTERS)
            .max(apart * STEEP)
            .max(seconds(LEAST_TIME));
        if height > least {
            self.step = Some(Step {
                at: now,
                level: sample.rtt,
                margin: height * MARGIN,
            });
        }
        None
    }

    /// Whether RTTs are level since a step, so that what is longer may be the path.
    pub(super) fn is_likely(&self) -> bool {
        self.step.is_some()
    }
}

/// Of the RTT without a queue.
const LEAST_HEIGHT: f64 = 0.5;
const JITTERS: f64 = 8.0;
/// s per s: many flows that begin together fill a queue by less.
const STEEP: f64 = 16.0;
/// Of the step's height.
const MARGIN: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of 20 ms, then 1 ms apart those of `after` ms, of packets that left `gap` ms after
    /// each other; what was found and when, ms.
    fn run(gap: u64, after: impl Fn(u64) -> f64) -> Option<(u64, f64)> {
        let mut route = RouteChange::default();
        let mut sent = 0;
        let mut sample = |ms, rtt: f64| {
            let sample = Sample {
                sent_at: Timestamp::from_millis(sent),
                rtt: rtt / 1e3,
            };
            sent += gap;
            route.on_sample(Timestamp::from_millis(ms), sample, 0.02, 0.0)
        };
        for ms in 0..50 {
            assert_eq!(sample(ms, 20.0), None);
        }
        (0..1_000).find_map(|ms| Some((ms, sample(200 + ms, after(ms))?)))
    }

    #[test]
    fn a_step_that_stays_for_a_round_trip_is_a_longer_path() {
        assert_eq!(run(1, |_| 200.0), Some((200, 0.2)));
        let varying = |ms| 200.0 + (ms % 5) as f64;
        assert_eq!(run(1, varying), Some((200, 0.2)));
    }

    #[test]
    fn a_queue_that_grows_or_drains_is_none() {
        assert_eq!(run(1, |ms| 20.0 + 0.9 * ms as f64), None);
        assert_eq!(run(1, |ms| (200.0 - 0.5 * ms as f64).max(20.0)), None);
        assert_eq!(run(1, |ms| 60.0 + 0.9 * ms as f64), None);
        // It has grown while the flow sent nothing.
        assert_eq!(run(20, |_| 200.0), None);
    }
}
