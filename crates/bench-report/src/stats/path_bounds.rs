use super::per_metric::value;
use crate::result::{AbResult, Finite, Metric, Variant};

/// What no round over the path of a test can have, however wide the interval of a few rounds
/// became: more goodput than the link's rate, or a round trip below that of the empty path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathBounds {
    rate: Option<f64>,
    base_rtt: Option<f64>,
}

impl PathBounds {
    pub(super) fn of(result: &AbResult) -> Self {
        Self {
            rate: result.link_rate_bits_per_second.map(|rate| rate as f64),
            base_rtt: result.base_rtt_ms.map(Finite::get),
        }
    }

    /// Moves the ends of intervals that lie beyond what can be to it, or to the farthest round: a
    /// link that changes may have had one beyond.
    pub(super) fn narrow(self, variant: &mut Variant) {
        for (metric, summary) in &mut variant.summary {
            let values = || {
                variant
                    .rounds
                    .iter()
                    .filter_map(|round| value(*metric, round))
            };
            let (least, most) = match metric {
                Metric::GoodputBitsPerSecond => (None, self.rate),
                Metric::RttMsP50 | Metric::RttMsP95 | Metric::RttMsP99 => (self.base_rtt, None),
                Metric::LossRate | Metric::FramesMissed => (None, Some(1.0)),
                _ => (None, None),
            };
            if let (Some(least), Some(low)) = (least, &mut summary.low) {
                let least = values().fold(least, f64::min);
                *low = Finite::new(low.get().max(least)).unwrap_or(*low);
            }
            if let (Some(most), Some(high)) = (most, &mut summary.high) {
                let most = values().fold(most, f64::max);
                *high = Finite::new(high.get().min(most)).unwrap_or(*high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::conclude;
    use super::*;
    use crate::fixtures;

    #[test]
    fn no_interval_reaches_beyond_what_the_path_has() {
        let mut result = fixtures::ab_of(
            &[60_000_000, 95_000_000, 99_000_000],
            &[101_000_000, 97_000_000, 60_000_000],
        );
        result.link_rate_bits_per_second = Some(100_000_000);
        result.base_rtt_ms = Finite::new(40.0);
        for variant in &mut result.variants {
            for (round, rtt) in variant.rounds.iter_mut().zip([41.0, 45.0, 60.0]) {
                round.rtt_ms.p50 = Finite::new(rtt);
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
        assert!(ends(0, Metric::RttMsP50).1 > Finite::new(60.0));
    }
}
