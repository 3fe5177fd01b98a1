use super::rtt_report::RttReport;
use bench_report::distribution::Distribution;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What became of a video's frames at its receiver.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameReport {
    /// Frames that count: those made in the measured part that had the time to arrive.
    pub judged: u64,
    /// Of these, those that came completely before they were given up.
    pub complete: u64,
    /// Of the complete ones, those that took longer than `late_after`.
    pub late: u64,
    pub late_after: Duration,
    /// From making a frame to the arrival of its last datagram, of the complete ones; `base` is the
    /// least.
    pub latency: Option<RttReport>,
    /// All latencies in a few points.
    #[serde(default)]
    pub distribution: Distribution,
    /// The longest time without a complete frame.
    pub freeze: Duration,
    /// Whether both sides read one clock; else latencies are estimates.
    pub is_clock_shared: bool,
}

impl FrameReport {
    /// A report of `judged` frames of which those with these latencies are complete.
    pub fn new(judged: u64, mut latencies: Vec<Duration>, late_after: Duration) -> Self {
        latencies.sort_unstable();
        let late = latencies.iter().filter(|latency| **latency > late_after);
        let total = latencies.len() as u64;
        Self {
            judged,
            complete: total,
            late: late.count() as u64,
            late_after,
            latency: quantiles(&latencies),
            distribution: Distribution::new(latencies.iter().map(|time| (*time, 1)), total),
            ..Self::default()
        }
    }

    /// The frames of two videos.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            judged: self.judged.saturating_add(other.judged),
            complete: self.complete.saturating_add(other.complete),
            late: self.late.saturating_add(other.late),
            late_after: self.late_after.max(other.late_after),
            latency: match (self.latency, other.latency) {
                (Some(own), Some(others)) => Some(RttReport::of_both(
                    (own, &self.distribution),
                    (others, &other.distribution),
                )),
                (own, others) => own.or(others),
            },
            distribution: self.distribution.plus(&other.distribution),
            freeze: self.freeze.max(other.freeze),
            is_clock_shared: self.is_clock_shared && other.is_clock_shared,
        }
    }

    /// # Errors
    /// When it has more frames than there were, or latencies out of order or longer than any run.
    pub(super) fn check(&self) -> Result<(), String> {
        let (judged, complete, late) = (self.judged, self.complete, self.late);
        if judged > MAX_JUDGED || complete > judged || late > complete {
            return Err(format!(
                "{late} late frames of {complete} complete ones of {judged}"
            ));
        }
        if self.latency.is_some() != (complete > 0) {
            return Err(format!(
                "no latency of {complete} complete frames, or one of none"
            ));
        }
        let times = self.latency.iter().flat_map(|latency| {
            [
                latency.min,
                latency.p50,
                latency.p95,
                latency.p99,
                latency.max,
            ]
        });
        let times: Vec<Duration> = times.collect();
        if !times.is_sorted() {
            return Err("quantiles of frame latencies out of order".to_owned());
        }
        let longest = times
            .into_iter()
            .chain([self.freeze, self.late_after])
            .max();
        let mean = self.latency.map(|latency| latency.mean.max(latency.base));
        match longest.max(mean) {
            Some(longest) if longest > LONGEST => {
                Err(format!("a time of frames of {} s", longest.as_secs()))
            }
            _ => Ok(()),
        }
    }
}

/// Frames of which it is known what has become of them, each when it was found out. Those that are
/// neither complete nor lost are still on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameTally {
    /// Those that came completely before they were given up.
    pub complete: u64,
    /// Of the complete ones, those that took longer than they may.
    pub late: u64,
    /// Those that were given up.
    pub lost: u64,
}

impl FrameTally {
    /// What was found out since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            complete: self.complete.saturating_sub(before.complete),
            late: self.late.saturating_sub(before.late),
            lost: self.lost.saturating_sub(before.lost),
        }
    }

    /// The stretch after this one, or another video, added to it.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            complete: self.complete.saturating_add(next.complete),
            late: self.late.saturating_add(next.late),
            lost: self.lost.saturating_add(next.lost),
        }
    }
}

