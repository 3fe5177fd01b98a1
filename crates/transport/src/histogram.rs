//! Distributions of times in buckets whose width grows with the time.

use std::iter::repeat_n;
use std::time::Duration;
use units::duration;
use units::histogram::{Buckets, index_of_rank};

/// How often which round-trip time was measured, in 160 buckets: eight to each factor of two, from
/// 16 µs to 16 s.
///
/// What is shorter or longer counts in the first or last bucket. A quantile is at most an eighth
/// too large.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, server) = connected().await?;
/// let rtts = client.stats().rtt_histogram;
/// if let (Some(median), Some(p99)) = (rtts.quantile(50), rtts.quantile(99)) {
///     println!("{} samples, median {median:?}, p99 {p99:?}", rtts.count());
///     assert!(median <= p99);
/// }
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttHistogram {
    /// Counts stay at their maximum rather than wrap, which takes a week at 7,000 a second.
    counts: [u32; BUCKETS],
}

impl RttHistogram {
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

    /// What has come to it since `before`; all of it where that is of another path, whose counts
    /// are not in it.
    #[cfg(feature = "metrics")]
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut pairs = self.counts.iter().zip(&before.counts);
        if pairs.any(|(now, then)| now < then) {
            return *self;
        }
        let new = |bucket: usize| self.counts[bucket] - before.counts[bucket];
        Self {
            counts: std::array::from_fn(new),
        }
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
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

/// The counts of an [`RttHistogram`] while they are made: of the buckets from the shortest to the
/// longest time that was measured, which on most paths are few.
#[derive(Debug, Default)]
pub(crate) struct RttCounts {
    /// The bucket that the first count is of.
    first: usize,
    counts: Vec<u32>,
}

impl RttCounts {
    pub(crate) fn record(&mut self, rtt: Duration) {
        let bucket = Eighths::index(duration::nanos(rtt)).saturating_sub(FIRST);
        let bucket = bucket.min(BUCKETS - 1);
        let end = self.first + self.counts.len();
        if !(self.first..end).contains(&bucket) {
            self.extend_to(bucket);
        }
        let count = &mut self.counts[bucket - self.first];
        *count = count.saturating_add(1);
    }

    /// All buckets, those included that nothing was measured in.
    pub(crate) fn histogram(&self) -> RttHistogram {
        let mut histogram = RttHistogram::default();
        histogram.counts[self.first..][..self.counts.len()].copy_from_slice(&self.counts);
        histogram
    }

    /// Adds empty buckets in front or behind, up to this one.
    #[cold]
    fn extend_to(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        let missing = self.first.saturating_sub(bucket);
        self.counts.splice(..0, repeat_n(0, missing));
        self.first -= missing;
        let len = self.counts.len().max(bucket + 1 - self.first);
        self.counts.resize(len, 0);
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
    use units::Rng;

    #[test]
    fn quantiles_are_exact_to_an_eighth() {
        let mut counts = RttCounts::default();
        assert_eq!(counts.histogram().quantile(50), None);
        for millis in 1..=1_000 {
            counts.record(Duration::from_millis(millis));
        }
        let histogram = counts.histogram();
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
        let mut counts = RttCounts::default();
        counts.record(Duration::ZERO);
        counts.record(Duration::MAX);
        let buckets: Vec<_> = counts.histogram().buckets().collect();
        let first = Duration::from_nanos((16 + 2) << 10);
        let last = Duration::from_nanos(1 << 34);
        assert_eq!(buckets, [(first, 1), (last, 1)]);
    }

    #[test]
    fn counts_take_memory_for_the_times_that_were_measured() {
        let mut rng = Rng::new(3);
        for _ in 0..1_000 {
            let mut counts = RttCounts::default();
            let mut expected = [0; BUCKETS];
            let shortest = rng.below(BUCKETS as u64 - 10) as usize;
            for _ in 0..rng.below(20) {
                let bucket = shortest + rng.below(10) as usize;
                // The end of a bucket is the beginning of the next.
                counts.record(RttHistogram::end(bucket) - Duration::from_nanos(1));
                expected[bucket] += 1;
            }
            assert_eq!(counts.histogram().counts, expected);
            assert!(counts.counts.len() <= 10);
        }
    }
}
