//! How an A/B test decides.
//!
//! ```text
//! Schedule     block 0: A B   block 1: B A   block 2: …   both sides of a block share one seed
//!                 │                │
//! rounds       a₀ ↔ b₀          a₁ ↔ b₁          pairs: what drifts slowly cancels
//!                 │                │
//! per metric   median of each side · median of bᵢ/aᵢ · median of bᵢ−aᵢ
//!                 └── seeded percentile bootstrap, widened for few rounds ──▶ Decision
//! ```
//!
//! The centre is the **median**, of rounds and of pairs: one stalled round must not carry the
//! result, and the interval of a median keeps its level for every shape of distribution, which
//! that of a mean does not when rounds are skewed or fall into two modes. `docs/measuring.md` has
//! the measured levels, and what an interval from three rounds can mean.

mod bootstrap;
mod fairness;
mod schedule;
mod signed_rank;
mod stopping;
mod unpaired;
mod verdict;

pub use fairness::{FAIRNESS_WINDOW, LEAST_FAIR, UNFAIRNESS, competition, convergence, jain_index};
pub use schedule::{Schedule, Slot};
pub use stopping::{LEAST_BLOCKS, goodput_half_width, is_a_look};
pub use unpaired::compare_unpaired;
pub use verdict::verdict;

use crate::result::{AbResult, Comparison, Decision, Finite, Metric, Round, Summary, Variant};
use bootstrap::{Estimate, estimate};
use std::collections::BTreeMap;
use units::Rng;

/// The level of every confidence interval.
pub const CONFIDENCE: f64 = 0.95;

/// The fewest pairs from which a difference is concluded. From two, any difference of one sign
/// has an interval, but nothing speaks for its width.
pub const MIN_PAIRS: usize = 3;

/// How far from one an interval may reach that says "the same": 5 %.
pub const EQUAL: f64 = 0.05;

/// An interval that reaches no farther than this from one says "the same" even where it leaves
/// one out: 1 %. Such a difference is certain, and no reason to choose.
pub const NEGLIGIBLE: f64 = 0.01;

/// What has ended a test, on which the width of its intervals depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A number of rounds that was set beforehand.
    Planned,
    /// The intervals: the test went on until they were narrow. Whoever stops when a width happens
    /// to be small stops when the scatter happens to be underestimated, and the interval contains
    /// the truth less often than it says. Such intervals are therefore at least as wide as those of
    /// signed ranks are, widened to what a median has; `docs/measuring.md` has the measured levels.
    Narrow,
}

impl End {
    /// How this test was to end.
    pub fn of(result: &AbResult) -> Self {
        if result.until.is_some() {
            Self::Narrow
        } else {
            Self::Planned
        }
    }

    fn estimate(self, values: &[f64], rng: &mut Rng) -> Option<Estimate> {
        let estimate = estimate(values, rng)?;
        Some(match self {
            Self::Planned => estimate,
            Self::Narrow => signed_rank::at_least(estimate, values),
        })
    }
}

