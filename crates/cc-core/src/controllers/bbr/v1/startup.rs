//! When Startup has filled the pipe (`bbr_check_full_bw_reached`).

use super::params::Tuning;
use crate::parts::full_bandwidth::FullBandwidthEstimator;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// Detects a plateau of the bandwidth, and a queue that overflows on it.
///
/// Two rules are ours (docs/bbr1.md). A round of packet conservation cannot deliver more than the
/// one before, whatever the path has, so it is flat only if all its packets were queued. And where
/// [`Tuning::full_loss_thresh`] asks for it, one flat round is enough whose packets all waited and
/// of which more was lost than that: two more like it would show nothing new, and lose as much
/// again.
#[derive(Debug, Default)]
pub(super) struct Plateau {
    full_bw: FullBandwidthEstimator,
    /// The minimum round-trip time of the round under way.
    round_min_rtt: Option<Duration>,
    /// Lost in it, less spurious losses.
    lost: Bytes,
}

/// An ACK as the search for the plateau sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlateauAck {
    /// Whether it ends a round.
    pub(super) is_round_start: bool,
    /// Whether only as much could leave in that round as was delivered.
    pub(super) was_conserving: bool,
    pub(super) max_bw: Bandwidth,
    pub(super) min_rtt: Option<Duration>,
    pub(super) mss: Bytes,
}

impl Plateau {
    /// `full_bw_reached`.
    pub(super) fn is_full(&self) -> bool {
        self.full_bw.is_reached
    }

    /// The search begins anew; a pipe that was full stays so.
    pub(super) fn restart(&mut self) {
        self.full_bw.restart(Bandwidth::ZERO);
    }

    pub(super) fn on_ack(&mut self, ack: &PlateauAck, sample: &RateSample, tuning: &Tuning) {
        if self.is_full() {
            return;
        }
        self.round_min_rtt = match (self.round_min_rtt, sample.rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (one, other) => one.or(other),
        };
        self.lost += sample.newly_lost;
        if ack.is_round_start {
            if !sample.is_app_limited {
                self.on_round(ack, sample.tx_in_flight, tuning);
            }
            self.begin_round();
        }
    }

    /// A recovery begins, and a round with it. The growth of the round that it ends early does not
    /// count for the next.
    pub(super) fn on_recovery(&mut self, max_bw: Bandwidth, tuning: &Tuning) {
        if loss_ends_startup(tuning) {
            self.full_bw.on_growth(max_bw);
            self.begin_round();
        }
    }

    /// A packet that was declared lost has arrived.
    pub(super) fn on_late(&mut self, bytes: Bytes) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    fn on_round(&mut self, ack: &PlateauAck, inflight: Bytes, tuning: &Tuning) {
        let is_queued = self.is_queued(ack.min_rtt);
        if ack.was_conserving && !is_queued && !tuning.flat_while_conserving {
            return;
        }
        let bearable = (inflight * tuning.full_loss_thresh).max(ack.mss * FEW_PACKETS);
        let is_overflowing = loss_ends_startup(tuning) && is_queued && self.lost > bearable;
        if is_overflowing && !self.full_bw.on_growth(ack.max_bw) {
            self.full_bw.set_full();
        } else {
            self.full_bw.on_round(ack.max_bw);
        }
    }

    /// Whether all packets of the round were queued.
    fn is_queued(&self, min_rtt: Option<Duration>) -> bool {
        let rtts = self.round_min_rtt.zip(min_rtt);
        rtts.is_some_and(|(least, min_rtt)| least > units::duration::scale(min_rtt, QUEUED))
    }

    fn begin_round(&mut self) {
        self.round_min_rtt = None;
        self.lost = Bytes::ZERO;
    }
}

/// Whether loss can end Startup.
fn loss_ends_startup(tuning: &Tuning) -> bool {
    tuning.full_loss_thresh < Gain::ONE
}

/// A round trip so much longer than the shortest is due to a queue and not to noise: at the plateau
/// of Startup it is 2.885 times as long, or as long as the queue allows.
const QUEUED: Gain = Gain::new(5, 4);

/// Fewer lost packets may be chance and not overflow; google/quiche requires eight, too.
const FEW_PACKETS: u64 = 7;

#[cfg(test)]
mod tests {
    use super::super::tests::tuning;
    use super::*;
    use crate::tests::controller_driver::sample;

    const MS: Duration = Duration::from_millis(1);
    const MIN_RTT: Duration = Duration::from_millis(40);

    /// A search in which loss ends Startup, with the default's tuning but for what `change` makes
    /// of it.
    struct Search {
        plateau: Plateau,
        tuning: Tuning,
    }

    impl Search {
        fn new(change: fn(&mut Tuning)) -> Self {
            let mut tuning = tuning();
            tuning.full_loss_thresh = Gain::new(1, 8);
            change(&mut tuning);
            let plateau = Plateau::default();
            Self { plateau, tuning }
        }

