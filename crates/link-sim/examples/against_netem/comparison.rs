//! Whether the kernel's run could be one of ours.

use crate::emulation::arrivals;
use crate::figures::{Figures, QUANTITIES, offered_rate};
use crate::trace::Trace;
use core::fmt;
use core::time::Duration;
use link_sim::LinkSpec;

/// Every quantity of a kernel's run beside the same quantity in runs of `link_sim` that differ by
/// their seeds alone.
///
/// How far those lie apart *is* the statistical error of one run, whatever its packets have to do
/// with each other: behind a transmitter and in bursts of loss they depend on each other, and a
/// formula for independent ones would be wrong.
#[derive(Debug)]
pub(crate) struct Comparison {
    link: LinkSpec,
    packets: usize,
    /// In Mbit/s at layer 2.
    offered: f64,
    rows: Vec<Row>,
}

impl Comparison {
    /// # Panics
    /// With less than two runs, which have no deviation.
    pub(crate) fn new(link: &LinkSpec, kernel: &Trace, runs: u32, clock: Duration) -> Self {
        assert!(runs >= 2, "two runs have a deviation");
        let run = |seed| Figures::new(&kernel.sent, &arrivals(link, &kernel.sent, seed));
        let yardstick = Yardstick::new((0..POOLED).map(run), clock);
        let ours = (POOLED..POOLED + u64::from(runs)).map(|seed| yardstick.values(&run(seed)));
        let ours: Vec<Vec<f64>> = ours.collect();
        let theirs = yardstick.values(&Figures::new(&kernel.sent, &kernel.received));
        let row = |(place, kernel): (usize, f64)| {
            let ours: Vec<f64> = ours.iter().map(|values| values[place]).collect();
            Row::new(place, kernel, &ours, clock)
        };
        Self {
            link: link.clone(),
            packets: kernel.sent.len(),
            offered: offered_rate(&kernel.sent),
            rows: theirs.into_iter().enumerate().map(row).collect(),
        }
    }

    /// Whether no quantity differs.
    pub(crate) fn agrees(&self) -> bool {
        self.rows.iter().all(Row::agrees)
    }
}

/// A section of Markdown.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### `{}`\n", self.link)?;
        writeln!(
            f,
            "{} packets, {:.2} Mbit/s at layer 2.\n",
            self.packets, self.offered
        )?;
        writeln!(
            f,
            "| quantity | kernel | link-sim | error of a run | apart by | |"
        )?;
        writeln!(f, "|---|--:|--:|--:|--:|---|")?;
        let (nothing, something): (Vec<_>, Vec<_>) = self.rows.iter().partition(|it| it.is_zero());
        for row in something {
            writeln!(f, "{row}")?;
        }
        let nothing: Vec<_> = nothing.iter().map(|row| row.name).collect();
        if !nothing.is_empty() {
            writeln!(f, "\nZero on both sides: {}.", nothing.join("; "))?;
        }
        writeln!(f)
    }
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    unit: &'static str,
    kernel: f64,
    /// Mean and standard deviation of our runs.
    mean: f64,
    error: f64,
    /// The difference, less what clocks may be wrong by.
    difference: f64,
    /// How many errors the difference may be.
    limit: f64,
}

impl Row {
    fn new(place: usize, kernel: f64, ours: &[f64], clock: Duration) -> Self {
        let count = ours.len() as f64;
        let mean = ours.iter().sum::<f64>() / count;
        let squares: f64 = ours.iter().map(|value| (value - mean).powi(2)).sum();
        let (name, unit, inexact, limit) = match QUANTITIES.get(place) {
            Some(it) if it.is_time => (it.name, it.unit, clock.as_secs_f64() * 1e3, LIMIT),
            Some(it) => (it.name, it.unit, kernel.abs() * FEW, LIMIT),
            None => (DISTANCES[place - QUANTITIES.len()], "", FEW, DISTANCE_LIMIT),
        };
        Self {
            name,
            unit,
            kernel,
            mean,
            error: (squares / (count - 1.0)).sqrt(),
            difference: ((kernel - mean).abs() - inexact).max(0.0),
            limit,
        }
    }

    fn agrees(&self) -> bool {
        self.difference <= self.limit * self.error
    }

    fn is_zero(&self) -> bool {
        self.kernel == 0.0 && self.mean == 0.0
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = if self.difference == 0.0 {
            "0".to_owned()
        } else {
            format!("{:.1}", self.difference / self.error)
        };
        let verdict = if self.agrees() {
            "within"
        } else {
            "**DIFFERS**"
        };
        let separator = if self.unit.is_empty() { "" } else { ", " };
        write!(
            f,
            "| {}{separator}{} | {:.4} | {:.4} | {:.4} | {apart} | {verdict} |",
            self.name, self.unit, self.kernel, self.mean, self.error
        )
    }
}

