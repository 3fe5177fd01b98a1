//! Distributions of times in buckets whose width grows with the time.

use std::time::Duration;
use units::duration;
use units::histogram::{Buckets, index_of_rank};

/// How often which round-trip time was measured, in 160 buckets: eight to each factor of two, from
/// 16 µs to 16 s.
///
/// What is shorter or longer counts in the first or last bucket. A quantile is at most an eighth
/// too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttHistogram {
    /// Counts stay at their maximum rather than wrap, which takes a week at 7,000 a second.
    counts: [u32; BUCKETS],
}

impl RttHistogram {
    pub(crate) fn record(&mut self, rtt: Duration) {
        let bucket = Eighths::index(duration::nanos(rtt)).saturating_sub(FIRST);
        let count = &mut self.counts[bucket.min(BUCKETS - 1)];
        *count = count.saturating_add(1);
    }

    /// How many round-trip times were measured.
    pub fn count(&self) -> u64 {
        self.counts.iter().copied().map(u64::from).sum()
    }

    /// The round-trip time that `percent` of the measurements did not exceed, rounded up to its
    /// bucket's end; `None` without any. More than 100 is as 100.
    pub fn quantile(&self, percent: u64) -> Option<Duration> {
        let counts = self.counts.iter().copied().map(u64::from);
        quantile(counts, percent).map(Self::end)
    }

    /// The buckets that are not empty: the time at which each ends, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u32)> + '_ {
        let counts = self.counts.iter().copied().enumerate();
        counts
            .filter(|(_, count)| *count > 0)
            .map(|(bucket, count)| (Self::end(bucket), count))
    }

    fn end(bucket: usize) -> Duration {
        end::<3>(FIRST + bucket)
    }
}

/// The buckets that are not empty, each as the seconds at which it ends and its count.
#[cfg(feature = "serde")]
impl serde::Serialize for RttHistogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.buckets();
        serializer.collect_seq(buckets.map(|(end, count)| (end.as_secs_f64(), count)))
    }
}

impl Default for RttHistogram {
    fn default() -> Self {
        Self {
            counts: [0; BUCKETS],
        }
    }
}

/// The least time that is longer than all of a bucket's.
pub(crate) fn end<const SUB_BITS: u32>(bucket: usize) -> Duration {
    Duration::from_nanos(Buckets::<SUB_BITS>::highest(bucket).saturating_add(1))
}

/// The first bucket with which the counts reach `percent` of their sum; `None` if that is zero.
pub(crate) fn quantile(counts: impl Iterator<Item = u64> + Clone, percent: u64) -> Option<usize> {
    let total: u64 = counts.clone().sum();
    let rank = (total * percent.min(100)).div_ceil(100).max(1);
    index_of_rank(counts, rank)
}

type Eighths = Buckets<3>;

/// The bucket at which an array of counts begins: that of 2¹⁴ ns.
const FIRST: usize = Eighths::index(1 << 14);
/// Twenty octaves.
const BUCKETS: usize = 20 << 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_an_eighth() {
        let mut histogram = RttHistogram::default();
        assert_eq!(histogram.quantile(50), None);
        for millis in 1..=1_000 {
            histogram.record(Duration::from_millis(millis));
        }
        assert_eq!(histogram.count(), 1_000);
        for (percent, millis) in [(0, 1), (1, 10), (50, 500), (99, 990), (100, 1_000)] {
            let exact = Duration::from_millis(millis);
            let quantile = histogram.quantile(percent).unwrap();
            assert!(
                quantile > exact && quantile <= exact * 9 / 8,
                "{percent} % is {quantile:?}, not {exact:?}"
            );
        }
        assert_eq!(histogram.quantile(1_000), histogram.quantile(100));
    }

    #[test]
    fn times_beyond_its_range_count_at_its_ends() {
        let mut histogram = RttHistogram::default();
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        let buckets: Vec<_> = histogram.buckets().collect();
        let first = Duration::from_nanos((16 + 2) << 10);
        let last = Duration::from_nanos(1 << 34);
        assert_eq!(buckets, [(first, 1), (last, 1)]);
    }
}
