//! Whether another flow fills the queue (§2.2).

use super::params::MODE_PERIODS;
use crate::parts::windowed_max::WindowedMax;
use core::cmp::Reverse;
use core::time::Duration;
use units::Gain;

/// Detects when the queue is nearly empty.
///
/// Copa alone empties it once in five round trips (§3); with one flow beside it that fills queues
/// it is never empty for that long.
#[derive(Debug)]
pub(super) struct Detector {
    min_rtts: WindowedMax<Reverse<Duration>, MODE_PERIODS>,
    max_rtts: WindowedMax<Duration, MODE_PERIODS>,
    /// Round trips in which the queue has to be nearly empty once.
    empty_rounds: u64,
    /// Round trips over which `RTTmax` is the greatest.
    max_rounds: u64,
    /// Share of the range of delays below which a queue counts as nearly empty.
    threshold: Gain,
}

impl Detector {
    pub(super) fn new(empty_rounds: u64, max_rounds: u64, threshold: Gain) -> Self {
        Self {
            min_rtts: WindowedMax::new(),
            max_rtts: WindowedMax::new(),
            empty_rounds,
            max_rounds,
            threshold,
        }
    }

    /// A sample in round trip `round`. Round trips are counted by packets, so that idle time is
    /// none.
    pub(super) fn on_rtt(&mut self, round: u64, rtt: Duration) {
        self.min_rtts.advance_to(round);
        self.max_rtts.advance_to(round);
        self.min_rtts.insert(Reverse(rtt));
        self.max_rtts.insert(rtt);
    }

    /// Whether the queue was nearly empty in the newest round trips: `dq` at most a tenth of
    /// `RTTmax − RTTmin`, or at most `grain`, the time of a few packets. Equal counts, because
    /// where nothing ever waits all are zero. The round trip that has not ended counts in addition
    /// to the full ones.
    pub(super) fn saw_empty_queue(&self, rtt_min: Duration, grain: Duration) -> bool {
        let least = self.min_rtts.max_of(self.empty_rounds + 1);
        let greatest = self.max_rtts.max_of(self.max_rounds + 1);
        let (Some(Reverse(least)), Some(greatest)) = (least, greatest) else {
            return true;
        };
        let range = greatest.saturating_sub(rtt_min);
        let nearly_empty = units::duration::scale(range, self.threshold).max(grain);
        least.saturating_sub(rtt_min) <= nearly_empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Whether the queue was seen empty after each of these samples, one to a round trip.
    fn seen(rtt_min: u64, rtts: &[u64]) -> alloc::vec::Vec<bool> {
        let mut detector = Detector::new(5, 4, Gain::new(1, 10));
        let after = |(round, rtt): (usize, &u64)| {
            detector.on_rtt(round as u64, ms(*rtt));
            detector.saw_empty_queue(ms(rtt_min), ms(0))
        };
        rtts.iter().enumerate().map(after).collect()
    }

    #[test]
    fn a_queue_empty_in_one_of_five_round_trips_is_nobody_elses() {
        let rtts = [100, 120, 140, 160, 180, 200, 200];
        // 100 is round 0 and counts until five full round trips are after it.
        assert_eq!(
            seen(100, &rtts),
            [true, true, true, true, true, true, false]
        );
    }

    #[test]
    fn nearly_empty_is_a_tenth_of_the_range_of_four_round_trips() {
        // The range is 100 ms.
        assert!(seen(100, &[200, 110])[1]);
        assert!(!seen(100, &[200, 111])[1]);
        // The 200 ms are five round trips ago: of the range of 50 ms that is left, 10 are a fifth.
        let rtts = [200, 150, 110, 150, 150, 150];
        assert_eq!(seen(100, &rtts)[4..], [true, false]);
    }

    #[test]
    fn a_few_packets_are_no_queue() {
        let mut detector = Detector::new(5, 4, Gain::new(1, 10));
        detector.on_rtt(0, ms(103));
        assert!(!detector.saw_empty_queue(ms(100), ms(2)));
        assert!(detector.saw_empty_queue(ms(100), ms(3)));
    }

    #[test]
    fn no_queue_at_all_and_no_sample_are_empty() {
        assert!(seen(100, &[100])[0]);
        let detector = Detector::new(5, 4, Gain::new(1, 10));
        assert!(detector.saw_empty_queue(ms(100), ms(0)));
    }

    #[test]
    fn silence_makes_no_round_trip() {
        let mut detector = Detector::new(5, 4, Gain::new(1, 10));
        detector.on_rtt(7, ms(100));
        detector.on_rtt(8, ms(200));
        assert!(detector.saw_empty_queue(ms(100), ms(0)));
    }
}
