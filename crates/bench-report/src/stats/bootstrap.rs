use super::thresholds::CONFIDENCE;
use units::Rng;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) median: f64,
    /// `None` with a single value, like `high`.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Estimate {
    /// Back from the scale of the logarithm.
    pub(super) fn exp(self) -> Self {
        Self {
            median: self.median.exp(),
            low: self.low.map(f64::exp),
            high: self.high.map(f64::exp),
        }
    }
}

/// The median of `values` and its interval at the level [`CONFIDENCE`]; `None` without a value.
///
/// A percentile bootstrap, each end then moved away from the median by [`widening`]. Percentile
/// and not BCa: the acceleration that BCa estimates from the jackknife is meaningless for a
/// median, whose jackknife takes only two or three distinct values; and what spoils the interval
/// of a few rounds is its width, which BCa does not correct.
pub(super) fn estimate(values: &[f64], rng: &mut Rng) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = median_of_sorted(&sorted)?;
    if sorted.len() < 2 {
        return Some(Estimate {
            median,
            low: None,
            high: None,
        });
    }
    let (low, high) = percentiles(&sorted, rng);
    let widening = widening(sorted.len());
    Some(Estimate {
        median,
        low: Some(median - (median - low) * widening),
        high: Some(median + (high - median) * widening),
    })
}

/// The median of `b` less that of `a`, and the interval of this difference; `None` without a value
/// on either side. As [`estimate`], with both sides drawn again apart and the widening of the
/// smaller one.
pub(super) fn estimate_difference(a: &[f64], b: &[f64], rng: &mut Rng) -> Option<Estimate> {
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let (a, b) = (sorted(a), sorted(b));
    let median = median_of_sorted(&b)? - median_of_sorted(&a)?;
    let fewer = a.len().min(b.len());
    if fewer < 2 {
        return Some(Estimate {
            median,
            low: None,
            high: None,
        });
    }
    let medians = resampled(&b, rng).into_iter().zip(resampled(&a, rng));
    let (low, high) = middle(medians.map(|(b, a)| b - a).collect());
    let widening = widening(fewer);
    Some(Estimate {
        median,
        low: Some(median - (median - low) * widening),
        high: Some(median + (high - median) * widening),
    })
}

/// The ends of the middle [`CONFIDENCE`] of the medians of [`RESAMPLES`] draws with replacement.
fn percentiles(sorted: &[f64], rng: &mut Rng) -> (f64, f64) {
    middle(resampled(sorted, rng))
}

/// The medians of [`RESAMPLES`] draws with replacement.
fn resampled(sorted: &[f64], rng: &mut Rng) -> Vec<f64> {
    let n = sorted.len();
    let mut draw = vec![0; n];
    (0..RESAMPLES)
        .map(|_| {
            for index in &mut draw {
                *index = usize::try_from(rng.below(n as u64)).expect("below a usize");
            }
            draw.sort_unstable();
            // The order of the indices is that of the values.
            (sorted[draw[(n - 1) / 2]] + sorted[draw[n / 2]]) / 2.0
        })
        .collect()
}

/// The ends of the middle [`CONFIDENCE`] of [`RESAMPLES`] figures.
fn middle(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_unstable_by(f64::total_cmp);
    // With B resamples the p-quantile is the p(B+1)-th of them, counted from one.
    let below = (RESAMPLES + 1) as f64 * (1.0 - CONFIDENCE) / 2.0;
    let rank = below.round() as usize;
    (figures[rank - 1], figures[RESAMPLES - rank])
}

/// How much farther than the bootstrap says the ends lie with `n` values.
///
/// Resampling sees the spread of `n` values about their own centre, too small by √((n−1)/n), and
/// takes it as known, where Student's t knows that it was estimated. The product is 9.2 for two
/// values, 2.7 for three, 1.2 for ten and tends to 1.
fn widening(n: usize) -> f64 {
    let degrees = n - 1;
    (n as f64 / degrees as f64).sqrt() * t_975(degrees) / Z_975
}

/// The 97.5 % quantile of Student's t, from one degree of freedom on.
pub(super) fn t_975(degrees: usize) -> f64 {
    T_975.get(degrees - 1).copied().unwrap_or_else(|| {
        // Two terms of the expansion of t about the normal; exact to 0.001 from 21 on.
        let (z, n) = (Z_975, degrees as f64);
        let first = (z.powi(3) + z) / (4.0 * n);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
        z + first + second
    })
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = sorted.get(n / 2)?;
    Some((sorted[(n - 1) / 2] + upper) / 2.0)
}

/// Enough that another seed moves an end by less than a fiftieth of the interval, and such that
/// the ranks of the 2.5 % and 97.5 % quantiles are whole.
const RESAMPLES: usize = 3_999;

/// The 97.5 % quantile of the normal distribution.
pub(super) const Z_975: f64 = 1.959_964;

/// Those of one to twenty degrees.
const T_975: [f64; 20] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
];
