//! The distribution of a run's delays in a few points.

use crate::result::{DelayShare, Finite};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::Gain;

/// How many samples are at most as long as each of a few values.
///
/// At most 64 points, one at every fortieth of the samples, and in the last tenth at ever smaller
/// steps, down to one in a hundred thousand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Distribution(Vec<Point>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    at: Duration,
    /// How many samples are not longer.
    at_most: u64,
}

impl Distribution {
    /// From the number of samples at each value, in ascending order of the values.
    pub fn new(counts: impl IntoIterator<Item = (Duration, u64)>, total: u64) -> Self {
        let mut wanted = shares().map(|share| share.of_ceil(total).max(1)).peekable();
        let mut points = Vec::new();
        let mut at_most: u64 = 0;
        for (at, count) in counts {
            at_most = at_most.saturating_add(count);
            let reached = std::iter::from_fn(|| wanted.next_if(|wanted| *wanted <= at_most));
            if reached.count() > 0 {
                points.push(Point { at, at_most });
            }
        }
        Self(points)
    }

    /// The samples of both. Between two of its points the samples of one are taken to lie evenly,
    /// rounded down to whole ones.
    pub fn plus(&self, other: &Self) -> Self {
        let delays = self.0.iter().chain(&other.0).map(|point| point.at);
        let mut delays: Vec<Duration> = delays.collect();
        delays.sort_unstable();
        delays.dedup();
        let both = |delay| self.at_most(delay).saturating_add(other.at_most(delay));
        let total = delays.last().copied().map_or(0, both);
        let mut before = 0;
        let counts = delays.into_iter().map(|delay| {
            let at_most = both(delay);
            let count = at_most.saturating_sub(before);
            before = at_most;
            (delay, count)
        });
        Self::new(counts, total)
    }

    /// The share of the samples that are at most as long, 0 to 1; `None` without samples.
    pub fn share_at_most(&self, delay: Duration) -> Option<f64> {
        let total = self.0.last()?.at_most;
        (total > 0).then(|| self.at_most(delay) as f64 / total as f64)
    }

    fn at_most(&self, delay: Duration) -> u64 {
        let next = self.0.partition_point(|point| point.at <= delay);
        let before = next.checked_sub(1).map(|index| self.0[index]);
        match (before, self.0.get(next)) {
            (None, _) => 0,
            (Some(before), None) => before.at_most,
            (Some(before), Some(next)) => {
                let passed = delay.saturating_sub(before.at).as_nanos();
                let span = next.at.saturating_sub(before.at).as_nanos().max(1);
                let between = u128::from(next.at_most.saturating_sub(before.at_most));
                let part = between.saturating_mul(passed) / span;
                before
                    .at_most
                    .saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
            }
        }
    }

    /// As results have it. What the other side has sent may be anything: it is cut to
    /// 64 points, and values and shares rise.
    pub fn shares(&self) -> Vec<DelayShare> {
        let points = &self.0[..self.0.len().min(MAX_POINTS)];
        let total = points.last().map_or(0, |point| point.at_most);
        let mut shares: Vec<DelayShare> = Vec::new();
        for point in points {
            let share = Finite::ratio(point.at_most.min(total), total);
            let Some(share) = share.filter(|share| *share > Finite::ZERO) else {
                continue;
            };
            let ms = Finite::millis(point.at);
            let rises = |last: &DelayShare| ms > last.ms && share > last.share;
            if shares.last().is_none_or(rises) {
                shares.push(DelayShare { ms, share });
            }
        }
        shares
    }
}

/// The mean of several distributions, so that each weighs the same, in at most `limit` points, two
/// or more.
pub fn mean(all: &[&[DelayShare]], limit: usize) -> Vec<DelayShare> {
    let delays = all.iter().copied().flatten();
    let mut delays: Vec<f64> = delays.map(|point| point.ms.get()).collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays.dedup();
    let Some(&last) = delays.last() else {
        return Vec::new();
    };
    let stride = delays.len().div_ceil(limit - 1);
    let kept = delays.into_iter().step_by(stride);
    let kept = kept.filter(|ms| *ms < last).chain([last]);
    let point = |ms| {
        let sum: f64 = all.iter().map(|shares| share_at(shares, ms)).sum();
        Some(DelayShare {
            ms: Finite::new(ms)?,
            share: Finite::new(sum / all.len() as f64)?,
        })
    };
    kept.filter_map(point).collect()
}

/// The share at `ms`: on the straight line between the two points around it.
fn share_at(shares: &[DelayShare], ms: f64) -> f64 {
    let next = shares.partition_point(|point| point.ms.get() <= ms);
    let value = |point: &DelayShare| (point.ms.get(), point.share.get());
    let before = next.checked_sub(1).map(|index| value(&shares[index]));
    match (before, shares.get(next).map(value)) {
        (None, _) => 0.0,
        (Some((_, share)), None) => share,
        (Some((from, low)), Some((to, high))) => low + (ms - from) / (to - from) * (high - low),
    }
}

/// Where a distribution has its points, in ascending order; the last is all.
fn shares() -> impl Iterator<Item = Gain> {
    let body = (1..=36).map(|fortieth| 25_000 * fortieth);
    let tail = (0..24).map(|step| 1_000_000 - SIXTHS[step % 6] / 10_u64.pow(step as u32 / 6));
    let ends = [1, 10_000].into_iter();
    let all = ends.chain(body).chain(tail).chain([1_000_000]);
    all.map(Gain::from_millionths)
}

