//! Round-trip time estimates (RFC 9002 §5).

use crate::controller::PathState;
use core::time::Duration;
use units::duration::nanos;

impl PathState {
    /// Exponentially weighted averages with 1/8 for the mean and 1/4 for the deviation, rounded
    /// down to a nanosecond.
    pub(crate) fn on_rtt(&mut self, rtt: Duration) {
        let sample = nanos(rtt);
        let (mean, deviation) = match (self.srtt, self.rttvar) {
            (Some(mean), Some(deviation)) => {
                let (mean, deviation) = (nanos(mean), nanos(deviation));
                let distance = mean.abs_diff(sample);
                (weighted(mean, 7, sample), weighted(deviation, 3, distance))
            }
            _ => (sample, sample / 2),
        };
        self.latest_rtt = Some(rtt);
        self.srtt = Some(Duration::from_nanos(mean));
        self.rttvar = Some(Duration::from_nanos(deviation));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }
}

/// The mean of `weight` parts of `old` and one of `new`; of 73 years at most.
fn weighted(old: u64, weight: u64, new: u64) -> u64 {
    old.saturating_mul(weight).saturating_add(new) / (weight + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Timestamp};

    const MS: Duration = Duration::from_millis(1);

    fn after(millis: &[u32]) -> PathState {
        let mut path = PathState::new(Timestamp::ZERO, Bytes::new(1_200));
        millis.iter().for_each(|sample| path.on_rtt(MS * *sample));
        path
    }

    #[test]
    fn the_first_sample_is_the_mean_and_half_of_it_the_deviation() {
        let first = after(&[80]);
        assert_eq!(first.srtt.zip(first.rttvar), Some((MS * 80, MS * 40)));
        assert_eq!(
            first.latest_rtt.zip(first.min_rtt),
            Some((MS * 80, MS * 80))
        );
    }

    #[test]
    fn later_samples_move_the_mean_by_an_eighth_and_the_deviation_by_a_quarter() {
        let second = after(&[80, 160]);
        assert_eq!(second.srtt, Some(MS * 90));
        // Of the distance from the mean before this sample: (3 · 40 + 80) ÷ 4.
        assert_eq!(second.rttvar, Some(MS * 50));
        assert_eq!(
            second.latest_rtt.zip(second.min_rtt),
            Some((MS * 160, MS * 80))
        );
    }

    #[test]
    fn averages_round_down_to_a_nanosecond() {
        let mut path = after(&[80]);
        path.on_rtt(MS * 80 - Duration::from_nanos(1));
        assert_eq!(path.srtt, Some(MS * 80 - Duration::from_nanos(1)));
        assert_eq!(path.rttvar, Some(MS * 30));
    }

    #[test]
    fn the_least_is_the_least_of_all() {
        assert_eq!(after(&[80, 20, 90]).min_rtt, Some(MS * 20));
    }

    #[test]
    fn the_longest_time_is_only_a_number() {
        let mut path = after(&[80]);
        (0..100).for_each(|_| path.on_rtt(Duration::MAX));
        assert!(path.srtt > Some(Duration::from_secs(1 << 31)));
    }
}
