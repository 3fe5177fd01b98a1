use super::summary::summary;
use crate::result::{Competition, CompetitionRound, Finite, Interval, Summary};
use std::collections::BTreeMap;
use std::time::Duration;
use units::Rng;

/// Jain's index of fairness: (Σx)² over n·Σx², 1 when all are equal, 1/n when one has everything
/// (Jain, Chiu and Hawe, DEC-TR-301, 1984; RFC 5166 §2.3). `None` when nobody has anything.
///
/// ```
/// use bench_report::stats::jain_index;
/// assert_eq!(jain_index(&[3.0, 1.0]), Some(0.8));
/// assert_eq!(jain_index(&[0.0, 0.0]), None);
/// ```
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// When the rates of connections came to be fair and stayed so, counted from `last_start`.
///
/// Fair is a window of [`FAIRNESS_WINDOW`] in which the rates scatter by at most [`UNFAIRNESS`]
/// of their mean (standard deviation over mean, so Jain's index is at least 0.96). The answer is
/// the begin of the first window from which on all are fair, every 100 ms, to the end. For two
/// connections that is the δ-fair convergence time of Bansal, Balakrishnan, Floyd and Shenker
/// (SIGCOMM 2001) with δ = 0.2: neither has more than 60 % of the sum.
///
/// `series` are one per connection, on one clock. `None` when fewer than [`MIN_FAIR_WINDOWS`] fair
/// windows in a row end the series, and with a single connection.
pub fn convergence(series: &[&[Interval]], last_start: Duration) -> Option<Duration> {
    if series.len() < 2 {
        return None;
    }
    let series: Vec<Cumulative> = series.iter().map(|series| Cumulative::of(series)).collect();
    let end = series.iter().map(Cumulative::end).min()?;
    let last_window = end.checked_sub(last_start + FAIRNESS_WINDOW)?;
    let windows = units::duration::nanos(last_window) / units::duration::nanos(STEP);
    let begin = |window: u64| {
        let nanos = units::duration::nanos(STEP).saturating_mul(window);
        last_start + Duration::from_nanos(nanos)
    };
    let is_fair = |window: &u64| {
        let from = begin(*window);
        let rates: Vec<f64> = series.iter().map(|series| series.between(from)).collect();
        jain_index(&rates).is_some_and(|index| index >= 1.0 / (1.0 + UNFAIRNESS * UNFAIRNESS))
    };
    let first = (0..=windows).rev().take_while(is_fair).last()?;
    (begin(first) + FAIRNESS_WINDOW * (MIN_FAIR_WINDOWS - 1) <= begin(windows))
        .then(|| begin(first) - last_start)
}

/// The payload of one connection as a function of time.
struct Cumulative(Vec<(Duration, f64)>);

impl Cumulative {
    fn of(series: &[Interval]) -> Self {
        let time = |seconds: Finite| Duration::from_secs_f64(seconds.get().max(0.0));
        let first = series
            .first()
            .map(|first| time(first.t).saturating_sub(time(first.seconds)));
        let mut sum = 0.0;
        let points = series.iter().map(|interval| {
            sum += interval.goodput_bits_per_second as f64 * interval.seconds.get();
            (time(interval.t), sum)
        });
        Self(
            first
                .map(|at| (at, 0.0))
                .into_iter()
                .chain(points)
                .collect(),
        )
    }

    fn end(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    fn between(&self, from: Duration) -> f64 {
        self.until(from + FAIRNESS_WINDOW) - self.until(from)
    }

    /// What had arrived by `at`, evenly within each interval.
    fn until(&self, at: Duration) -> f64 {
        let after = self.0.partition_point(|(end, _)| *end <= at);
        let Some(&(before, sum)) = after.checked_sub(1).and_then(|last| self.0.get(last)) else {
            return 0.0;
        };
        match self.0.get(after) {
            Some(&(end, total)) => {
                let share = (at - before).as_secs_f64() / (end - before).as_secs_f64();
                sum + (total - sum) * share
            }
            None => sum,
        }
    }
}

/// The summaries of a competition of these rounds; `None` without one.
pub fn competition(rounds: Vec<CompetitionRound>, seed: u64) -> Option<Competition> {
    let summary = |figure: u64, values: Vec<f64>| {
        summary(&values, &mut Rng::derive(seed, COMPETITIONS + figure))
    };
    let share = |figure, values| summary(figure, values).map(at_most_one);
    let all = |of: fn(&CompetitionRound) -> Option<Finite>| -> Vec<f64> {
        rounds
            .iter()
            .filter_map(|round| Some(of(round)?.get()))
            .collect()
    };
    let names = rounds.first()?.shares.keys();
    let shares: BTreeMap<String, Summary> = names
        .zip(SHARES..)
        .filter_map(|(name, figure)| {
            let shares = rounds.iter().filter_map(|round| round.shares.get(name));
            let shares = shares.map(|share| share.get()).collect();
            Some((name.clone(), share(figure, shares)?))
        })
        .collect();
    Some(Competition {
        jain_index: share(0, all(|round| Some(round.jain_index)))?,
        shares,
        convergence_seconds: summary(1, all(|round| round.convergence_seconds)),
        link_utilisation: share(2, all(|round| round.link_utilisation)),
        rounds,
    })
}

/// The widened interval of a few rounds could reach beyond.
fn at_most_one(summary: Summary) -> Summary {
    let clamp = |end: Finite| if end > Finite::ONE { Finite::ONE } else { end };
    Summary {
        low: summary.low.map(clamp),
        high: summary.high.map(clamp),
        ..summary
    }
}

/// Long enough to hold some round trips of every usual path.
pub const FAIRNESS_WINDOW: Duration = Duration::from_secs(1);

/// How much, as a share of their mean, rates may scatter that are called fair.
pub const UNFAIRNESS: f64 = 0.2;

/// How many windows' lengths a fair end lasts at least: less may be chance.
pub const MIN_FAIR_WINDOWS: u32 = 3;

/// From window to window.
const STEP: Duration = Duration::from_millis(100);

/// Where the labels of the bootstraps begin, above those of comparisons.
const COMPETITIONS: u64 = 4 << 32;

/// Among these, the figure of the first variant's share.
const SHARES: u64 = 16;
