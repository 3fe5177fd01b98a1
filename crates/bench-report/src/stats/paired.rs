use super::bootstrap::Estimate;
use super::design::Design;
use super::per_metric::{Purpose, concluded, per_metric, rng, value};
use super::thresholds::FEW;
use crate::result::{Comparison, Metric, Round};
use std::collections::BTreeMap;
use units::Rng;

/// `b` against `a` for each metric that both sides of at least one block have.
///
/// Rounds pair by [`Round::block`]; a block in which either side failed or is missing counts for
/// nothing.
pub fn compare(
    a: &[Round],
    b: &[Round],
    seed: u64,
    design: Design,
) -> BTreeMap<Metric, Comparison> {
    per_metric(|metric| compare_metric(metric, &pairs(metric, a, b), seed, design))
}

pub(super) fn pairs(metric: Metric, a: &[Round], b: &[Round]) -> Vec<(f64, f64)> {
    a.iter()
        .filter_map(|a| {
            let b = b.iter().find(|b| b.block == a.block)?;
            Some((value(metric, a)?, value(metric, b)?))
        })
        .collect()
}

/// The ratio of `b` to `a` in each block, where there are so few that the interval of their median
/// says little; none elsewhere, or where a value is zero.
pub(crate) fn few_ratios(metric: Metric, a: &[Round], b: &[Round]) -> Vec<f64> {
    let pairs = pairs(metric, a, b);
    let ratios = pairs.iter().map(|(a, b)| b / a);
    let ratios: Vec<f64> = ratios
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    match (2..FEW).contains(&ratios.len()) {
        true => ratios,
        false => Vec::new(),
    }
}

pub(super) fn compare_metric(
    metric: Metric,
    pairs: &[(f64, f64)],
    seed: u64,
    design: Design,
) -> Option<Comparison> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let mut draws = rng(seed, metric, Purpose::Difference);
    let difference = design.estimate(&differences, &mut draws)?;
    let ratio = ratio(pairs, &mut rng(seed, metric, Purpose::Ratio), design);
    concluded(&difference, ratio, pairs.len())
}

/// The paired ratio, estimated on the scale of its logarithm, where twice and half are equally
/// far from one and a against b gives exactly the inverse; `None` when a value is zero.
pub(super) fn ratio(pairs: &[(f64, f64)], rng: &mut Rng, design: Design) -> Option<Estimate> {
    if pairs.iter().any(|&(a, b)| a <= 0.0 || b <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    design.estimate(&logs, rng).map(Estimate::exp)
}
