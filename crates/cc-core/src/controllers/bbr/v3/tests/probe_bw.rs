//! The ProbeBW cycle.

use super::*;

#[test]
fn a_probe_ends_on_a_plateau() {
    let mut bench = Bench::probing();
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn the_probe_after_one_that_went_too_high_is_precautionary_and_then_repeated() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    bench.round(mbit(100));
    while bench.state() != "ProbeBW_UP" {
        bench.round(mbit(100));
    }
    bench.entered.0.clear();
    // In flight as much as the bound: enough for this time.
    bench.path.inflight = bench.bbr.volume.longterm;
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    // A round of feedback without excess loss: probe again at once, this time in earnest.
    bench.round(mbit(100));
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(
        bench.entered.0,
        ["ProbeBW_DOWN", "ProbeBW_REFILL", "ProbeBW_UP"]
    );
}

#[test]
fn the_filter_of_max_bw_ages_once_per_cycle_and_not_once_per_round() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP / 2;
    let began_at = bench.bbr.rate.cycle;
    let (mut cycles, mut rounds) = (0, 0);
    let mut was_limited = false;
    while bench.path.now < Timestamp::from_millis(60_000) {
        let was_up = bench.state() == "ProbeBW_UP";
        let is_limited = bench.bbr.is_self_limited();
        // What left in the round before is acknowledged in this one.
        bench.round_with(mbit(100), |told| {
            told.is_app_limited = is_limited || was_limited
        });
        was_limited = is_limited;
        cycles += u64::from(was_up && bench.state() == "ProbeBW_DOWN");
        rounds += 1;
    }
    assert!(cycles > 10 && rounds > 500, "{cycles} {rounds}");
    let advances = bench.bbr.rate.cycle - began_at;
    // The newest probe's feedback may still be under way.
    assert!(
        advances <= cycles && advances + 1 >= cycles,
        "{advances} of {cycles}"
    );
}

#[test]
fn a_precautionary_probe_is_repeated_once() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    while bench.state() != "ProbeBW_UP" {
        bench.round(mbit(100));
    }
    bench.path.inflight = bench.bbr.volume.longterm;
    while bench.state() != "ProbeBW_REFILL" {
        bench.round(mbit(100));
    }
    while bench.state() != "ProbeBW_DOWN" {
        bench.round(mbit(100));
    }
    bench.entered.0.clear();
    (0..4).for_each(|_| bench.round(mbit(100)));
    assert!(!bench.entered.0.contains(&"ProbeBW_REFILL"));
}

/// An ACK of a packet that left when so much had been delivered.
fn ack_of_before(bench: &mut Bench, prior_delivered: Bytes) {
    bench.round_with(mbit(100), |told| told.prior_delivered = prior_delivered);
}

#[test]
fn a_refill_begun_within_a_round_lasts_a_whole_one() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP;
    let before = bench.path.delivered;
    bench.path.now += Duration::from_secs(4);
    bench.acks_within_the_round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_REFILL");
    ack_of_before(&mut bench, before);
    assert_eq!(bench.state(), "ProbeBW_REFILL");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
}

#[test]
fn the_filter_ages_a_whole_round_after_a_probe_that_ended_within_one() {
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    let (before, cycle) = (bench.path.delivered, bench.bbr.rate.cycle);
    bench.acks_within_the_round(mbit(100));
    bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    ack_of_before(&mut bench, before);
    assert_eq!(bench.bbr.rate.cycle, cycle);
    bench.round(mbit(100));
    assert_eq!(bench.bbr.rate.cycle, cycle + 1);
}

#[test]
fn a_round_that_the_bound_held_down_shows_no_plateau() {
    let mut bench = Bench::probing();
    bench.round(mbit(100));
    bench.path.is_cwnd_limited = true;
    bench.bbr.volume.longterm = bench.bbr.cwnd;
    bench.round(mbit(100));
    bench.path.is_cwnd_limited = false;
    bench.bbr.volume.longterm = Bytes::MAX;
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn a_bound_that_is_used_up_grows_by_1_2_4_packets_a_round_and_one_that_is_not_does_not() {
    let mut bench = Bench::probing();
    let cwnd = bench.bbr.cwnd;
    bench.path.is_cwnd_limited = true;
    for (packets, rate) in [(0, 130), (1, 170), (2, 220), (4, 280)] {
        bench.bbr.cwnd = cwnd;
        // In the first round a packet of it is left.
        let bound = cwnd + MSS * u64::from(packets == 0);
        bench.bbr.volume.longterm = bound;
        bench.round_with(mbit(rate), |told| {
            told.newly_acked = cwnd;
            told.tx_in_flight = BDP;
        });
        assert_eq!(bench.bbr.volume.longterm, bound + MSS * packets);
    }
}
