//! Paths on which packets arrive after they were declared lost.

use super::super::draft_02::Draft02;
use super::super::params::DRAFT_02;
use super::*;
use crate::events::LostPacket;
use alloc::vec::Vec;

/// A packet is declared lost and arrives a round trip and a microsecond after it left.
fn late<R: Revision>(mut bench: BenchOf<R>) -> BenchOf<R> {
    let lost = bench.lose(1, BDP);
    bench.round(mbit(100));
    bench.find(&lost);
    bench
}

/// A probe on a path that delivers late, and 40 of its packets that were just declared lost.
fn probe_that_lost() -> (Bench, Vec<LostPacket>) {
    let mut bench = late(Bench::cruising()).probe();
    bench.path.inflight = BDP * 2;
    let lost = bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_UP");
    (bench, lost)
}

#[test]
fn a_loss_counts_when_it_is_older_than_what_was_late() {
    let (mut bench, _) = probe_that_lost();
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.path.now += Duration::from_nanos(1);
    bench.acks_within_the_round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert!(bench.bbr.volume.longterm <= BDP);
    assert_eq!(bench.bbr.congestion.lost_ranges, 40);
}

#[test]
fn a_loss_that_is_none_never_counts() {
    let (mut bench, lost) = probe_that_lost();
    bench.find(&lost);
    bench.round(mbit(100));
    bench.acks_within_the_round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
    assert!(!bench.bbr.congestion.is_loss_in_round);
}

#[test]
fn what_is_missing_counts_and_what_has_arrived_does_not() {
    // 2 % of the flight are 25,000 bytes: 20 packets are borne, 21 are not.
    for (missing, state) in [(20, "ProbeBW_UP"), (21, "ProbeBW_DOWN")] {
        let (mut bench, lost) = probe_that_lost();
        bench.find(&lost[missing..]);
        bench.round(mbit(100));
        bench.acks_within_the_round(mbit(100));
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn losses_of_another_round_trip_are_not_added() {
    let mut bench = late(Bench::cruising()).probe();
    for _ in 0..2 {
        bench.lose(15, BDP);
        bench.round(mbit(100));
        bench.round(mbit(100));
    }
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
}

#[test]
fn nothing_is_waited_for_longer_than_four_round_trips() {
    let mut bench = Bench::cruising();
    let lost = bench.lose(1, BDP);
    bench.path.now += RTT * 20;
    bench.find(&lost);
    bench.lose(1, BDP);
    for _ in 0..3 {
        bench.acks_within_the_round(mbit(100));
        assert!(!bench.bbr.congestion.is_loss_in_round);
    }
    bench.acks_within_the_round(mbit(100));
    assert!(bench.bbr.congestion.is_loss_in_round);
}

#[test]
fn after_sixteen_rounds_of_loss_that_was_real_it_counts_at_once_again() {
    let mut bench = late(Bench::cruising());
    for round in 1..=16 {
        bench.lose(1, BDP);
        assert_eq!(
            bench.bbr.congestion.is_loss_in_round,
            round == 16,
            "{round}"
        );
        // Counted in the second of these rounds, and judged in the third.
        (0..3).for_each(|_| bench.round(mbit(100)));
        assert!(!bench.bbr.congestion.is_loss_in_round, "{round}");
    }
}

#[test]
fn version_2_neither_conserves_packets_for_them_nor_deducts_them() {
    let mut bench: BenchOf<Draft02> = late(BenchOf::of(DRAFT_02).cruise());
    bench.round(mbit(100));
    let cwnd = bench.bbr.cwnd;
    bench.path.inflight = BDP / 2;
    bench.lose(40, BDP);
    let lossy = |told: &mut RateSample| {
        told.newly_lost = MSS * 40;
        told.newly_acked = Bytes::ZERO;
        told.prior_delivered = Bytes::ZERO;
    };
    bench.round_with(mbit(100), lossy);
    assert_eq!(bench.bbr.cwnd, cwnd);
    // The ACK that finds them too old tells of no loss.
    bench.path.now += Duration::from_nanos(1);
    bench.round_with(mbit(100), |told| {
        lossy(told);
        told.newly_lost = Bytes::ZERO;
    });
    assert_eq!(bench.bbr.cwnd, BDP / 2 + MSS);
    // They are deducted once. A second round of recovery lets the window grow.
    bench.round_with(mbit(100), |told| {
        told.newly_acked = MSS;
        told.newest_sent_at = Timestamp::ZERO;
    });
    assert_eq!(bench.bbr.cwnd, BDP / 2 + MSS * 2);
}
