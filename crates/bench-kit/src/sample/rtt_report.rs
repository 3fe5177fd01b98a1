use bench_report::distribution::Distribution;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Quantiles of the round-trip time's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RttReport {
    /// The least in the measured part.
    pub min: Duration,
    pub p50: Duration,
    pub p95: Duration,
    pub p99: Duration,
    pub max: Duration,
    pub mean: Duration,
    /// The least of the connection's life: the empty path's, as far as it was seen.
    pub base: Duration,
    #[serde(default)]
    pub samples: u64,
}

impl RttReport {
    /// The quantiles of the samples of both, as far as their distributions show: between two points
    /// of one the samples are taken to lie evenly.
    pub(super) fn of_both(mine: (Self, &Distribution), others: (Self, &Distribution)) -> Self {
        let both = [mine, others];
        let weights = both.map(|(report, _)| report.samples.max(1) as f64);
        let all = weights[0] + weights[1];
        let ([(mine, _), (others, _)], [weight, other_weight]) = (both, weights);
        let min = mine.min.min(others.min);
        // What a peer reports need not be in order.
        let max = mine.max.max(others.max).max(min);
        let at_most = |time| {
            let shares = both.map(|(report, distribution)| {
                let share = distribution.share_at_most(time);
                share.unwrap_or_else(|| report.share_below(time))
            });
            weight * shares[0] + other_weight * shares[1]
        };
        let quantile = |share: f64| {
            let (mut low, mut high) = (min, max);
            // Halves the largest span, two minutes, to below a microsecond.
            for _ in 0..28 {
                let middle = low + (high - low) / 2;
                if at_most(middle) < share * all {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            high
        };
        let mean = mine.mean.as_secs_f64() * weight + others.mean.as_secs_f64() * other_weight;
        Self {
            min,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max,
            mean: Duration::from_secs_f64(mean / all),
            base: mine.base.min(others.base),
            samples: mine.samples.saturating_add(others.samples),
        }
    }

    /// Whether its quantiles rise, as those of any samples do. The extremes are exact and the rest
    /// is rounded, so that neither says anything of the other.
    pub(super) fn is_ordered(&self) -> bool {
        self.min <= self.max && [self.p50, self.p95, self.p99].is_sorted()
    }

    /// The share of the samples that are at most `time`, 0 to 1, as far as the quantiles show.
    fn share_below(&self, time: Duration) -> f64 {
        let known = [
            (self.min, 0.0),
            (self.p50, 0.50),
            (self.p95, 0.95),
            (self.p99, 0.99),
            (self.max, 1.0),
        ];
        if time >= self.max {
            return 1.0;
        }
        let Some(above) = known.iter().position(|(quantile, _)| *quantile > time) else {
            return 1.0;
        };
        if above == 0 {
            return 0.0;
        }
        let ((low, share), (high, more)) = (known[above - 1], known[above]);
        let part = (time - low).as_secs_f64() / (high - low).as_secs_f64();
        share + (more - share) * part
    }
}
