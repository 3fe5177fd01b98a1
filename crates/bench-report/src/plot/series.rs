use super::bounds::{MAX_POINTS, MAX_ROUNDS};
use crate::result::{AbResult, Finite, Interval, Quantity, Round, Variant};

/// A quantity over time: runs of points between which the figure is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Series(pub(super) Vec<Vec<(f64, f64)>>);

impl Series {
    /// A quantity of the sender in each interval, at the time the interval ends.
    pub(super) fn at_end(round: &Round, quantity: Quantity) -> Self {
        let mut runs = vec![Vec::new()];
        for interval in &round.intervals {
            match interval.sender.get(quantity) {
                Some(figure) => {
                    let run = runs.last_mut().expect("never empty");
                    run.push((interval.t.get(), figure.get()));
                }
                None => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        Self(runs)
    }

    /// The goodput of each interval, at the middle of it. Of more than [`MAX_MEANS`] intervals
    /// neighbours are joined: the mean of a longer stretch is as exact, and less noisy.
    pub(super) fn goodput(round: &Round) -> Self {
        Self::means(round, |interval| {
            Some(interval.goodput_bits_per_second as f64)
        })
    }

    /// The sender's samples of the delivery rate, joined in the same way.
    pub(super) fn delivery_rate(round: &Round) -> Self {
        Self::means(round, |interval| {
            let rate = interval.sender.get(Quantity::DeliveryRate);
            rate.map(Finite::get)
        })
    }

    /// The share of the datagrams that should have arrived and did not, joined in the same way.
    pub(super) fn datagram_loss(round: &Round) -> Self {
        Self::means(round, |interval| {
            let datagrams = interval.datagrams?;
            (datagrams.packets > 0).then(|| datagrams.lost as f64 / datagrams.packets as f64)
        })
    }

    /// The jitter of datagrams at the end of each interval.
    pub(super) fn jitter(round: &Round) -> Self {
        let known = round.intervals.iter().filter_map(|interval| {
            let datagrams = interval.datagrams?;
            Some((interval.t.get(), datagrams.jitter_ms.get()))
        });
        let run: Vec<(f64, f64)> = known.collect();
        Self((!run.is_empty()).then_some(run).into_iter().collect())
    }

    fn means(round: &Round, of: impl Fn(&Interval) -> Option<f64>) -> Self {
        let group = round.intervals.len().div_ceil(MAX_MEANS).max(1);
        let mut runs = vec![Vec::new()];
        for intervals in round.intervals.chunks(group) {
            let known = intervals.iter().filter_map(|i| Some((of(i)?, i.seconds)));
            let (seconds, sum) = known.fold((0.0, 0.0), |(seconds, sum), (rate, length)| {
                (seconds + length.get(), sum + rate * length.get())
            });
            let all: f64 = intervals.iter().map(|i| i.seconds.get()).sum();
            let end = intervals.last().map_or(0.0, |last| last.t.get());
            let run = runs.last_mut().expect("never empty");
            if seconds > 0.0 {
                run.push((end - all / 2.0, sum / seconds));
            } else if !run.is_empty() {
                runs.push(Vec::new());
            }
        }
        runs.retain(|run| !run.is_empty());
        Self(runs)
    }

    pub(super) fn divided_by(mut self, divisor: f64) -> Self {
        for (_, value) in self.0.iter_mut().flatten() {
            *value /= divisor;
        }
        self
    }

    pub(super) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().flatten().map(|&(_, value)| value)
    }

    /// The same line with at most `limit` points, eight or more: of each group of neighbours the
    /// smallest and the largest stay, so that no peak is lost. Of more runs than a quarter of the
    /// limit every second, third and so on stays.
    pub(super) fn thinned(self, limit: usize) -> Self {
        let total: usize = self.0.iter().map(Vec::len).sum();
        if total <= limit {
            return self;
        }
        let stride = self.0.len().div_ceil(limit / 4).max(1);
        let kept: Vec<&Vec<(f64, f64)>> = self.0.iter().step_by(stride).collect();
        // A run of n points leaves two for each group, the last group of it being a part of one.
        let full_groups = (limit - 2 * kept.len()) / 2;
        let group = total.div_ceil(full_groups);
        Self(kept.into_iter().map(|run| extremes(run, group)).collect())
    }
}

fn extremes(run: &[(f64, f64)], group: usize) -> Vec<(f64, f64)> {
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    run.chunks(group)
        .flat_map(|points| {
            let low = points.iter().min_by(by_value).copied();
            let high = points.iter().max_by(by_value).copied();
            let mut pair: Vec<(f64, f64)> = low.into_iter().chain(high).collect();
            pair.sort_by(|a, b| a.0.total_cmp(&b.0));
            pair.dedup();
            pair
        })
        .collect()
}

/// The round a figure draws bold: that of the median goodput among those that did not fail, the
/// slower of the middle two; the first with a time series when all failed.
pub(super) fn median_round(variant: &Variant) -> Option<&Round> {
    let mut rounds: Vec<&Round> = variant
        .rounds
        .iter()
        .filter(|round| round.succeeded() && !round.intervals.is_empty())
        .collect();
    if rounds.is_empty() {
        return variant
            .rounds
            .iter()
            .find(|round| !round.intervals.is_empty());
    }
    rounds.sort_by_key(|round| (round.goodput_bits_per_second, round.block));
    Some(rounds[(rounds.len() - 1) / 2])
}

/// Of each variant the round that figures draw bold.
pub(crate) fn bold_rounds(result: &AbResult) -> impl Iterator<Item = (&Variant, &Round)> {
    let variants = result.variants.iter();
    variants.filter_map(|variant| Some((variant, median_round(variant)?)))
}

pub(super) fn other_rounds(variant: &Variant) -> impl Iterator<Item = &Round> {
    let bold = median_round(variant).map(std::ptr::from_ref::<Round>);
    variant
        .rounds
        .iter()
        .take(MAX_ROUNDS)
        .filter(move |&round| Some(std::ptr::from_ref(round)) != bold)
}

/// How many points a thin line may have, so that many rounds together stay small.
pub(super) fn thin_limit(variant: &Variant) -> usize {
    MAX_POINTS / variant.rounds.len().clamp(1, 4)
}

/// The end of the longest round of all, in seconds.
pub(super) fn duration<'a>(variants: impl IntoIterator<Item = &'a Variant>) -> f64 {
    variants
        .into_iter()
        .flat_map(|variant| &variant.rounds)
        .filter_map(|round| round.intervals.last())
        .map(|interval| interval.t.get())
        .fold(0.0, f64::max)
}

/// Where the warm-up that the figures leave out ends, in seconds.
pub(super) fn warm_up(round: &Round) -> f64 {
    round
        .intervals
        .iter()
        .take_while(|interval| interval.omitted)
        .last()
        .map_or(0.0, |interval| interval.t.get())
}

/// More means than that of a line as wide as a figure do not stand out.
const MAX_MEANS: usize = 150;
