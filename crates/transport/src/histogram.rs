//! Distributions of times in buckets whose width grows with the time.

use std::time::Duration;

/// How often which round-trip time was measured, in 160 buckets: eight to each factor of two, from
/// 16 µs to 16 s.
///
/// What is shorter or longer counts in the first or last bucket. A quantile is at most an eighth
/// too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttHistogram {
    /// Counts stay at their maximum rather than wrap, which takes a week at 7,000 a second.
    counts: [u32; Self::BUCKETS],
}

impl RttHistogram {
    const SCALE: Scale = Scale { bits: 3 };
    const OCTAVES: usize = 20;
    const BUCKETS: usize = Self::OCTAVES * 8;
    /// The bucket of [`SCALE`](Self::SCALE) at which this array begins: 2¹⁴ ns.
    const FIRST: usize = 14 * 8;

    pub(crate) fn record(&mut self, rtt: Duration) {
        let bucket = Self::SCALE.bucket(rtt).saturating_sub(Self::FIRST);
        let count = &mut self.counts[bucket.min(Self::BUCKETS - 1)];
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
        Self::SCALE.end(bucket + Self::FIRST)
    }
}

impl Default for RttHistogram {
    fn default() -> Self {
        Self {
            counts: [0; Self::BUCKETS],
        }
    }
}

/// Which bucket a time belongs to: 2^`bits` buckets to each factor of two, counted from one
/// nanosecond. Buckets are narrower than a nanosecond below 2^`bits` ns, and shared there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) bits: u32,
}

impl Scale {
    /// The octave's number, and the bits behind its leading one.
    pub(crate) fn bucket(self, time: Duration) -> usize {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let nanos = nanos.max(1 << self.bits);
        let octave = nanos.ilog2();
        let part = (nanos >> (octave - self.bits)) & ((1 << self.bits) - 1);
        ((octave as usize) << self.bits) + part as usize
    }

    /// The least time that is longer than all of a bucket's.
    pub(crate) fn end(self, bucket: usize) -> Duration {
        let octave = bucket >> self.bits;
        let part = (bucket & ((1 << self.bits) - 1)) as u64;
        let start = 1_u64 << octave;
        let nanos = start.saturating_add((start >> self.bits).saturating_mul(part + 1));
        Duration::from_nanos(nanos)
    }
}

/// The first bucket with which the counts reach `percent` of their sum; `None` if that is zero.
pub(crate) fn quantile(counts: impl Iterator<Item = u64> + Clone, percent: u64) -> Option<usize> {
    let total: u64 = counts.clone().sum();
    let rank = (total * percent.min(100)).div_ceil(100).max(1);
    let mut below = 0;
    counts.enumerate().find_map(|(bucket, count)| {
        below += count;
        (below >= rank).then_some(bucket)
    })
}

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

    #[test]
    fn every_bucket_begins_where_the_last_one_ends() {
        let scale = Scale { bits: 2 };
        for bucket in 8..250 {
            let end = scale.end(bucket);
            assert_eq!(scale.bucket(end), bucket + 1);
            assert_eq!(scale.bucket(end - Duration::from_nanos(1)), bucket);
        }
    }
}