/// Fills in the summaries and the comparisons of `result` from its rounds and its seed.
pub fn conclude(result: &mut AbResult) {
    let seed = result.seed;
    for variant in &mut result.variants {
        variant.summary = summarise(&variant.rounds, seed);
    }
    result.comparison = BTreeMap::new();
    result.further_comparisons = BTreeMap::new();
    if let [a, b, further @ ..] = result.variants.as_slice() {
        let end = End::of(result);
        result.comparison = compare(&a.rounds, &b.rounds, seed, end);
        let against_a = |variant: &Variant| compare(&a.rounds, &variant.rounds, seed, end);
        let further = further.iter().map(|c| (c.name.clone(), against_a(c)));
        result.further_comparisons = further.collect();
    }
}

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
fn summary(values: &[f64], rng: &mut Rng) -> Option<Summary> {
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

/// `b` against `a` for each metric that both sides of at least one block have.
///
/// Rounds pair by [`Round::block`]; a block in which either side failed or is missing counts for
/// nothing.
pub fn compare(a: &[Round], b: &[Round], seed: u64, end: End) -> BTreeMap<Metric, Comparison> {
    per_metric(|metric| compare_metric(metric, &pairs(metric, a, b), seed, end))
}

fn per_metric<T>(of: impl Fn(Metric) -> Option<T>) -> BTreeMap<Metric, T> {
    Metric::ALL
        .into_iter()
        .filter_map(|metric| Some((metric, of(metric)?)))
        .collect()
}

fn pairs(metric: Metric, a: &[Round], b: &[Round]) -> Vec<(f64, f64)> {
    a.iter()
        .filter_map(|a| {
            let b = b.iter().find(|b| b.block == a.block)?;
            Some((value(metric, a)?, value(metric, b)?))
        })
        .collect()
}

fn value(metric: Metric, round: &Round) -> Option<f64> {
    if !round.succeeded() {
        return None;
    }
    metric.of(round).map(Finite::get)
}

fn compare_metric(metric: Metric, pairs: &[(f64, f64)], seed: u64, end: End) -> Option<Comparison> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let mut draws = rng(seed, metric, Purpose::Difference);
    let difference = end.estimate(&differences, &mut draws)?;
    let ratio = ratio(pairs, &mut rng(seed, metric, Purpose::Ratio), end);
    concluded(&difference, ratio, pairs.len())
}

/// What `pairs` pairs, or rounds of the smaller side, say by these two estimates.
fn concluded(difference: &Estimate, ratio: Option<Estimate>, pairs: usize) -> Option<Comparison> {
    Some(Comparison {
        ratio_b_over_a: ratio.and_then(|ratio| rounded(ratio.median)),
        low: ratio.and_then(|ratio| rounded(ratio.low?)),
        high: ratio.and_then(|ratio| rounded(ratio.high?)),
        confidence: Finite::new(CONFIDENCE)?,
        difference_b_minus_a: rounded(difference.median)?,
        difference_low: difference.low.and_then(rounded),
        difference_high: difference.high.and_then(rounded),
        pairs: count(pairs),
        decision: match ratio {
            Some(ratio) => decide(&ratio, 1.0, EQUAL, pairs),
            // Where a value is zero there is no yardstick for "nearly the same".
            None => decide(difference, 0.0, 0.0, pairs),
        },
    })
}

/// The paired ratio, estimated on the scale of its logarithm, where twice and half are equally
/// far from one and a against b gives exactly the inverse; `None` when a value is zero.
fn ratio(pairs: &[(f64, f64)], rng: &mut Rng, end: End) -> Option<Estimate> {
    if pairs.iter().any(|&(a, b)| a <= 0.0 || b <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    end.estimate(&logs, rng).map(Estimate::exp)
}

fn decide(estimate: &Estimate, no_difference: f64, equal: f64, pairs: usize) -> Decision {
    let Some((low, high)) = estimate.low.zip(estimate.high) else {
        return Decision::TooFewRounds;
    };
    let stays_within = |far: f64| low >= no_difference - far && high <= no_difference + far;
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
fn rounded(value: f64) -> Option<Finite> {
    let text = format!("{value:.11e}");
    Finite::new(text.parse().ok()?)
}

/// Each figure draws from its own stream, so that a metric more or less moves no other interval.
fn rng(seed: u64, metric: Metric, purpose: Purpose) -> Rng {
    let label = u64::from(metric as u8) << 8 | u64::from(purpose as u8);
    Rng::derive(seed, BOOTSTRAPS + label)
}

#[derive(Clone, Copy)]
enum Purpose {
    Summary,
    Ratio,
    Difference,
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Where the labels of the bootstraps begin, above those of [`Schedule`].
const BOOTSTRAPS: u64 = 3 << 32;

#[cfg(test)]
mod tests;