/// A tenth in millionths, divided by 10^(1/6), 10^(2/6) and so on.
const SIXTHS: [u64; 6] = [68_129, 46_416, 31_623, 21_544, 14_678, 10_000];

/// As many as `shares` has, and one.
const MAX_POINTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(shares: &[DelayShare], ms: f64) -> f64 {
        let reached = shares.iter().take_while(|share| share.ms.get() <= ms);
        reached.last().map_or(0.0, |share| share.share.get())
    }

    #[test]
    fn the_points_rise_to_all_and_are_dense_in_the_tail() {
        let shares: Vec<u64> = shares().map(Gain::millionths).collect();
        assert!(shares.is_sorted_by(|a, b| a < b), "{shares:?}");
        assert!(shares.len() < MAX_POINTS, "{}", shares.len());
        assert_eq!(shares.last(), Some(&1_000_000));
        let beyond = |share: u64| shares.iter().filter(|s| **s > share).count();
        assert_eq!((beyond(900_000), beyond(999_000)), (25, 13));
    }

    #[test]
    fn a_share_is_exactly_that_of_the_samples_at_most_as_long() {
        let uniform = (1..=1_000).map(|n| (n * MS, 1));
        let shares = Distribution::new(uniform, 1_000).shares();
        assert!(shares.len() <= MAX_POINTS);
        for share in &shares {
            assert_eq!(share.share.get(), share.ms.get() / 1_000.0);
        }
        assert_eq!((at(&shares, 500.0), at(&shares, 999.0)), (0.5, 0.999));
        // Half of the samples are of one length, which no point can split.
        let shares = Distribution::new([(MS, 3), (2 * MS, 5), (9 * MS, 2)], 10).shares();
        let pairs: Vec<(f64, f64)> = shares.iter().map(|s| (s.ms.get(), s.share.get())).collect();
        assert_eq!(pairs, [(1.0, 0.3), (2.0, 0.8), (9.0, 1.0)]);
    }

    fn points(points: &[(f64, f64)]) -> Vec<DelayShare> {
        let finite = |value| Finite::new(value).unwrap();
        let point = |&(ms, share)| DelayShare {
            ms: finite(ms),
            share: finite(share),
        };
        points.iter().map(point).collect()
    }

    #[test]
    fn between_two_points_a_share_lies_on_their_line() {
        let shares = points(&[(10.0, 0.2), (20.0, 0.8), (40.0, 1.0)]);
        let at = |ms| share_at(&shares, ms);
        assert_eq!((at(9.9), at(10.0), at(15.0)), (0.0, 0.2, 0.5));
        assert_eq!((at(40.0), at(99.0)), (1.0, 1.0));
    }

    #[test]
    fn in_the_mean_each_distribution_weighs_the_same() {
        let one = points(&[(10.0, 0.5), (20.0, 1.0)]);
        let other = points(&[(20.0, 0.5), (30.0, 1.0)]);
        let expected = points(&[(10.0, 0.25), (20.0, 0.75), (30.0, 1.0)]);
        assert_eq!(mean(&[&one, &other], 64), expected);
        assert_eq!(
            mean(&[&one, &other], 2),
            points(&[(10.0, 0.25), (30.0, 1.0)])
        );
        assert_eq!(mean(&[], 64), []);
        assert_eq!(mean(&[&[]], 64), []);
    }

    #[test]
    fn the_samples_of_two_connections_add_up() {
        let one = Distribution::new([(MS, 2), (3 * MS, 4)], 6);
        let other = Distribution::new([(2 * MS, 4)], 4);
        let both = one.plus(&other).shares();
        // Two of the four samples up to 3 ms are taken for shorter than 2 ms.
        assert_eq!(both, points(&[(1.0, 0.2), (2.0, 0.8), (3.0, 1.0)]));
        assert_eq!(one.plus(&Distribution::default()).shares(), one.shares());
        assert_eq!(Distribution::default().plus(&one).shares(), one.shares());
    }

    #[test]
    fn nothing_has_no_points() {
        assert_eq!(Distribution::new([], 0).shares(), []);
    }

    #[test]
    fn what_a_peer_invents_still_rises_and_is_bounded() {
        let point = |ms: u32, at_most| Point {
            at: ms * MS,
            at_most,
        };
        let unsorted = Distribution(vec![point(9, 1), point(1, 5), point(5, 2)]);
        assert!(unsorted.plus(&unsorted).shares().len() <= MAX_POINTS);
        let falling = Distribution(vec![point(5, 9), point(4, 3), point(6, 2), point(7, 10)]);
        let delays: Vec<f64> = falling.shares().iter().map(|s| s.ms.get()).collect();
        assert_eq!(delays, [5.0, 7.0]);
        let shrinking = Distribution(vec![point(1, 9), point(2, 3)]).shares();
        assert_eq!((shrinking.len(), shrinking[0].share), (1, Finite::ONE));
        let many = Distribution((1..=1_000).map(|n| point(n, u64::from(n))).collect());
        assert_eq!(many.shares().len(), MAX_POINTS);
        let nothing = Distribution(vec![point(1, 0)]);
        assert_eq!(nothing.shares(), []);
    }
}
