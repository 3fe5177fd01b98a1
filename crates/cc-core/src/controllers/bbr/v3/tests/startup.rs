//! Startup and Drain.

use super::*;

#[test]
fn the_first_flight_is_paced_by_the_first_round_trip_time_not_by_the_guess() {
    let mut bench = Bench::new();
    let startup = Gain::new(277, 100);
    let guess = Bandwidth::from_transfer(MSS * 10, Duration::from_millis(1));
    assert_eq!(bench.bbr.control().pacing_rate, guess * startup);
    bench.round_with(Bandwidth::from_bytes_per_sec(1), |told| {
        told.is_app_limited = true;
    });
    let measured = Bandwidth::from_transfer(MSS * 10, RTT);
    assert_eq!(bench.bbr.control().pacing_rate, measured * startup);
}

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_when_the_queue_is_gone() {
    let mut bench = Bench::new();
    bench.round(mbit(100));
    bench.path.inflight = BDP * 2;
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Startup");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Drain");
    assert_eq!(
        bench.bbr.control().pacing_rate,
        mbit(100) * Gain::new(1, 2) * Gain::percent(99)
    );
    bench.path.inflight = BDP + Bytes::new(1);
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Drain");
    bench.path.inflight = BDP;
    bench.round(mbit(100));
    assert_eq!(bench.entered.0, ["Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE"]);
}

#[test]
fn drain_gives_up_after_three_rounds() {
    let mut bench = Bench::new();
    bench.path.inflight = BDP * 2;
    for _ in 0..7 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "Drain");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn startup_does_not_end_while_the_application_limits_the_rate() {
    let mut bench = Bench::new();
    for _ in 0..40 {
        bench.round_with(mbit(1), |told| told.is_app_limited = true);
    }
    assert_eq!(bench.state(), "Startup");
}

/// A round in Startup in which `ranges` separate packets were lost.
fn startup_after_loss(ranges: u64) -> Bench {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    bench.lose(ranges, BDP / 10);
    bench.path.inflight = BDP;
    bench.round_with(mbit(20), |told| {
        told.lost = MSS * ranges;
        told.tx_in_flight = BDP / 10;
        told.is_app_limited = true;
    });
    bench
}

#[test]
fn startup_ends_on_a_round_of_heavy_scattered_loss_even_when_application_limited() {
    let bench = startup_after_loss(6);
    assert_eq!(bench.state(), "Drain");
    assert_eq!(bench.bbr.volume.longterm, mbit(20) * RTT);
}

#[test]
fn startup_bears_five_lost_ranges() {
    assert_eq!(startup_after_loss(5).state(), "Startup");
}

#[test]
fn startup_bears_loss_that_was_one_burst_before_the_round() {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    bench.lose(50, BDP / 10);
    // What left after the burst lost nothing more.
    bench.round(mbit(20));
    assert_eq!(bench.state(), "Startup");
}

#[test]
fn the_bound_that_startup_leaves_is_what_arrived_where_that_is_more_than_the_bdp() {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    bench.lose(6, BDP / 10);
    bench.round_with(mbit(20), |told| {
        told.lost = MSS * 6;
        told.tx_in_flight = BDP / 10;
        told.delivered = BDP;
    });
    assert_eq!(bench.bbr.volume.longterm, BDP);
}

#[test]
fn the_window_grows_whatever_the_estimate_until_the_initial_window_has_arrived() {
    let mut bench = Bench::new();
    for packets in [11, 12, 12] {
        let rate = Bandwidth::from_bytes_per_sec(1);
        bench.round_with(rate, |told| told.newly_acked = MSS);
        assert_eq!(bench.bbr.cwnd, MSS * packets);
        bench.path.delivered += MSS * 7;
    }
}
