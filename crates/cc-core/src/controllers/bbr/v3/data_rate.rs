//! How fast the path delivers: max_bw, bw_shortterm and bw (draft-ietf-ccwg-bbr-06 §2.9.1,
//! §5.5.2–§5.5.6).

use super::params::MAX_BW_CYCLES;
use crate::parts::windowed_max::WindowedMax;
use units::{Bandwidth, Gain};

/// The data rate of the model, on both of its time scales.
#[derive(Debug)]
pub(super) struct DataRate {
    /// Delivery rates by ProbeBW cycle: `max_bw_filter`.
    filter: WindowedMax<Bandwidth, MAX_BW_CYCLES>,
    /// The maximum of the filter, which is read many times per ACK and rarely changes.
    max_bw: Bandwidth,
    /// Time of the filter in cycles: `cycle_count`.
    pub(super) cycle: u64,
    /// Bound learned from loss since the last probe: `bw_shortterm`; [`Bandwidth::MAX`] is none.
    pub(super) shortterm: Bandwidth,
}

impl DataRate {
    pub(super) fn new() -> Self {
        Self {
            filter: WindowedMax::new(),
            max_bw: Bandwidth::ZERO,
            cycle: 0,
            shortterm: Bandwidth::MAX,
        }
    }

    /// The highest rate delivered in this ProbeBW cycle and the one before; zero before the first
    /// sample.
    pub(super) fn max_bw(&self) -> Bandwidth {
        self.max_bw
    }

    /// BoundBWForModel: the rate that all signals together allow.
    pub(super) fn bw(&self) -> Bandwidth {
        self.max_bw().min(self.shortterm)
    }

    /// UpdateMaxBw: an application-limited sample is a lower bound, and counts only above the
    /// maximum.
    pub(super) fn on_sample(&mut self, rate: Bandwidth, is_app_limited: bool) {
        let greatest = self.filter.present();
        let is_news = greatest.is_none_or(|greatest| rate > greatest);
        if is_news && (!is_app_limited || rate >= self.max_bw) {
            self.filter.insert(rate);
            self.max_bw = self.newest_max();
        }
    }

    /// AdvanceMaxBwFilter: the samples of a probe are in. A cycle without any sample does not end,
    /// or two such cycles would leave no estimate.
    pub(super) fn advance(&mut self) {
        if self.filter.present().is_some() {
            self.cycle += 1;
            self.filter.advance_to(self.cycle);
            self.max_bw = self.newest_max();
        }
    }

    fn newest_max(&self) -> Bandwidth {
        self.filter.max_of(MAX_BW_CYCLES as u64).unwrap_or_default()
    }

    /// A round with loss: the bound falls to what was delivered in it, but by no more than `beta`.
    pub(super) fn cut_shortterm(&mut self, latest: Bandwidth, beta: Gain) {
        let before = if self.shortterm == Bandwidth::MAX {
            self.max_bw()
        } else {
            self.shortterm
        };
        self.shortterm = latest.max(before * beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn rate(bytes_per_sec: u64) -> Bandwidth {
        Bandwidth::from_bytes_per_sec(bytes_per_sec)
    }

    #[test]
    fn a_rate_is_remembered_for_its_cycle_and_the_next() {
        let mut data_rate = DataRate::new();
        data_rate.on_sample(rate(10), false);
        data_rate.advance();
        data_rate.on_sample(rate(4), false);
        assert_eq!(data_rate.max_bw(), rate(10));
        data_rate.advance();
        assert_eq!(data_rate.max_bw(), rate(4));
        data_rate.on_sample(rate(3), false);
        assert_eq!(data_rate.max_bw(), rate(4));
    }

    #[test]
    fn a_cycle_without_samples_does_not_age_the_estimate() {
        let mut data_rate = DataRate::new();
        data_rate.on_sample(rate(10), false);
        for _ in 0..5 {
            data_rate.advance();
        }
        assert_eq!(data_rate.max_bw(), rate(10));
    }

    #[test]
    fn an_application_limited_sample_counts_only_upwards() {
        let mut data_rate = DataRate::new();
        data_rate.on_sample(rate(10), false);
        data_rate.advance();
        data_rate.on_sample(rate(9), true);
        data_rate.advance();
        assert_eq!(data_rate.max_bw(), rate(10));
        data_rate.on_sample(rate(11), true);
        assert_eq!(data_rate.max_bw(), rate(11));
    }

    #[test]
    fn a_round_with_loss_cuts_to_what_was_delivered_but_not_below_beta() {
        let mut data_rate = DataRate::new();
        data_rate.on_sample(rate(1_000), false);
        data_rate.cut_shortterm(rate(950), Gain::new(7, 10));
        assert_eq!(data_rate.bw(), rate(950));
        data_rate.cut_shortterm(rate(10), Gain::new(7, 10));
        assert_eq!(data_rate.bw(), rate(665));
        assert_eq!(data_rate.max_bw(), rate(1_000));
    }
}