        /// An ACK while 100,000 bytes were in flight; whether the pipe is full then.
        fn ack(&mut self, bw: u64, rtt: u32, lost: u64, ends: bool, was_conserving: bool) -> bool {
            let ack = PlateauAck {
                is_round_start: ends,
                was_conserving,
                max_bw: Bandwidth::from_bytes_per_sec(bw),
                min_rtt: Some(MIN_RTT),
                mss: Bytes::new(1_000),
            };
            let sample = RateSample {
                newly_lost: Bytes::new(lost),
                tx_in_flight: Bytes::new(100_000),
                rtt: Some(MS * rtt),
                ..sample()
            };
            self.plateau.on_ack(&ack, &sample, &self.tuning);
            self.plateau.is_full()
        }

        /// A round of one ACK.
        fn round(&mut self, bw: u64, rtt: u32, lost: u64) -> bool {
            self.ack(bw, rtt, lost, true, false)
        }
    }

    #[test]
    fn without_loss_it_takes_three_flat_rounds() {
        let mut search = Search::new(|_| {});
        let rounds = [1_000, 1_100, 1_200, 1_249].map(|bw| search.round(bw, 90, 0));
        assert_eq!(rounds, [false, false, false, true]);
    }

    #[test]
    fn a_flat_round_whose_queue_overflows_is_enough() {
        let mut search = Search::new(|_| {});
        // While the rate grows, loss and queue are no reason to stop.
        assert!(!search.round(1_000, 90, 50_000));
        assert!(!search.round(1_250, 90, 50_000));
        // An eighth of what is in flight is not yet an overflow.
        assert!(!search.round(1_300, 90, 12_500));
        assert!(search.round(1_300, 90, 12_501));
    }

    #[test]
    fn loss_without_a_queue_proves_nothing() {
        let mut search = Search::new(|_| {});
        search.round(1_000, 40, 0);
        // A quarter above the least round trip is not yet a queue.
        assert!(!search.round(1_000, 50, 50_000));
        // One packet that did not wait speaks for all of its round.
        search.ack(1_000, 45, 50_000, false, false);
        assert!(!search.round(1_000, 90, 50_000));
        assert!(search.round(1_000, 90, 50_000));
    }

    #[test]
    fn what_is_lost_counts_for_its_round_alone() {
        let mut search = Search::new(|_| {});
        search.round(1_000, 90, 0);
        search.ack(1_000, 90, 9_000, false, false);
        assert!(!search.round(1_000, 90, 3_500));
        assert!(!search.round(1_000, 90, 9_000));
    }

    #[test]
    fn seven_packets_are_too_few_and_what_arrives_late_was_not_lost() {
        let few = |lost, late| {
            let mut search = Search::new(|tuning| tuning.full_loss_thresh = Gain::ZERO);
            search.round(1_000, 90, 0);
            search.ack(1_000, 90, lost, false, false);
            search.plateau.on_late(Bytes::new(late));
            search.round(1_000, 90, 0)
        };
        assert!(!few(7_000, 0));
        assert!(few(7_001, 0));
        assert!(!few(50_000, 43_000));
    }

    #[test]
    fn a_conserving_round_is_flat_only_where_all_of_it_waited() {
        let mut search = Search::new(|_| {});
        search.round(1_000, 40, 0);
        for _ in 0..9 {
            assert!(!search.ack(1_000, 50, 500, true, true));
        }
        let queued = [1, 2, 3].map(|_| search.ack(1_000, 51, 500, true, true));
        assert_eq!(queued, [false, false, true]);
    }

    #[test]
    fn what_came_before_a_recovery_is_no_growth_of_its_first_round() {
        for (share, is_full) in [(Gain::new(1, 8), true), (Gain::ONE, false)] {
            let mut search = Search::new(|_| {});
            search.tuning.full_loss_thresh = share;
            search.round(1_000, 90, 0);
            let reached = Bandwidth::from_bytes_per_sec(1_300);
            search.plateau.on_recovery(reached, &search.tuning);
            assert_eq!(search.round(1_300, 90, 20_000), is_full);
        }
    }

    #[test]
    fn by_the_kernels_rules_only_three_rounds_count_and_any_three_do() {
        let kernels = |tuning: &mut Tuning| {
            tuning.full_loss_thresh = Gain::ONE;
            tuning.flat_while_conserving = true;
        };
        let mut search = Search::new(kernels);
        search.round(1_000, 90, 50_000);
        let rounds = [90, 90, 40].map(|rtt| search.ack(1_000, rtt, 90_000, true, true));
        assert_eq!(rounds, [false, false, true]);
    }

    #[test]
    fn a_search_that_begins_anew_forgets_the_plateau_but_not_that_there_was_one() {
        let mut search = Search::new(|_| {});
        search.round(1_000, 90, 0);
        search.plateau.restart();
        assert!(!search.round(10, 90, 50_000));
        assert!(search.round(10, 90, 50_000));
        search.plateau.restart();
        assert!(search.plateau.is_full());
    }
}
