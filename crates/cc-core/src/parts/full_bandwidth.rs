//! Full-bandwidth estimator: whether sending faster still makes the network deliver faster
//! (draft-ietf-ccwg-bbr-06 §5.3.1.2).

use units::{Bandwidth, Gain};

/// Detects a plateau of the delivery rate while the sender accelerates.
#[derive(Debug, Default)]
pub(crate) struct FullBandwidthEstimator {
    /// Whether the pipe was full at any time since the flow began: `full_bw_reached`.
    pub(crate) is_reached: bool,
    /// Whether it has been full since the search last began: `full_bw_now`.
    pub(crate) is_now: bool,
    /// The rate that growth is measured against: `full_bw`.
    baseline: Bandwidth,
    /// Rounds without growth: `full_bw_count`.
    flat_rounds: u64,
}

impl FullBandwidthEstimator {
    /// ResetFullBW, with `baseline` as the rate to beat.
    pub(crate) fn restart(&mut self, baseline: Bandwidth) {
        self.is_now = false;
        self.baseline = baseline;
        self.flat_rounds = 0;
    }

    /// CheckFullBWReached: a round has ended with a delivery rate that the application did not
    /// limit.
    pub(crate) fn on_round(&mut self, rate: Bandwidth) {
        if self.is_now || self.on_growth(rate) {
            return;
        }
        self.flat_rounds += 1;
        if self.flat_rounds >= FULL_BW_ROUNDS {
            self.set_full();
        }
    }

    /// Whether `rate` is so much more than the baseline as to count as growth; then it is what
    /// further growth is measured against.
    pub(crate) fn on_growth(&mut self, rate: Bandwidth) -> bool {
        let has_grown = rate >= self.baseline * FULL_BW_GROWTH;
        if has_grown {
            self.restart(rate);
        }
        has_grown
    }

    /// The pipe is full, whatever shows it.
    pub(crate) fn set_full(&mut self) {
        self.is_now = true;
        self.is_reached = true;
    }
}

/// Growth per round below which the delivery rate counts as flat.
const FULL_BW_GROWTH: Gain = Gain::new(5, 4);

/// Flat rounds until the pipe counts as full: a receiver may need some to open its window.
const FULL_BW_ROUNDS: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rates: &[u64]) -> FullBandwidthEstimator {
        let mut pipe = FullBandwidthEstimator::default();
        for rate in rates {
            pipe.on_round(Bandwidth::from_bytes_per_sec(*rate));
        }
        pipe
    }

    #[test]
    fn three_flat_rounds_fill_the_pipe_and_two_do_not() {
        assert!(!after(&[1_000, 1_100, 1_200]).is_now);
        assert!(after(&[1_000, 1_100, 1_200, 1_249]).is_reached);
    }

    #[test]
    fn a_quarter_more_than_the_baseline_starts_the_count_again() {
        assert!(!after(&[1_000, 1_100, 1_200, 1_250, 1_250, 1_250]).is_now);
        assert!(after(&[1_000, 1_100, 1_200, 1_250, 1_250, 1_250, 1_250]).is_now);
    }

    #[test]
    fn a_new_search_forgets_the_plateau_but_not_that_there_was_one() {
        let mut pipe = after(&[1_000, 1_000, 1_000, 1_000]);
        pipe.restart(Bandwidth::from_bytes_per_sec(1_000));
        assert!(pipe.is_reached && !pipe.is_now);
    }
}
