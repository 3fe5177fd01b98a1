use super::bootstrap::{Estimate, Z_975, t_975};

/// `estimate` of these values with ends at least as far from the median as this test of theirs has
/// them, which is Wilcoxon's of signed ranks.
///
/// A bootstrap's interval of a median is made of the two or three values beside it, so that its
/// width scatters by a fifth and more; whoever stops when it is narrow stops when it is too narrow.
/// Ranks take all values, none of them far from the others more than the next: a width that hardly
/// scatters.
pub(super) fn at_least(estimate: Estimate, values: &[f64]) -> Estimate {
    let Some((low, high)) = estimate.low.zip(estimate.high) else {
        return estimate;
    };
    let half = half_width(values);
    Estimate {
        low: Some(low.min(estimate.median - half)),
        high: Some(high.max(estimate.median + half)),
        ..estimate
    }
}

/// Half the width of the 95 % interval of a median, had the values a normal distribution, by the
/// scatter of their ranks; `values` are two or more.
///
/// The interval of signed ranks goes from the k-th smallest of the means of all pairs of values to
/// the k-th largest (Hollander and Wolfe, "Nonparametric Statistical Methods", §3.3). It is one of
/// the Hodges–Lehmann estimator, which scatters less than the median by √1.5 where values are
/// normal, and is widened for few values as the bootstrap is.
fn half_width(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let means = n * (n + 1.0) / 2.0;
    let deviation = (means * (2.0 * n + 1.0) / 12.0).sqrt();
    let rank = (means / 2.0 - Z_975 * deviation).round().max(1.0);
    let width = mean_of_rank(&sorted, means - rank + 1.0) - mean_of_rank(&sorted, rank);
    width / 2.0 * MEDIAN_TO_RANKS * t_975(sorted.len() - 1) / Z_975
}

/// The `rank`-th smallest mean of two of the values, each of which pairs with itself as well; to
/// less than a millionth of a millionth of their range.
fn mean_of_rank(sorted: &[f64], rank: f64) -> f64 {
    let (mut below, mut enough) = (sorted[0], sorted[sorted.len() - 1]);
    if means_up_to(sorted, below) as f64 >= rank {
        return below;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(below, enough);
        if means_up_to(sorted, middle) as f64 >= rank {
            enough = middle;
        } else {
            below = middle;
        }
    }
    enough
}

/// How many means of two are at most `limit`.
fn means_up_to(sorted: &[f64], limit: f64) -> usize {
    let mut partners = sorted.len();
    let counts = sorted.iter().enumerate().map(|(index, value)| {
        while partners > 0 && f64::midpoint(*value, sorted[partners - 1]) > limit {
            partners -= 1;
        }
        partners.saturating_sub(index)
    });
    counts.sum()
}

/// √1.5: the standard error of a median over that of the Hodges–Lehmann estimator, of normal
/// values.
const MEDIAN_TO_RANKS: f64 = 1.224_745;

const HALVINGS: u32 = 45;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn means_of_two_are_ranked_as_all_of_them_are_when_sorted() {
        let mut rng = Rng::new(3);
        for n in [2, 3, 7, 20] {
            // Some are equal.
            let mut values: Vec<f64> = (0..n).map(|_| (rng.unit_f64() * 20.0).floor()).collect();
            values.sort_unstable_by(f64::total_cmp);
            let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
            let means = pairs.map(|(i, j)| f64::midpoint(values[i], values[j]));
            let mut means: Vec<f64> = means.collect();
            means.sort_unstable_by(f64::total_cmp);
            for (rank, mean) in means.iter().enumerate() {
                let found = mean_of_rank(&values, rank as f64 + 1.0);
                assert!((found - mean).abs() < 1e-9, "{n}: {found} for {mean}");
            }
        }
    }

    /// k = 4 for eight values at 95 % (Hollander and Wolfe, table A.4: T ≤ 3).
    #[test]
    fn eight_values_have_the_interval_of_the_fourth_means() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        // 1, 1.5, 2, 2.5 from below; 128, 96, 80, 72 from above.
        let half = (72.0 - 2.5) / 2.0 * 1.5_f64.sqrt() * 2.365 / 1.959_964;
        assert!((half_width(&values) - half).abs() < 1e-4 * half);
    }

    #[test]
    fn an_end_moves_away_from_the_median_and_never_towards_it() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let half = half_width(&values);
        let estimate = |low, high| Estimate {
            median: 12.0,
            low: Some(low),
            high: Some(high),
        };
        let widened = at_least(estimate(11.0, 1e3), &values);
        assert_eq!(widened, estimate(12.0 - half, 1e3));
        let none = Estimate {
            low: None,
            ..estimate(0.0, 0.0)
        };
        assert_eq!(at_least(none, &values), none);
    }
}
