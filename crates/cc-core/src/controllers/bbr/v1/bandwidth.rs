//! The highest delivery rate of recent round trips (`bbr_update_bw`, `bbr_max_bw`).

use crate::parts::windowed_max::WindowedMax;
use units::Bandwidth;

/// Maximum of the delivery rate over the newest round trips that had a sample of use.
///
/// The window moves with samples, not with rounds: application-limited samples below the maximum do
/// not age it, however long they last.
#[derive(Debug)]
pub(super) struct MaxBandwidth {
    filter: WindowedMax<Bandwidth, PERIODS>,
    periods: u64,
}

impl MaxBandwidth {
    /// A window of the current round trip and `rounds` before it, as the kernel's
    /// `minmax_running_max` counts it; at most [`MAX_BW_ROUNDS`].
    pub(super) fn new(rounds: u64) -> Self {
        Self {
            filter: WindowedMax::new(),
            periods: rounds + 1,
        }
    }

    /// The maximum; zero before the first sample.
    pub(super) fn get(&self) -> Bandwidth {
        self.filter.max_of(self.periods).unwrap_or_default()
    }

    /// A sample of round trip `round`.
    pub(super) fn on_sample(&mut self, rate: Bandwidth, is_app_limited: bool, round: u64) {
        if !is_app_limited || rate >= self.get() {
            self.filter.advance_to(round);
            self.filter.insert(rate);
        }
    }
}

/// Upper bound of `bw_rounds`: the size of the filter is fixed.
pub(super) const MAX_BW_ROUNDS: u64 = 31;

const PERIODS: usize = MAX_BW_ROUNDS as usize + 1;

#[cfg(test)]
mod tests {
    use super::*;

    const fn rate(bytes_per_sec: u64) -> Bandwidth {
        Bandwidth::from_bytes_per_sec(bytes_per_sec)
    }

    #[test]
    fn a_rate_is_remembered_for_ten_rounds_after_its_own() {
        let mut max = MaxBandwidth::new(10);
        assert_eq!(max.get(), Bandwidth::ZERO);
        max.on_sample(rate(900), false, 1);
        for round in 2..=11 {
            max.on_sample(rate(500), false, round);
            assert_eq!(max.get(), rate(900));
        }
        max.on_sample(rate(500), false, 12);
        assert_eq!(max.get(), rate(500));
    }

    #[test]
    fn an_application_limited_sample_neither_lowers_nor_ages_the_maximum() {
        let mut max = MaxBandwidth::new(10);
        max.on_sample(rate(900), false, 1);
        for round in 2..100 {
            max.on_sample(rate(100), true, round);
        }
        assert_eq!(max.get(), rate(900));
        max.on_sample(rate(901), true, 100);
        assert_eq!(max.get(), rate(901));
    }
}
