//! ProbeRTT, and restarts from idle.

use super::*;

#[test]
fn probe_rtt_holds_half_a_bdp_for_200_ms_and_a_round_and_returns_to_cruising() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP;
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
        assert!(bench.path.now < Timestamp::from_millis(6_000));
    }
    assert!(bench.bbr.is_self_limited());
    assert_eq!(bench.bbr.cwnd, BDP / 2);
    let entered_at = bench.path.now;
    bench.bbr.volume.shortterm = BDP / 4;
    bench.path.inflight = BDP / 2;
    while bench.state() == "ProbeRTT" {
        bench.round_with(mbit(50), |told| told.is_app_limited = true);
    }
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    let held = bench.path.now.since(entered_at);
    assert!(held > Duration::from_millis(200), "{held:?}");
    assert!(bench.bbr.cwnd > BDP);
    assert_eq!(bench.bbr.rate.max_bw(), mbit(100));
}

#[test]
fn a_minimal_window_above_half_a_bdp_does_not_wedge_probe_rtt() {
    let mut bench = Bench::new();
    let slow = Bandwidth::from_bytes_per_sec(12_000);
    while bench.state() != "ProbeRTT" {
        bench.path.inflight = MSS * 4;
        bench.round(slow);
    }
    assert_eq!(bench.bbr.cwnd, MSS * 4);
    for _ in 0..4 {
        bench.round(slow);
    }
    assert_ne!(bench.state(), "ProbeRTT");
}

#[test]
fn idleness_takes_the_place_of_probe_rtt() {
    let mut bench = Bench::cruising();
    bench.path.now += Duration::from_secs(6);
    bench.path.inflight = Bytes::ZERO;
    bench.path.is_app_limited = true;
    bench.bbr.on_sent(&bench.path, MSS);
    assert!(bench.bbr.is_idle_restart);
    assert_eq!(
        bench.bbr.control().pacing_rate,
        mbit(100) * Gain::percent(99)
    );
    bench.round(mbit(100));
    assert!(!bench.bbr.is_idle_restart);
    bench.round(mbit(100));
    assert!(!bench.entered.0.contains(&"ProbeRTT"));
}

#[test]
fn an_idle_probe_rtt_ends_when_sending_starts_again_and_the_observer_hears_of_it() {
    let mut bench = Bench::cruising();
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
    }
    bench.path.inflight = BDP / 2;
    bench.round(mbit(50));
    bench.path.now += Duration::from_secs(1);
    bench.path.inflight = Bytes::ZERO;
    bench.path.is_app_limited = true;
    bench.entered.0.clear();
    bench.bbr.on_sent(&bench.path, MSS);
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    bench.round(mbit(100));
    assert_eq!(bench.entered.0[..2], ["ProbeBW_DOWN", "ProbeBW_CRUISE"]);
}

#[test]
fn the_next_is_due_five_seconds_after_the_end() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP / 2;
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
    }
    while bench.state() == "ProbeRTT" {
        bench.round(mbit(50));
    }
    let ended_at = bench.path.now;
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
    }
    assert!(bench.path.now.since(ended_at) > Duration::from_secs(5));
}

#[test]
fn it_ends_the_probe_that_it_interrupts() {
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    bench.path.now += Duration::from_secs(6);
    bench.acks_within_the_round(mbit(100));
    assert_eq!(bench.state(), "ProbeRTT");
    assert!(bench.bbr.probe.is_sample);
    bench.round(mbit(100));
    assert!(!bench.bbr.probe.is_sample);
}

#[test]
fn it_holds_for_a_whole_round_after_the_pipe_has_drained() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP * 2;
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
    }
    let before = bench.path.delivered;
    bench.path.inflight = BDP / 2;
    bench.acks_within_the_round(mbit(100));
    bench.path.now += Duration::from_secs(1);
    bench.round_with(mbit(100), |told| told.prior_delivered = before);
    assert_eq!(bench.state(), "ProbeRTT");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
}

/// Cycles that end while ProbeRTT cuts a probe of `bench` short and its feedback comes in. As in
/// [`Flow`](crate::Flow), packets sent in ProbeRTT are application-limited.
fn cycles_ended_by_a_cut(mut bench: Bench, is_app_limited: bool) -> u64 {
    let began_at = bench.bbr.rate.cycle;
    bench.path.inflight = BDP * 2;
    bench.path.now += Duration::from_secs(6);
    bench.round_with(mbit(10), |told| {
        told.prior_delivered = Bytes::ZERO;
        told.is_app_limited = is_app_limited;
    });
    assert_eq!(bench.state(), "ProbeRTT");
    // What the probe had sent is acknowledged, then what ProbeRTT sends.
    bench.acks_within_the_round(mbit(10));
    assert_eq!(bench.bbr.rate.cycle, began_at);
    bench.path.inflight = Bytes::ZERO;
    while bench.state() == "ProbeRTT" {
        bench.round_with(mbit(10), |told| told.is_app_limited = true);
    }
    bench.round_with(mbit(10), |told| told.is_app_limited = true);
    bench.bbr.rate.cycle - began_at
}

#[test]
fn a_probe_that_it_cuts_short_ends_a_cycle_only_by_our_rule() {
    assert_eq!(cycles_ended_by_a_cut(Bench::probing(), false), 0);
    let adapting = || Bench::adapting_down().cruise();
    assert_eq!(cycles_ended_by_a_cut(adapting().probe(), false), 1);
    // A rate of the application's own shows nothing, nor does a flow that was not probing.
    assert_eq!(cycles_ended_by_a_cut(adapting().probe(), true), 0);
    assert_eq!(cycles_ended_by_a_cut(adapting(), false), 0);
}

/// The window of ProbeRTT after a path of 100 Mbit/s has begun to deliver 10.
fn window_after_a_drop(mut bench: Bench, is_app_limited: bool) -> Bytes {
    bench.path.inflight = BDP;
    while bench.state() != "ProbeRTT" {
        bench.round_with(mbit(10), |told| told.is_app_limited = is_app_limited);
        assert!(bench.path.now < Timestamp::from_millis(6_000));
    }
    bench.bbr.cwnd
}

#[test]
fn by_our_rule_it_holds_half_of_what_is_delivered_and_not_of_what_was() {
    assert_eq!(window_after_a_drop(Bench::cruising(), false), BDP / 2);
    let adapting = || Bench::adapting_down().cruise();
    assert_eq!(window_after_a_drop(adapting(), false), BDP / 20);
    assert_eq!(window_after_a_drop(adapting(), true), BDP / 2);
}

#[test]
fn by_our_rule_it_knows_what_is_delivered_also_where_a_probe_has_just_ended() {
    let mut bench = Bench::adapting_down().cruise().probe();
    bench.path.inflight = BDP * 2;
    bench.round(mbit(100));
    bench.round(mbit(100));
    bench.path.now += Duration::from_secs(6);
    bench.entered.0.clear();
    bench.round(mbit(10));
    assert_eq!(bench.entered.0, ["ProbeBW_DOWN", "ProbeRTT"]);
    assert_eq!(bench.bbr.cwnd, BDP / 20);
}
