use core::time::Duration;
use units::histogram::{self, index_of_rank};
use units::{Gain, duration};

/// How often each duration occurred, in buckets that are at most 1/32 of their value wide.
///
/// It holds at most 1,920 counters (15 kB), whatever is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// Grown to the largest bucket in use.
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: Duration) {
        let bucket = Buckets::index(duration::nanos(value));
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// Counts what `other` has counted as well.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The largest value recorded, exact; zero when there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The smallest value that at least this share of all values does not exceed, rounded up by at
    /// most 1/32; zero when nothing was recorded.
    pub fn quantile(&self, share: Gain) -> Duration {
        let wanted = share.of_ceil(self.total).max(1);
        index_of_rank(self.counts.iter().copied(), wanted)
            .map_or(self.max, |bucket| highest_of(bucket).min(self.max))
    }

    /// How many values each bucket holds that holds any, in ascending order, with the largest value
    /// that falls into it, for the last one [`max`](Self::max).
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let held = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        held.map(|(bucket, count)| (highest_of(bucket).min(self.max), *count))
    }

    /// What was recorded since `earlier`, an older copy of this histogram. Its
    /// [`max`](Self::max) is that of the bucket, as the exact one is not known.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bucket| earlier.counts.get(bucket).copied().unwrap_or(0);
        let counts: Vec<u64> = self
            .counts
            .iter()
            .enumerate()
            .map(|(bucket, count)| count.saturating_sub(before(bucket)))
            .collect();
        let max = counts.iter().rposition(|count| *count > 0).map(highest_of);
        Self {
            total: counts.iter().sum(),
            max: max.unwrap_or_default().min(self.max),
            counts,
        }
    }
}

fn highest_of(bucket: usize) -> Duration {
    Duration::from_nanos(Buckets::highest(bucket))
}

/// Of nanoseconds: 32 to each factor of two.
type Buckets = histogram::Buckets<5>;

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(histogram: &Histogram, percent: u64) -> u128 {
        histogram.quantile(Gain::percent(percent)).as_micros()
    }

    #[test]
    fn quantiles_of_a_uniform_sample_are_within_a_bucket() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|n| histogram.record(Duration::from_micros(n)));
        assert!((500..=516).contains(&micros(&histogram, 50)));
        assert!((990..=1_000).contains(&micros(&histogram, 99)));
        assert_eq!(micros(&histogram, 100), 1_000);
        assert_eq!(histogram.max(), Duration::from_millis(1));
    }

    #[test]
    fn buckets_rise_hold_everything_and_end_at_the_largest() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|n| histogram.record(Duration::from_micros(n)));
        let buckets: Vec<(Duration, u64)> = histogram.buckets().collect();
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
        assert_eq!(buckets.last().unwrap().0, Duration::from_millis(1));
        assert_eq!(Histogram::default().buckets().count(), 0);
    }

    #[test]
    fn an_empty_histogram_answers_zero() {
        assert_eq!(
            Histogram::default().quantile(Gain::percent(99)),
            Duration::ZERO
        );
    }

    #[test]
    fn merged_histograms_hold_the_values_of_both() {
        let (mut both, mut low, mut high) = <(Histogram, Histogram, Histogram)>::default();
        for n in 1..=1_000 {
            let value = Duration::from_micros(n);
            both.record(value);
            if n <= 300 { &mut low } else { &mut high }.record(value);
        }
        low.merge(&high);
        assert_eq!(low, both);
    }

    #[test]
    fn the_difference_of_two_copies_is_what_came_between() {
        let mut histogram = Histogram::default();
        histogram.record(Duration::from_millis(50));
        let earlier = histogram.clone();
        histogram.record(Duration::from_millis(1));
        let between = histogram.since(&earlier);
        assert_eq!(between.count(), 1);
        assert!(between.max() < Duration::from_micros(1_032));
    }
}
