//! The figures of a scorecard, from the A/B tests behind them.

use super::design::Design;
use super::paired::{compare_metric, pairs};
use super::per_metric::rounded;
use super::summary::summary;
use crate::result::{
    AbResult, Finite, Measure, OverCells, Round, ScorecardBound, ScorecardFigure, Summary,
};
use std::time::Duration;
use units::Rng;

/// What a criterion measures, of which variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CriterionMeasure {
    /// The quantity.
    pub measure: Measure,
    /// The place of the variant, 0 for `a`; what is of all variants alike does without.
    pub variant: usize,
    /// Of [`Measure::Recovery`]: when the path changes, after the round has begun.
    pub since: Option<Duration>,
}

impl CriterionMeasure {
    /// The median over the rounds of `result` and its interval; `None` when no round has it.
    ///
    /// What an A/B test has a metric for is the summary that its table shows, in another unit.
    pub fn figure(self, result: &AbResult) -> Option<ScorecardFigure> {
        let competition = result.competition.as_ref();
        let variant = result.variants.get(self.variant)?;
        let rate = result.link_rate_bits_per_second.map(|rate| rate as f64);
        let base_rtt_ms = result.base_rtt_ms.map(Finite::get);
        let (summary, scale) = match self.measure {
            Measure::Utilisation if competition.is_some() => {
                (competition?.link_utilisation?, 100.0)
            }
            Measure::Utilisation | Measure::LinkShare => (self.of_metric(result)?, 100.0 / rate?),
            Measure::Goodput => (self.of_metric(result)?, 1e-6),
            Measure::Loss => (self.of_metric(result)?, 100.0),
            Measure::QueueDelay | Measure::Rtt | Measure::Completion => {
                (self.of_metric(result)?, 1.0)
            }
            Measure::QueueDelayOverBaseRtt => (self.of_metric(result)?, 1.0 / base_rtt_ms?),
            Measure::Jain => (competition?.jain_index, 1.0),
            Measure::Share => (*competition?.shares.get(&variant.name)?, 100.0),
            Measure::Convergence => (competition?.convergence_seconds?, 1.0),
            Measure::PacketsPerRtt => {
                let base_rtt = base_rtt_ms? / 1e3;
                let of_round = |round: &Round| {
                    Some(round.packets_sent? as f64 * base_rtt / round.seconds.get())
                };
                (self.of_rounds(result, of_round)?, 1.0)
            }
            Measure::Recovery => {
                let (since, target) = (self.since?.as_secs_f64(), rate? * RECOVERED);
                let of_round = |round: &Round| recovery(round, since, target);
                (self.of_rounds(result, of_round)?, 1.0)
            }
            Measure::GoodputSpread => return self.spread(result),
        };
        scaled(&summary, scale)
    }

    /// The ratio of [`figure`](Self::figure) to the best one of all variants of the same test, this
    /// one included, so that the best has 1; `is_ceiling` says that less is better. `None` when no
    /// round has it, and where the best is zero. It has no interval.
    pub fn ratio_to_best(self, result: &AbResult, is_ceiling: bool) -> Option<ScorecardFigure> {
        let own = self.figure(result)?;
        let all = (0..result.variants.len()).filter_map(|variant| {
            let figure = Self { variant, ..self }.figure(result)?;
            Some(figure.value.get())
        });
        let best = all.reduce(if is_ceiling { f64::min } else { f64::max })?;
        Some(ScorecardFigure {
            value: rounded(own.value.get() / best)?,
            low: None,
            high: None,
            ..own
        })
    }

    /// [`figure`](Self::figure) less that of variant `of_reference` of `reference`, in the same
    /// unit; `None` when one of them has none. It has no interval.
    pub fn difference(
        self,
        own: &AbResult,
        of_reference: usize,
        reference: &AbResult,
    ) -> Option<ScorecardFigure> {
        let figure = self.figure(own)?;
        let other = Self {
            variant: of_reference,
            ..self
        };
        let other = other.figure(reference)?;
        Some(ScorecardFigure {
            value: rounded(figure.value.get() - other.value.get())?,
            low: None,
            high: None,
            rounds: figure.rounds.min(other.rounds),
        })
    }

    /// The largest goodput of a round over the least; a round that failed has none.
    fn spread(self, result: &AbResult) -> Option<ScorecardFigure> {
        let rounds = &result.variants.get(self.variant)?.rounds;
        let rounds = rounds.iter().filter(|round| round.succeeded());
        let values = rounds.map(|round| round.goodput_bits_per_second as f64);
        let values: Vec<f64> = values.collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let largest = values.iter().copied().reduce(f64::max)?;
        Some(ScorecardFigure {
            value: rounded(largest / least)?,
            low: None,
            high: None,
            rounds: u32::try_from(values.len()).unwrap_or(u32::MAX),
        })
    }

