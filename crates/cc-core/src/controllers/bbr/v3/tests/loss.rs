//! What loss and marks do to the bounds of rate and volume.

use super::*;

#[test]
fn loss_while_cruising_lowers_the_short_term_bounds_once_per_round_and_a_refill_forgets_them() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.round(mbit(50));
    bench.lose(2, BDP);
    bench.round(mbit(50));
    assert_eq!(bench.bbr.rate.bw(), mbit(70));
    assert_eq!(bench.bbr.rate.max_bw(), mbit(100));
    assert_eq!(bench.bbr.volume.shortterm, cwnd * Gain::new(7, 10));
    while bench.state() != "ProbeBW_REFILL" {
        bench.round(mbit(70));
    }
    assert_eq!(bench.bbr.rate.bw(), mbit(100));
    assert_eq!(bench.bbr.volume.shortterm, Bytes::MAX);
}

#[test]
fn a_loss_round_lasts_a_whole_trip_from_its_first_loss() {
    let mut bench = Bench::cruising();
    bench.round(mbit(90));
    let began = bench.path.delivered;
    bench.acks_within_the_round(mbit(90));
    bench.lose(1, BDP);
    bench.acks_within_the_round(mbit(90));
    bench.lose(1, BDP);
    // A packet that left after the round before, but before the first loss.
    bench.round_with(mbit(90), |told| told.prior_delivered = began);
    assert_eq!(bench.bbr.rate.bw(), mbit(100));
    bench.round(mbit(90));
    assert_eq!(bench.bbr.rate.bw(), mbit(90));
}

#[test]
fn a_probe_that_loses_too_much_sets_the_long_term_bound_where_the_loss_began() {
    let mut bench = Bench::probing();
    bench.lose(10, BDP);
    assert_eq!(bench.state(), "ProbeBW_UP", "1 % is borne");
    bench.lose(30, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    // 2 % of the flight is crossed within the 21st packet lost since the flight left.
    let longterm = bench.bbr.volume.longterm;
    assert!(longterm > BDP - MSS * 2 && longterm <= BDP, "{longterm}");
}

#[test]
fn the_long_term_bound_falls_by_beta_at_most() {
    let mut bench = Bench::probing();
    bench.lose(30, BDP / 10);
    let target = bench.bbr.target_inflight();
    assert_eq!(bench.bbr.volume.longterm, target * Gain::new(7, 10));
}

#[test]
fn a_probe_is_answered_once_however_much_it_lost() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    let longterm = bench.bbr.volume.longterm;
    bench.lose(40, BDP / 10);
    assert_eq!(bench.bbr.volume.longterm, longterm);
}

#[test]
fn the_window_is_bounded_by_the_long_term_volume_and_leaves_headroom_while_cruising() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    bench.path.inflight = BDP;
    bench.round(mbit(100));
    // A flight without loss raises the bound to its own size.
    let longterm = bench.bbr.volume.longterm;
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.cwnd, longterm);
    bench.path.inflight = BDP / 2;
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    assert_eq!(bench.bbr.cwnd, longterm - longterm * Gain::percent(15));
}

#[test]
fn a_congestion_mark_counts_as_loss() {
    let mut bench = Bench::cruising();
    bench.round(mbit(90));
    bench.round_with(mbit(90), |told| told.ce_marked = 1);
    bench.round(mbit(90));
    assert_eq!(bench.bbr.rate.bw(), mbit(90));
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    bench.round_with(mbit(100), |told| told.ce_marked = 30);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.volume.longterm, BDP);
}

#[test]
fn persistent_congestion_leaves_one_packet_and_recovery_brings_the_window_back() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.lose(3, BDP);
    bench.path.inflight = Bytes::ZERO;
    bench
        .bbr
        .on_persistent_congestion(&bench.path, &mut bench.entered);
    assert_eq!(bench.bbr.cwnd, MSS);
    bench.round_with(mbit(100), |told| told.newly_acked = MSS);
    // Restored, then bounded by the loss of the round.
    assert!(bench.bbr.cwnd >= cwnd * Gain::new(7, 10));
}

#[test]
fn what_a_recovery_has_taken_from_the_window_is_given_back_after_persistent_congestion() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.lose(3, BDP);
    bench.bbr.cwnd = MSS * 10;
    bench
        .bbr
        .on_persistent_congestion(&bench.path, &mut bench.entered);
    bench.round_with(mbit(100), |told| told.newly_acked = MSS);
    assert!(bench.bbr.cwnd >= cwnd * Gain::new(7, 10));
}

#[test]
fn the_window_is_bounded_by_the_short_term_volume() {
    let mut bench = Bench::cruising();
    bench.bbr.volume.shortterm = BDP;
    bench.acks_within_the_round(mbit(100));
    assert_eq!(bench.bbr.cwnd, BDP);
}

#[test]
fn marks_count_in_their_own_round() {
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    // 18,000 bytes of the 25,000 that are borne, and a round without.
    for (rate, marked) in [(130, 15), (170, 0), (220, 15)] {
        bench.round_with(mbit(rate), |told| {
            told.ce_marked = marked;
            told.tx_in_flight = BDP;
        });
        assert_eq!(bench.state(), "ProbeBW_UP");
    }
}

#[test]
fn marks_of_one_round_trip_are_one_reduction_however_many_they_are() {
    let reduced = |ce_marked| {
        let mut bench = Bench::cruising();
        bench.round(mbit(90));
        bench.acks_within_the_round(mbit(90));
        bench.round_with(mbit(90), |told| told.ce_marked = ce_marked);
        bench.round(mbit(90));
        (bench.bbr.rate.bw(), bench.bbr.volume.shortterm)
    };
    assert_eq!(reduced(1), reduced(500));
    assert!(reduced(1).0 < reduced(0).0);
}

#[test]
fn marks_count_for_no_more_than_the_ack_acknowledges() {
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    // Two packets are not 2 % of the flight.
    bench.round_with(mbit(100), |told| {
        told.ce_marked = u64::MAX;
        told.newly_acked = MSS * 2;
        told.tx_in_flight = BDP;
    });
    assert_eq!(bench.state(), "ProbeBW_UP");
}

#[test]
fn a_flight_that_the_application_limited_ends_a_probe_and_sets_no_bound() {
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    bench.round_with(mbit(100), |told| {
        told.ce_marked = 30;
        told.is_app_limited = true;
    });
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
}

#[test]
fn what_a_probe_delivered_is_no_measure_for_loss_after_it() {
    let mut bench = Bench::probing();
    bench.round(mbit(120));
    bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.congestion.bw_latest, Bandwidth::ZERO);
    assert_eq!(bench.bbr.congestion.inflight_latest, Bytes::ZERO);
}