/// The quantiles of sorted times; each is one of them.
fn quantiles(times: &[Duration]) -> Option<RttReport> {
    let (min, max) = (*times.first()?, *times.last()?);
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    let sum: Duration = times.iter().sum();
    let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
    Some(RttReport {
        min,
        p50: at(50),
        p95: at(95),
        p99: at(99),
        max,
        mean: sum / count,
        base: min,
        samples: times.len() as u64,
    })
}

/// More than a run has: 128 connections of a third of a million.
const MAX_JUDGED: u64 = 1 << 32;

/// A century, as for all times of a report.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn report(millis: impl IntoIterator<Item = u64>, judged: u64) -> FrameReport {
        let latencies = millis.into_iter().map(Duration::from_millis).collect();
        FrameReport::new(judged, latencies, Duration::from_millis(100))
    }

    #[test]
    fn quantiles_are_the_least_that_so_many_do_not_exceed() {
        let report = report((1..=200).rev(), 210);
        assert_eq!((report.complete, report.late), (200, 100));
        let latency = report.latency.unwrap();
        let reported = [latency.p50, latency.p95, latency.p99, latency.max];
        assert_eq!(reported.map(|time| time.as_millis()), [100, 190, 198, 200]);
        assert_eq!(report.check(), Ok(()));
    }

    #[test]
    fn two_videos_are_one() {
        let both = report(1..=100, 100).plus(&report(101..=200, 110));
        assert_eq!((both.judged, both.complete, both.late), (210, 200, 100));
        let p95 = both.latency.unwrap().p95;
        assert!(
            p95.abs_diff(Duration::from_millis(190)) < Duration::from_millis(2),
            "{p95:?}"
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |change: fn(&mut FrameReport)| {
            let mut report = report(1..=3, 4);
            change(&mut report);
            report.check().unwrap_err()
        };
        assert_eq!(
            refused(|report| report.judged = 2),
            "0 late frames of 3 complete ones of 2"
        );
        let late = refused(|report| report.late = 4);
        assert_eq!(late, "4 late frames of 3 complete ones of 4");
        refused(|report| report.judged = u64::MAX);
        refused(|report| report.latency = None);
        refused(|report| report.freeze = Duration::MAX);
        refused(|report| report.late_after = Duration::MAX);
        for quantile in [
            (|latency: &mut RttReport| latency.p95 = Duration::ZERO) as fn(&mut RttReport),
            |latency| latency.mean = Duration::MAX,
            |latency| latency.max = Duration::MAX,
        ] {
            let mut report = report(1..=3, 4);
            quantile(report.latency.as_mut().unwrap());
            report.check().unwrap_err();
        }
    }

    #[test]
    fn samples_of_other_versions_are_taken() {
        let json = |sample: &Sample| serde_json::to_value(sample).unwrap();
        // One from before frames were counted has nothing of them, and so does one without a video.
        let without = Sample::default();
        let older = json(&without);
        assert!(
            older
                .as_object()
                .unwrap()
                .keys()
                .all(|key| !key.contains("frame"))
        );
        assert_eq!(serde_json::from_value::<Sample>(older).unwrap(), without);
        let with = Sample {
            frames_sent: Some(3),
            frames: Some(FrameTally::default()),
            ..without
        };
        // What a later version adds is no error to this one.
        let mut later = json(&with);
        later["counted_later"] = 1.into();
        later["frames"]["counted_later"] = 1.into();
        assert_eq!(serde_json::from_value::<Sample>(later).unwrap(), with);
    }

    #[test]
    fn frames_add_up_over_time() {
        let tally = FrameTally {
            complete: 3,
            late: 2,
            lost: 1,
        };
        let mut sum = Sample::default();
        for _ in 0..2 {
            sum.extend(&Sample {
                frames_sent: Some(4),
                frames: Some(tally),
                ..Sample::default()
            });
        }
        assert_eq!(
            (sum.frames_sent, sum.frames),
            (Some(8), Some(tally.then(tally)))
        );
    }
}
