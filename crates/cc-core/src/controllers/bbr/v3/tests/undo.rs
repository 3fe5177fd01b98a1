//! Loss that was none.

use super::*;

#[test]
fn a_spurious_exit_from_startup_is_undone_when_all_lost_packets_have_arrived() {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    let cwnd = bench.bbr.cwnd;
    let lost = bench.lose(6, BDP / 10);
    bench.path.inflight = BDP;
    bench.round_with(mbit(20), |told| {
        told.lost = MSS * 6;
        told.tx_in_flight = BDP / 10;
    });
    assert_eq!(bench.state(), "Drain");
    bench.find(&lost[..5]);
    assert_eq!(bench.state(), "Drain");
    bench.find(&lost[5..]);
    assert_eq!(bench.state(), "Startup");
    assert!(!bench.bbr.full_bw.is_reached);
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
    assert!(bench.bbr.cwnd >= cwnd);
}

#[test]
fn a_spurious_exit_from_a_probe_begins_it_again() {
    let mut bench = Bench::probing();
    let lost = bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    bench.find(&lost);
    assert_eq!(bench.state(), "ProbeBW_REFILL");
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
}

#[test]
fn an_episode_of_which_one_packet_is_missing_is_not_undone() {
    let mut bench = Bench::probing();
    let lost = bench.lose(40, BDP);
    bench.find(&lost[1..]);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn an_undo_brings_back_the_window_and_the_short_term_bounds() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.round(mbit(50));
    let lost = bench.lose(2, BDP);
    bench.round(mbit(50));
    assert!(bench.bbr.cwnd < cwnd && bench.bbr.rate.bw() < mbit(100));
    bench.find(&lost);
    assert_eq!(bench.bbr.cwnd, cwnd);
    assert_eq!(bench.bbr.rate.shortterm, Bandwidth::MAX);
    assert_eq!(bench.bbr.volume.shortterm, Bytes::MAX);
}

#[test]
fn an_undo_begins_the_search_for_a_plateau_again() {
    let mut bench = Bench::new();
    bench.path.inflight = BDP * 2;
    (0..3).for_each(|_| bench.round(mbit(100)));
    let lost = bench.lose(1, BDP);
    bench.find(&lost);
    (0..3).for_each(|_| bench.round(mbit(100)));
    assert_eq!(bench.state(), "Startup");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Drain");
}
