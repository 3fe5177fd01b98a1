use super::per_metric::{decided, value};
use crate::result::{AbResult, Comparison, Finite, Metric, Round, Variant};
use std::collections::BTreeMap;

/// What no round over the path of a test can have, however wide the interval of a few rounds
/// became: more goodput than the link's rate, or a round trip below that of the empty path or above
/// that with full queues.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathBounds {
    rate: Option<f64>,
    base_rtt: Option<f64>,
    longest_rtt: Option<f64>,
}

impl PathBounds {
    pub(super) fn of(result: &AbResult) -> Self {
        Self {
            rate: result.link_rate_bits_per_second.map(|rate| rate as f64),
            base_rtt: result.base_rtt_ms.map(Finite::get),
            longest_rtt: result.longest_rtt_ms.map(Finite::get),
        }
    }

    /// Moves the ends of intervals that lie beyond what can be to it, or to the farthest round: a
    /// link that changes may have had one beyond.
    pub(super) fn narrow(self, variant: &mut Variant) {
        let Variant {
            summary, rounds, ..
        } = variant;
        for (metric, summary) in summary {
            let bounds = self.bounds(*metric, rounds);
            if let (Some(least), Some(low)) = (bounds.least, &mut summary.low) {
                *low = Finite::new(low.get().max(least)).unwrap_or(*low);
            }
            if let (Some(most), Some(high)) = (bounds.most, &mut summary.high) {
                *high = Finite::new(high.get().min(most)).unwrap_or(*high);
            }
        }
    }

    /// The same of what two variants are to each other: `b` can have all that the path has, while
    /// `a` has the least that it had in a round.
    pub(super) fn narrow_comparison(
        self,
        comparison: &mut BTreeMap<Metric, Comparison>,
        [a, b]: [&[Round]; 2],
    ) {
        for (metric, comparison) in comparison {
            let [a, b] = [a, b].map(|rounds| self.bounds(*metric, rounds));
            let is_ratio = comparison.ratio_b_over_a.is_some();
            let (low, high) = match is_ratio {
                true => (&mut comparison.low, &mut comparison.high),
                false => (
                    &mut comparison.difference_low,
                    &mut comparison.difference_high,
                ),
            };
            let between = |b: f64, a: f64| if is_ratio { b / a } else { b - a };
            let least = b.least_or_seen().zip(a.most).map(|(b, a)| between(b, a));
            let least = least.or_else(|| Some(between(b.least?, a.most_seen?)));
            let most = b.most.zip(a.least_or_seen()).map(|(b, a)| between(b, a));
            let most = most.or_else(|| Some(between(b.most_seen?, a.least?)));
            if let (Some(least), Some(low)) = (least, low) {
                *low = Finite::new(low.get().max(least)).unwrap_or(*low);
            }
            if let (Some(most), Some(high)) = (most, high) {
                *high = Finite::new(high.get().min(most)).unwrap_or(*high);
            }
            comparison.decision = decided(comparison);
        }
    }

    fn bounds(self, metric: Metric, rounds: &[Round]) -> Bounds {
        let values = || rounds.iter().filter_map(|round| value(metric, round));
        let [least_seen, most_seen] = [values().reduce(f64::min), values().reduce(f64::max)];
        let (least, most) = match metric {
            Metric::GoodputBitsPerSecond => (None, self.rate),
            Metric::RttMsP50 | Metric::RttMsP95 | Metric::RttMsP99 => {
                let measured = least_of(rounds.iter().filter_map(|round| round.rtt_ms.min));
                (self.base_rtt.or(measured), self.longest_rtt)
            }
            Metric::QueueDelayMsP50 | Metric::QueueDelayMsP95 | Metric::QueueDelayMsP99 => {
                let both = self.longest_rtt.zip(self.base_rtt);
                (Some(0.0), both.map(|(longest, base)| longest - base))
            }
            Metric::FrameLatencyMsP50 | Metric::FrameLatencyMsP95 | Metric::FrameLatencyMsP99 => {
                let frames = rounds.iter().filter_map(|round| round.frames.as_ref());
                (least_of(frames.filter_map(|one| one.latency_ms.min)), None)
            }
            Metric::LossRate | Metric::FramesMissed => (None, Some(1.0)),
            _ => (None, None),
        };
        Bounds {
            least: least.map(|least| least_seen.map_or(least, |seen| least.min(seen))),
            most: most.map(|most| most_seen.map_or(most, |seen| most.max(seen))),
            least_seen,
            most_seen,
        }
    }
}