    /// The median of the ratios of `own` over variant `of_reference` of `reference`, paired by
    /// block, and its interval; `None` for what is no metric of a round, and where a value is
    /// zero.
    pub fn ratio(
        self,
        own: &AbResult,
        of_reference: usize,
        reference: &AbResult,
    ) -> Option<ScorecardFigure> {
        let metric = self.measure.metric()?;
        let a = &reference.variants.get(of_reference)?.rounds;
        let b = &own.variants.get(self.variant)?.rounds;
        let pairs = pairs(metric, a, b);
        let compared = compare_metric(metric, &pairs, own.seed, Design::FixedSample)?;
        Some(ScorecardFigure {
            value: compared.ratio_b_over_a?,
            low: compared.low,
            high: compared.high,
            rounds: compared.pairs,
        })
    }

    fn of_metric(self, result: &AbResult) -> Option<Summary> {
        let variant = result.variants.get(self.variant)?;
        variant.summary.get(&self.measure.metric()?).copied()
    }

    fn of_rounds(
        self,
        result: &AbResult,
        of_round: impl Fn(&Round) -> Option<f64>,
    ) -> Option<Summary> {
        let rounds = &result.variants.get(self.variant)?.rounds;
        let rounds = rounds.iter().filter(|round| round.succeeded());
        let values: Vec<f64> = rounds.filter_map(of_round).collect();
        let label = SCORECARDS + self.measure as u64;
        summary(&values, &mut Rng::derive(result.seed, label))
    }
}

/// The place of the cell whose figure stands for those of all, by nearest rank from the best on; a
/// cell without a figure is worse than any with one. `None` without cells.
pub fn over_cells(
    over: OverCells,
    bound: &ScorecardBound,
    figures: &[Option<Finite>],
) -> Option<usize> {
    let sign = if bound.is_ceiling() { 1.0 } else { -1.0 };
    let key = |place: &usize| figures[*place].map_or(f64::INFINITY, |value| sign * value.get());
    let mut places: Vec<usize> = (0..figures.len()).collect();
    places.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let count = places.len();
    let rank = match over {
        OverCells::Worst => count,
        OverCells::Median => count.div_ceil(2),
        OverCells::P90 => (count * 9).div_ceil(10),
    };
    places.get(rank.checked_sub(1)?).copied()
}

fn scaled(summary: &Summary, scale: f64) -> Option<ScorecardFigure> {
    let scaled = |value: Finite| rounded(value.get() * scale);
    Some(ScorecardFigure {
        value: scaled(summary.median)?,
        low: summary.low.and_then(scaled),
        high: summary.high.and_then(scaled),
        rounds: summary.rounds,
    })
}

/// From `since`, in seconds after the begin, to the end of the first second in which at least
/// `target` bits arrived; `None` when there is none.
fn recovery(round: &Round, since: f64, target: f64) -> Option<f64> {
    let samples = round.intervals.as_slice();
    let after = samples.partition_point(|sample| sample.t.get() <= since + ROUNDING);
    let samples = &samples[after..];
    let ends = samples.iter().enumerate().filter(|(end, sample)| {
        let begin = sample.t.get() - 1.0;
        let window = samples[..=*end].iter().rev();
        let window = window.take_while(|sample| sample.t.get() > begin + ROUNDING);
        let bits =
            window.map(|sample| sample.goodput_bits_per_second as f64 * sample.seconds.get());
        begin + ROUNDING >= since && bits.sum::<f64>() >= target
    });
    let (_, first) = ends.into_iter().next()?;
    Some(first.t.get() - since)
}

/// The part of the link's rate that a second has as payload when a sender is said to be back.
pub const RECOVERED: f64 = 0.8;

/// Times of samples are decimals of seconds, which a float holds almost.
const ROUNDING: f64 = 1e-6;

