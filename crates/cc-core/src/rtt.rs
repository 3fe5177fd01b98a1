//! Round-trip time estimates (RFC 9002 §5).

use crate::controller::PathState;
use core::time::Duration;
use units::duration::nanos;

/// Makes the averages that a [`PathState`] shows.
///
/// It keeps them in nanoseconds, too: a [`Duration`] is two numbers, which take a product to
/// become one.
#[derive(Debug, Default)]
pub(crate) struct RttEstimator {
    mean: u64,
    deviation: u64,
    /// Zero before the first sample.
    min: u64,
}

impl RttEstimator {
    /// The minimum sample in nanoseconds; zero before the first.
    #[inline]
    pub(crate) fn min(&self) -> u64 {
        self.min
    }

    /// Exponentially weighted averages with 1/8 for the mean and 1/4 for the deviation, rounded
    /// down to a nanosecond.
    #[inline]
    pub(crate) fn on_sample(&mut self, rtt: Duration, path: &mut PathState) {
        let sample = nanos(rtt).min(MAX_SAMPLE);
        let is_first = path.latest_rtt.is_none();
        if is_first {
            (self.mean, self.deviation) = (sample, sample / 2);
        } else {
            self.deviation = (self.deviation * 3 + self.mean.abs_diff(sample)) / 4;
            self.mean = (self.mean * 7 + sample) / 8;
        }
        if is_first || sample < self.min {
            self.min = sample;
            path.min_rtt = Some(rtt);
        }
        path.latest_rtt = Some(rtt);
        path.srtt = Some(Duration::from_nanos(self.mean));
        path.rttvar = Some(Duration::from_nanos(self.deviation));
    }
}

/// 73 years, so that eight of them fit 64 bits.
const MAX_SAMPLE: u64 = u64::MAX / 8;

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Timestamp};

    const MS: Duration = Duration::from_millis(1);

    fn after(millis: &[u32]) -> PathState {
        let samples = millis.iter().map(|millis| MS * *millis);
        after_all(samples)
    }

    fn after_all(samples: impl Iterator<Item = Duration>) -> PathState {
        let mut path = PathState::new(Timestamp::ZERO, Bytes::new(1_200));
        let mut estimator = RttEstimator::default();
        samples.for_each(|rtt| estimator.on_sample(rtt, &mut path));
        path
    }

    #[test]
    fn the_first_sample_is_the_mean_and_half_of_it_the_deviation() {
        let first = after(&[80]);
        assert_eq!(first.srtt.zip(first.rttvar), Some((MS * 80, MS * 40)));
        assert_eq!(
            first.latest_rtt.zip(first.min_rtt),
            Some((MS * 80, MS * 80))
        );
    }

    #[test]
    fn later_samples_move_the_mean_by_an_eighth_and_the_deviation_by_a_quarter() {
        let second = after(&[80, 160]);
        assert_eq!(second.srtt, Some(MS * 90));
        // Of the distance from the mean before this sample: (3 · 40 + 80) ÷ 4.
        assert_eq!(second.rttvar, Some(MS * 50));
        assert_eq!(
            second.latest_rtt.zip(second.min_rtt),
            Some((MS * 160, MS * 80))
        );
    }

    #[test]
    fn averages_round_down_to_a_nanosecond() {
        let less = MS * 80 - Duration::from_nanos(1);
        let path = after_all([MS * 80, less].into_iter());
        assert_eq!(path.srtt, Some(less));
        assert_eq!(path.rttvar, Some(MS * 30));
    }

    #[test]
    fn the_least_is_the_least_of_all() {
        assert_eq!(after(&[80, 20, 90]).min_rtt, Some(MS * 20));
    }

    #[test]
    fn the_longest_time_is_only_a_number() {
        let path = after_all([MS * 80].into_iter().chain([Duration::MAX; 100]));
        assert!(path.srtt > Some(Duration::from_secs(1 << 31)));
    }
}