fn least_of(values: impl Iterator<Item = Finite>) -> Option<f64> {
    values.map(Finite::get).reduce(f64::min)
}

/// What the rounds of a variant can have of a metric, where that is known, and what they had.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: Option<f64>,
    most: Option<f64>,
    least_seen: Option<f64>,
    most_seen: Option<f64>,
}

impl Bounds {
    fn least_or_seen(self) -> Option<f64> {
        self.least.or(self.least_seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conclude;
    use super::*;
    use crate::fixtures;
    use crate::result::{Frames, RttMs};

    #[test]
    fn no_interval_reaches_beyond_what_the_path_has() {
        let mut result = fixtures::ab_of(
            &[60_000_000, 95_000_000, 99_000_000],
            &[101_000_000, 97_000_000, 60_000_000],
        );
        result.link_rate_bits_per_second = Some(100_000_000);
        result.base_rtt_ms = Finite::new(40.0);
        result.longest_rtt_ms = Finite::new(62.0);
        for variant in &mut result.variants {
            for (round, rtt) in variant.rounds.iter_mut().zip([41.0, 45.0, 60.0]) {
                round.rtt_ms.p50 = Finite::new(rtt);
                round.queue_delay_ms.p95 = Finite::new(rtt - 40.0);
            }
        }
        conclude(&mut result);
        let of = |place: usize, metric| result.variants[place].summary[&metric];
        let ends = |place, metric| (of(place, metric).low, of(place, metric).high);
        let goodput = Metric::GoodputBitsPerSecond;
        assert_eq!(ends(0, goodput).1, Finite::new(100_000_000.0));
        // A round that had more is no reason to leave it out.
        assert_eq!(ends(1, goodput).1, Finite::new(101_000_000.0));
        assert_eq!(ends(0, Metric::RttMsP50).0, Finite::new(40.0));
        assert_eq!(ends(0, Metric::RttMsP50).1, Finite::new(62.0));
        let (low, high) = ends(0, Metric::QueueDelayMsP95);
        assert!(low >= Some(Finite::ZERO));
        assert_eq!(high, Finite::new(22.0));
    }

    #[test]
    fn no_ratio_implies_more_than_the_path_has() {
        let a = [5_000_000, 9_000_000, 20_000_000];
        let b = [90_000_000, 95_000_000, 96_000_000];
        let mut result = fixtures::ab_of(&a, &b);
        result.link_rate_bits_per_second = Some(100_000_000);
        result.base_rtt_ms = Finite::new(40.0);
        for (variant, rtts) in result
            .variants
            .iter_mut()
            .zip([[40.0, 60.0, 90.0], [40.0; 3]])
        {
            for (round, rtt) in variant.rounds.iter_mut().zip(rtts) {
                round.rtt_ms.p50 = Finite::new(rtt);
            }
        }
        conclude(&mut result);
        let goodput = &result.comparison[&Metric::GoodputBitsPerSecond];
        // The whole link against the slowest round of a.
        assert_eq!(goodput.high, Finite::new(20.0));
        // The path alone against the longest of a.
        let rtt = &result.comparison[&Metric::RttMsP50];
        assert_eq!(rtt.low, Finite::new(40.0 / 90.0));
        assert_eq!(rtt.high, Finite::new(1.0));
    }

    #[test]
    fn without_a_known_path_no_round_trip_is_below_the_least_of_all() {
        let mut result = fixtures::ab();
        result.base_rtt_ms = None;
        for (round, rtt) in result.variants[0].rounds.iter_mut().zip([41.0, 45.0, 90.0]) {
            round.rtt_ms.p50 = Finite::new(rtt);
        }
        conclude(&mut result);
        let summary = &result.variants[0].summary[&Metric::RttMsP50];
        assert_eq!(summary.low, Finite::new(40.0));
    }

    #[test]
    fn no_frame_is_faster_than_the_fastest_of_all() {
        let mut result = fixtures::ab_of(&[1_000_000; 3], &[1_000_000; 3]);
        let latencies = [80.0, 41.0, 300.0];
        for (round, p99) in result.variants[0].rounds.iter_mut().zip(latencies) {
            let latency_ms = RttMs {
                min: Finite::new(40.0),
                p99: Finite::new(p99),
                ..RttMs::default()
            };
            round.frames = Some(Frames {
                latency_ms,
                ..Frames::default()
            });
        }
        conclude(&mut result);
        let summary = &result.variants[0].summary[&Metric::FrameLatencyMsP99];
        assert_eq!(summary.low, Finite::new(40.0));
    }
}
