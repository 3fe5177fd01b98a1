//! The congestion signals of a round trip, and those of a flight (draft-ietf-ccwg-bbr-06 §2.10,
//! §5.5.10).

use crate::sampler::RateSample;
use units::{Bandwidth, Bytes, Gain};

/// The signals of the present loss round, a round trip.
#[derive(Debug, Default)]
pub(super) struct Congestion {
    /// Whether a packet was lost in the round: `is_loss_in_round`.
    pub(super) is_loss_in_round: bool,
    /// Whether the ACK at hand ended a round: `loss_round_start`.
    pub(super) is_round_start: bool,
    /// Highest delivery rate of the round: `bw_latest`.
    pub(super) bw_latest: Bandwidth,
    /// Maximum volume delivered within one sample of the round: `inflight_latest`.
    pub(super) inflight_latest: Bytes,
    /// A packet that left after this much had been delivered ends the round:
    /// `loss_round_delivered`.
    pub(super) round_end: Bytes,
    /// Separate ranges of packets lost in the round.
    pub(super) lost_ranges: u64,
    /// Bytes marked Congestion Experienced in the round.
    pub(super) marked: Bytes,
}

impl Congestion {
    /// UpdateLatestDeliverySignals, near the start of ACK processing.
    pub(super) fn update_latest(&mut self, sample: &RateSample, delivered: Bytes) {
        self.bw_latest = self.bw_latest.max(sample.delivery_rate.unwrap_or_default());
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.is_round_start = sample.prior_delivered >= self.round_end;
        if self.is_round_start {
            self.round_end = delivered;
        }
    }

    /// AdvanceLatestDeliverySignals, near the end of ACK processing.
    pub(super) fn advance_latest(&mut self, sample: &RateSample) {
        if self.is_round_start {
            self.bw_latest = sample.delivery_rate.unwrap_or_default();
            self.inflight_latest = sample.delivered;
            self.forget_losses();
        }
    }

    /// ResetCongestionSignals.
    pub(super) fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Bandwidth::ZERO;
        self.inflight_latest = Bytes::ZERO;
    }

    /// The losses of the round no longer count.
    pub(super) fn forget_losses(&mut self) {
        self.is_loss_in_round = false;
        self.lost_ranges = 0;
        self.marked = Bytes::ZERO;
    }
}

/// What a flight has lost: the fields of the rate sample that loss is judged by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    /// In flight when the packet had left: `RS.tx_in_flight`.
    pub(super) tx_in_flight: Bytes,
    /// Lost since: `RS.lost`.
    pub(super) lost: Bytes,
    /// Whether the application limited it: `RS.is_app_limited`.
    pub(super) is_app_limited: bool,
}

impl Flight {
    /// InflightAtLoss: the amount in flight at which the loss rate reached `loss_thresh`, somewhere
    /// within the lost packet of `size` bytes, which may be a burst of many.
    ///
    /// Where the losses before the packet had reached it already, that is the amount before the
    /// packet. Rounds down.
    pub(super) fn at_loss(&self, size: Bytes, loss_thresh: Gain) -> Bytes {
        let inflight_before = self.tx_in_flight.saturating_sub(size);
        let lost_before = self.lost.saturating_sub(size);
        let budget = (inflight_before * loss_thresh).saturating_sub(lost_before);
        // Divides by 1 − loss_thresh, which the parameter's range keeps at one half or more.
        let kept = loss_thresh.complement();
        let prefix = budget * Gain::new(Gain::ONE.millionths(), kept.millionths());
        inflight_before + prefix.min(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(tx_in_flight: u64, lost: u64) -> Flight {
        Flight {
            tx_in_flight: Bytes::new(tx_in_flight),
            lost: Bytes::new(lost),
            is_app_limited: false,
        }
    }

    #[test]
    fn the_threshold_is_found_within_a_lost_burst() {
        // 100,000 before the burst, nothing lost: 2 % is crossed 2,000 / 0.98 bytes into it.
        let at = flight(110_000, 10_000).at_loss(Bytes::new(10_000), Gain::percent(2));
        assert_eq!(at, Bytes::new(102_040));
    }

    #[test]
    fn losses_that_crossed_it_earlier_leave_the_flight_before_the_packet() {
        let at = flight(101_200, 5_000).at_loss(Bytes::new(1_200), Gain::percent(2));
        assert_eq!(at, Bytes::new(100_000));
        // More than was in flight can be lost where packets were declared lost late.
        assert_eq!(
            flight(1_200, 9_000).at_loss(Bytes::new(2_400), Gain::percent(2)),
            Bytes::ZERO
        );
    }

    #[test]
    fn a_loss_round_ends_with_a_packet_that_left_after_it_began() {
        let sample = |prior: u64| RateSample {
            prior_delivered: Bytes::new(prior),
            ..crate::tests::controller_driver::sample()
        };
        let mut congestion = Congestion::default();
        congestion.update_latest(&sample(0), Bytes::new(1_000));
        assert!(congestion.is_round_start);
        congestion.update_latest(&sample(999), Bytes::new(7_000));
        assert!(!congestion.is_round_start);
        congestion.update_latest(&sample(1_000), Bytes::new(8_000));
        assert!(congestion.is_round_start);
    }
}