/// The distributions of many runs of ours together, to which each single run has a distance.
struct Yardstick {
    /// In nanoseconds.
    clock: u64,
    delays: Vec<u64>,
    bursts: Vec<u64>,
}

impl Yardstick {
    fn new(runs: impl Iterator<Item = Figures>, clock: Duration) -> Self {
        let mut pooled = Self {
            clock: units::duration::nanos(clock),
            delays: Vec::new(),
            bursts: Vec::new(),
        };
        for run in runs {
            pooled.delays.extend(run.delays);
            pooled.bursts.extend(run.bursts);
        }
        pooled.delays.sort_unstable();
        pooled.bursts.sort_unstable();
        pooled
    }

    /// All quantities of a run: [`QUANTITIES`], then [`DISTANCES`].
    fn values(&self, run: &Figures) -> Vec<f64> {
        let mut values: Vec<f64> = QUANTITIES.iter().map(|it| (it.of)(run)).collect();
        values.push(distance(&run.delays, &self.delays, self.clock));
        values.push(distance(&run.bursts, &self.bursts, 0));
        values
    }
}

/// The greatest difference of the cumulative shares of two ascending samples, as Kolmogorov and
/// Smirnov take it, that is left when each value may be wrong by `inexact`. 0 when one has none.
fn distance(one: &[u64], other: &[u64], inexact: u64) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    excess(one, other, inexact).max(excess(other, one, inexact))
}

/// By how much more of `one` than of `other` is below some value.
fn excess(one: &[u64], other: &[u64], inexact: u64) -> f64 {
    let (mut greatest, mut below_one, mut below_other) = (0.0, 0, 0);
    for values in one.chunk_by(|value, next| value == next) {
        below_one += values.len();
        let limit = values[0].saturating_add(inexact);
        let more = other[below_other..].iter();
        below_other += more.take_while(|value| **value <= limit).count();
        let share = below_one as f64 / one.len() as f64;
        greatest = f64::max(greatest, share - below_other as f64 / other.len() as f64);
    }
    greatest
}

/// What [`Yardstick::values`] adds.
const DISTANCES: [&str; 2] = ["delay, distance", "lost in a row, distance"];
/// By chance a difference exceeds so many errors, themselves estimated from 100 runs, about once in
/// 8,000 quantities (Student's t).
const LIMIT: f64 = 4.0;
/// The Kolmogorov distribution has a longer tail: beyond 5 errors once in 6,000.
const DISTANCE_LIMIT: f64 = 5.0;
/// Runs of the yardstick. Its own error is less than a fourth of a run's then.
const POOLED: u64 = 20;
/// The share of packets for which the exactness of clocks may decide, such as those that find a
/// full link at the moment when one leaves it. It matters where nothing is random.
const FEW: f64 = 1e-4;

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn the_distance_is_the_greatest_difference_of_cumulative_shares() {
        assert_eq!(distance(&[1, 2, 3, 4], &[1, 2, 3, 4], 0), 0.0);
        assert_eq!(distance(&[1, 1, 1, 5], &[1, 5, 5, 5], 0), 0.5);
        assert_eq!(distance(&[1, 5, 5, 5], &[1, 1, 1, 5], 0), 0.5);
        assert_eq!(distance(&[1, 2], &[3, 4], 0), 1.0);
        assert_eq!(distance(&[1, 2], &[3, 4], 1), 0.5);
        assert_eq!(distance(&[3, 4], &[1, 2], 2), 0.0);
        assert_eq!(distance(&[], &[3, 4], 0), 0.0);
    }

    #[test]
    fn a_run_of_ours_agrees_with_ours_and_one_of_another_link_does_not() {
        let trace = |link: &str| {
            let sent = sent();
            let received = arrivals(&link.parse().unwrap(), &sent, 1_000);
            Trace { sent, received }
        };
        let link = "delay 50ms 20ms loss 3%";
        for (theirs, agrees) in [
            (link, true),
            ("delay 51ms 20ms loss 3%", false),
            ("delay 50ms 22ms loss 3%", false),
            ("delay 50ms 20ms loss 5%", false),
            ("delay 50ms 20ms loss gemodel 1.5% 50%", false),
            ("delay 50ms 20ms loss 3% duplicate 1%", false),
            ("delay 50ms 20ms ordered loss 3%", false),
        ] {
            let clock = Duration::from_micros(1);
            let compared = Comparison::new(&link.parse().unwrap(), &trace(theirs), 20, clock);
            assert_eq!(compared.agrees(), agrees, "{theirs}:\n{compared}");
        }
    }

    fn sent() -> Vec<crate::trace::Sent> {
        let sent = |n| crate::trace::Sent {
            at: units::Timestamp::from_millis(n),
            size: units::Bytes::new(100 + n % 1_000),
        };
        (0..5_000).map(sent).collect()
    }
}
