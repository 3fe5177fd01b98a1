use super::bootstrap::estimate;
use super::per_metric::{Purpose, count, per_metric, rng, rounded, value};
use crate::result::{Metric, Round, Summary};
use std::collections::BTreeMap;
use units::Rng;

/// Median, mean and the median's interval for each metric that a round which did not fail has.
pub fn summarise(rounds: &[Round], seed: u64) -> BTreeMap<Metric, Summary> {
    per_metric(|metric| {
        let values: Vec<f64> = rounds
            .iter()
            .filter_map(|round| value(metric, round))
            .collect();
        summary(&values, &mut rng(seed, metric, Purpose::Summary))
    })
}

/// Median, mean and the median's interval of figures that cannot be negative.
pub(super) fn summary(values: &[f64], rng: &mut Rng) -> Option<Summary> {
    let estimate = estimate(values, rng)?;
    // The widened interval of a few rounds could be.
    let not_negative = |end: f64| rounded(end.max(0.0));
    Some(Summary {
        median: rounded(estimate.median)?,
        mean: rounded(values.iter().sum::<f64>() / values.len() as f64)?,
        low: estimate.low.and_then(not_negative),
        high: estimate.high.and_then(not_negative),
        rounds: count(values.len()),
    })
}