/// Where the labels of the bootstraps begin, above those of competitions.
const SCORECARDS: u64 = 5 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, finite};
    use crate::result::Interval;

    fn measure(measure: Measure) -> CriterionMeasure {
        CriterionMeasure {
            measure,
            variant: 1,
            since: None,
        }
    }

    #[test]
    fn a_metric_is_the_summary_of_the_table_in_another_unit() {
        let mut result = fixtures::ab();
        result.link_rate_bits_per_second = Some(100_000_000);
        result.base_rtt_ms = Some(finite(40.0));
        let value = |of| measure(of).figure(&result).unwrap().value.get();
        assert_eq!(value(Measure::Goodput), 94.1);
        assert_eq!(value(Measure::Utilisation), 94.1);
        assert_eq!(value(Measure::QueueDelay), 2.0);
        assert_eq!(value(Measure::QueueDelayOverBaseRtt), 0.05);
        let loss = result.variants[1].summary[&crate::result::Metric::LossRate];
        assert_eq!(
            value(Measure::Loss),
            rounded(loss.median.get() * 100.0).unwrap().get()
        );
        assert_eq!(measure(Measure::Jain).figure(&result), None);
    }

    #[test]
    fn shares_and_the_use_of_the_link_are_those_of_the_competition() {
        let result = fixtures::competition();
        let value = |of| measure(of).figure(&result).unwrap().value.get();
        assert_eq!(value(Measure::Jain), 0.7);
        assert_eq!(value(Measure::Share), 80.0);
        assert_eq!(value(Measure::Utilisation), 95.0);
        assert_eq!(measure(Measure::Convergence).figure(&result), None);
    }

    #[test]
    fn packets_are_counted_per_round_trip_of_the_empty_path() {
        let mut result = fixtures::ab();
        result.base_rtt_ms = Some(finite(50.0));
        for round in &mut result.variants[1].rounds {
            (round.packets_sent, round.seconds) = (Some(100), finite(10.0));
        }
        let figure = measure(Measure::PacketsPerRtt).figure(&result).unwrap();
        assert_eq!((figure.value.get(), figure.rounds), (0.5, 3));
    }

    #[test]
    fn a_ratio_of_two_tests_is_that_of_their_paired_rounds() {
        // Whose path bounds no interval.
        let mut own = fixtures::ab();
        own.link_rate_bits_per_second = None;
        super::super::conclude(&mut own);
        let ratio = measure(Measure::Goodput).ratio(&own, 0, &own).unwrap();
        let compared = own.comparison[&crate::result::Metric::GoodputBitsPerSecond];
        assert_eq!(Some(ratio.value), compared.ratio_b_over_a);
        assert_eq!((ratio.low, ratio.high), (compared.low, compared.high));
        assert_eq!(measure(Measure::Share).ratio(&own, 0, &own), None);
    }

    #[test]
    fn a_share_of_the_link_is_that_of_one_variant_also_in_a_competition() {
        let mut result = fixtures::competition();
        result.link_rate_bits_per_second = Some(100_000_000);
        let goodput = measure(Measure::Goodput).figure(&result).unwrap();
        let share = measure(Measure::LinkShare).figure(&result).unwrap();
        assert_eq!(share.value, goodput.value);
        assert_ne!(measure(Measure::Utilisation).figure(&result), Some(share));
    }

    #[test]
    fn a_spread_is_the_largest_round_over_the_least_of_those_that_did_not_fail() {
        let mut result = fixtures::ab();
        let rounds = &mut result.variants[1].rounds;
        for (round, goodput) in rounds.iter_mut().zip([3_000_000, 2_000_000, 1]) {
            round.goodput_bits_per_second = goodput;
        }
        rounds[2].error = Some("gone".to_owned());
        let figure = measure(Measure::GoodputSpread).figure(&result).unwrap();
        assert_eq!((figure.value.get(), figure.rounds), (1.5, 2));
    }

    #[test]
    fn the_best_variant_is_the_one_with_the_most_or_the_least() {
        let mut result = fixtures::ab();
        for (variant, median) in result.variants.iter_mut().zip([20.0, 10.0]) {
            let metric = crate::result::Metric::GoodputBitsPerSecond;
            variant.summary.get_mut(&metric).unwrap().median = finite(median * 1e6);
        }
        let ratio = |is_ceiling| {
            let ratio = measure(Measure::Goodput).ratio_to_best(&result, is_ceiling);
            ratio.unwrap().value.get()
        };
        assert_eq!((ratio(false), ratio(true)), (0.5, 1.0));
        let difference = measure(Measure::Goodput).difference(&result, 0, &result);
        assert_eq!(difference.unwrap().value.get(), -10.0);
    }

    #[test]
    fn a_cell_without_a_figure_is_the_worst_and_ranks_count_from_the_best() {
        let bound = |is_ceiling: bool| ScorecardBound {
            at_least: (!is_ceiling).then(|| finite(1.0)),
            at_most: is_ceiling.then(|| finite(1.0)),
            reason: String::new(),
        };
        let values: Vec<Option<Finite>> = (0..10).map(|value| Some(finite(value.into()))).collect();
        let place = |over, is_ceiling, cells: &[_]| over_cells(over, &bound(is_ceiling), cells);
        assert_eq!(place(OverCells::Worst, true, &values), Some(9));
        assert_eq!(place(OverCells::Worst, false, &values), Some(0));
        assert_eq!(place(OverCells::P90, true, &values), Some(8));
        assert_eq!(place(OverCells::P90, false, &values), Some(1));
        assert_eq!(place(OverCells::Median, true, &values), Some(4));
        assert_eq!(place(OverCells::Worst, true, &[None, values[1]]), Some(0));
        assert_eq!(place(OverCells::Median, false, &[None, values[1]]), Some(1));
        assert_eq!(place(OverCells::Worst, true, &[]), None);
    }

    /// Samples of 0.1 s, in Mbit/s from `from` on and nothing before.
    fn from(from: f64) -> Round {
        let samples = (1..=60).map(|tenth| {
            let t = f64::from(tenth) / 10.0;
            Interval {
                t: finite(t),
                seconds: finite(0.1),
                goodput_bits_per_second: if t > from + 0.01 { 1_000_000 } else { 0 },
                ..Interval::default()
            }
        });
        Round {
            intervals: samples.collect(),
            ..Round::default()
        }
    }

    #[test]
    fn a_recovery_lasts_until_the_end_of_the_first_full_second() {
        let after = |begin| recovery(&from(begin), 2.0, 0.8e6);
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-6;
        assert!(near(after(2.0), 1.0));
        // What came before the change does not count.
        assert!(near(after(0.0), 1.0));
        assert!(near(after(3.0), 1.8));
        assert_eq!(after(5.9), None);
    }
}
