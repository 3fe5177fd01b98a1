use super::bootstrap::Estimate;
use super::thresholds::{CONFIDENCE, EQUAL, MIN_PAIRS, NEGLIGIBLE};
use crate::result::{Comparison, Decision, Finite, Metric, Round};
use crate::text::ratio;
use std::collections::BTreeMap;
use units::Rng;

pub(super) fn per_metric<T>(of: impl Fn(Metric) -> Option<T>) -> BTreeMap<Metric, T> {
    Metric::ALL
        .into_iter()
        .filter_map(|metric| Some((metric, of(metric)?)))
        .collect()
}

pub(super) fn value(metric: Metric, round: &Round) -> Option<f64> {
    if !round.succeeded() {
        return None;
    }
    metric.of(round).map(Finite::get)
}

/// What `pairs` pairs, or rounds of the smaller side, say by these two estimates.
pub(super) fn concluded(
    difference: &Estimate,
    ratio: Option<Estimate>,
    pairs: usize,
) -> Option<Comparison> {
    let mut comparison = Comparison {
        ratio_b_over_a: ratio.and_then(|ratio| rounded(ratio.median)),
        low: ratio.and_then(|ratio| rounded(ratio.low?)),
        high: ratio.and_then(|ratio| rounded(ratio.high?)),
        confidence: Finite::new(CONFIDENCE)?,
        difference_b_minus_a: rounded(difference.median)?,
        difference_low: difference.low.and_then(rounded),
        difference_high: difference.high.and_then(rounded),
        pairs: count(pairs),
        decision: Decision::TooFewRounds,
    };
    comparison.decision = decided(&comparison);
    Some(comparison)
}

/// What the interval says, by the digits in which it is printed: equal ones have one reading.
pub(super) fn decided(comparison: &Comparison) -> Decision {
    let pairs = comparison.pairs as usize;
    match comparison.ratio_b_over_a {
        Some(_) => {
            let printed = |end: Finite| ratio(end.get()).parse().unwrap_or_else(|_| end.get());
            let interval = comparison.low.zip(comparison.high);
            let interval = interval.map(|(low, high)| (printed(low), printed(high)));
            decide(interval, 1.0, EQUAL, pairs)
        }
        // Where a value is zero there is no yardstick for "nearly the same".
        None => {
            let interval = comparison.difference_low.zip(comparison.difference_high);
            let interval = interval.map(|(low, high)| (low.get(), high.get()));
            decide(interval, 0.0, 0.0, pairs)
        }
    }
}

pub(super) fn decide(
    interval: Option<(f64, f64)>,
    no_difference: f64,
    equal: f64,
    pairs: usize,
) -> Decision {
    let Some((low, high)) = interval else {
        return Decision::TooFewRounds;
    };
    // 1.01 less 1 is a little more than 0.01 in binary.
    let far = |equal: f64| equal + if equal > 0.0 { 1e-9 } else { 0.0 };
    let stays_within =
        |equal: f64| low >= no_difference - far(equal) && high <= no_difference + far(equal);
    if pairs < MIN_PAIRS {
        Decision::TooFewRounds
    } else if stays_within(equal.min(NEGLIGIBLE)) {
        Decision::Same
    } else if low > no_difference {
        Decision::BHigher
    } else if high < no_difference {
        Decision::BLower
    } else if stays_within(equal) {
        Decision::Same
    } else {
        Decision::TooFewRounds
    }
}

/// `value` to twelve significant digits. The bits behind them are those in which one machine's
/// logarithm may differ from another's.
pub(super) fn rounded(value: f64) -> Option<Finite> {
    let text = format!("{value:.11e}");
    Finite::new(text.parse().ok()?)
}

/// Each figure draws from its own stream, so that a metric more or less moves no other interval.
pub(super) fn rng(seed: u64, metric: Metric, purpose: Purpose) -> Rng {
    let label = u64::from(metric as u8) << 8 | u64::from(purpose as u8);
    Rng::derive(seed, BOOTSTRAPS + label)
}

#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Summary,
    Ratio,
    Difference,
}

pub(super) fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Where the labels of the bootstraps begin, above those of [`Schedule`](super::Schedule).
pub(super) const BOOTSTRAPS: u64 = 3 << 32;
