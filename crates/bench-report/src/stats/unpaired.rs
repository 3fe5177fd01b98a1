use super::bootstrap::{Estimate, estimate_difference};
use super::per_metric::{Purpose, concluded, per_metric, rng, value};
use crate::result::{Comparison, Metric, Round};
use std::collections::BTreeMap;

/// `b` against `a` where no round of one belongs to a round of the other: the ratio and the
/// difference of the medians. [`Comparison::pairs`] is the number of rounds of the smaller side.
pub fn compare_unpaired(a: &[Round], b: &[Round], seed: u64) -> BTreeMap<Metric, Comparison> {
    per_metric(|metric| {
        let values = |rounds: &[Round]| -> Vec<f64> {
            let values = rounds.iter().filter_map(|round| value(metric, round));
            values.collect()
        };
        compare_metric(metric, &values(a), &values(b), seed)
    })
}

fn compare_metric(metric: Metric, a: &[f64], b: &[f64], seed: u64) -> Option<Comparison> {
    let difference = estimate_difference(a, b, &mut rng(seed, metric, Purpose::Difference))?;
    let has_ratio = a.iter().chain(b).all(|value| *value > 0.0);
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
    let ratio = || {
        let mut rng = rng(seed, metric, Purpose::Ratio);
        estimate_difference(&logs(a), &logs(b), &mut rng).map(Estimate::exp)
    };
    let ratio = has_ratio.then(ratio).flatten();
    concluded(&difference, ratio, a.len().min(b.len()))
}
