use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use core::time::Duration;

/// W_cubic(t) in packets, as RFC 9438 figure 1 has it.
fn closed_form(w_max: f64, start: f64, t: f64) -> f64 {
    let k = ((w_max - start) / 0.4).cbrt();
    0.4 * (t - k).powi(3) + w_max
}

/// A flow that has just been reduced from `packets`, a power of two times ten.
fn reduced_from(packets: u64, rtt: Duration) -> FlowDriver {
    let mut driver = FlowDriver::new("cubic:slow_start=standard");
    while driver.packets() < packets {
        driver.round(rtt);
    }
    driver.congest(rtt);
    driver.now += MS;
    assert_eq!(driver.packets(), packets * 7 / 10);
    driver
}

#[test]
fn the_window_follows_the_cubic_function_of_time() {
    let rtt = MS * 100;
    let mut driver = reduced_from(1_280, rtt);
    driver.round(rtt);
    let start = driver.now;
    for _ in 0..200 {
        driver.round(rtt);
        let t = driver.now.since(start).as_secs_f64();
        let packets = driver.cwnd().get() as f64 / 1_000.0;
        let now = closed_form(1_280.0, 896.0, t);
        let soon = closed_form(1_280.0, 896.0, t + 0.1);
        let is_between = now - 1.0 <= packets && packets <= soon + 1.0;
        assert!(is_between, "{packets} is not in {now}..{soon} at {t}");
    }
    assert!(driver.packets() > 1_280);
}

#[test]
fn an_ack_adds_no_more_than_it_acknowledges_however_fast_reno_would_be() {
    // α is 3 × 0.9 ÷ 1.1 = 2.45: four packets would add 4.9 to a window of two.
    let mut driver = FlowDriver::new("cubic:beta=0.1");
    driver.congest(MS * 100);
    driver.now += MS;
    driver.send(4);
    driver.now += MS * 100;
    let before = driver.cwnd();
    driver.ack(4);
    assert_eq!((before, driver.cwnd()), (MSS * 2, MSS * 6));
}

#[test]
fn a_second_congestion_below_the_first_cuts_to_beta_and_lowers_the_plateau() {
    let rtt = MS * 100;
    let mut driver = reduced_from(640, rtt);
    driver.round(rtt);
    let before = driver.cwnd();
    driver.congest(rtt);
    driver.now += MS;
    // 0.7 of the window and not of the lowered W_max, which would be 0.595 of it.
    assert_eq!(driver.cwnd(), before * Gain::new(7, 10));
    let plateau = before.get() as f64 * 0.85 / 1_000.0;
    let start = before.get() as f64 * 0.7 / 1_000.0;
    driver.round(rtt);
    let begun = driver.now;
    // Around K, where the curve is flat.
    for _ in 0..55 {
        driver.round(rtt);
    }
    let expected = closed_form(plateau, start, driver.now.since(begun).as_secs_f64());
    let packets = driver.cwnd().get() as f64 / 1_000.0;
    assert!((packets - expected).abs() < 2.0, "{packets} {expected}");
    assert!((expected - plateau).abs() < 1.0, "{expected} {plateau}");
}

#[test]
fn without_fast_convergence_the_plateau_is_the_window_before() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    cubic.on_congestion(MSS * 80, CongestionSignal::Loss);
    assert_eq!(cubic.w_max, Some(MSS * 68));
    cubic.tuning.fast_convergence = false;
    cubic.on_congestion(MSS * 60, CongestionSignal::Loss);
    assert_eq!(cubic.w_max, Some(MSS * 60));
}

#[test]
fn after_a_mark_the_lowered_plateau_is_halfway_between_before_and_after() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    assert_eq!(
        cubic.on_congestion(MSS * 80, CongestionSignal::Mark),
        MSS * 68
    );
    assert_eq!(cubic.w_max, Some(MSS * 74));
}

#[test]
fn on_short_paths_the_window_is_as_fast_as_reno() {
    let rtt = MS * 5;
    let mut driver = reduced_from(40, rtt);
    let start = driver.cwnd();
    let rounds = |driver: &mut FlowDriver, count: u64| {
        let before = driver.cwnd();
        (0..count).for_each(|_| driver.round(rtt));
        (driver.cwnd() - before).get() as f64 / (1_000 * count) as f64
    };
    // α = 3·0.3 ÷ 1.7 packets per round trip, up to the window before.
    let slow = rounds(&mut driver, 20);
    assert!((slow - 0.529).abs() < 0.02, "{slow}");
    assert!(driver.cwnd() > start && driver.packets() < 40);
    rounds(&mut driver, 5);
    let fast = rounds(&mut driver, 20);
    assert!((fast - 1.0).abs() < 0.03, "{fast}");
}

#[test]
fn an_hour_of_silence_does_not_lift_the_window() {
    let rtt = MS * 100;
    let mut busy = reduced_from(640, rtt);
    let mut idle = reduced_from(640, rtt);
    for round in 0..60 {
        busy.round(rtt);
        if round == 30 {
            idle.now += Duration::from_secs(3_600);
        }
        idle.round(rtt);
    }
    assert_eq!(busy.cwnd(), idle.cwnd());
}

#[test]
fn time_in_which_the_window_is_not_the_limit_does_not_count() {
    let rtt = MS * 100;
    let mut driver = reduced_from(640, rtt);
    for _ in 0..20 {
        driver.round(rtt);
    }
    let before = driver.cwnd();
    for _ in 0..1_000 {
        driver.send(10);
        driver.finish_round(rtt);
    }
    // One round trip to fill the window, one in which it grows.
    driver.round(rtt);
    driver.round(rtt);
    let grown = driver.cwnd() - before;
    assert!(grown < MSS * 20, "{grown}");
}

#[test]
fn a_full_path_found_without_loss_is_the_plateau() {
    let mut driver = FlowDriver::new("cubic");
    for rtt in [40, 40, 40, 40] {
        driver.round(MS * rtt);
    }
    while driver.state() != "CongestionAvoidance" {
        driver.round(MS * 60);
    }
    let full = driver.cwnd();
    let start = driver.now;
    for _ in 0..100 {
        driver.round(MS * 60);
    }
    let t = driver.now.since(start).as_secs_f64();
    let expected = full.get() as f64 / 1_000.0 + 0.4 * t.powi(3);
    let packets = driver.cwnd().get() as f64 / 1_000.0;
    assert!(
        (packets / expected - 1.0).abs() < 0.05,
        "{packets} {expected}"
    );
}

#[test]
fn after_a_collapse_the_plateau_is_where_slow_start_ended() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 1_000, CongestionSignal::Loss);
    cubic.on_persistent_congestion();
    let ack = AvoidanceAck {
        now: Timestamp::ZERO,
        acked: MSS,
        cwnd: MSS * 700,
        mss: MSS,
        srtt: MS * 100,
    };
    cubic.growth(&ack);
    assert_eq!(cubic.w_max, Some(MSS * 700));
}

/// An ACK for a window of so many packets, at a time that the curve has not left its start.
fn whole_window(packets: u64) -> AvoidanceAck {
    AvoidanceAck {
        now: Timestamp::ZERO,
        acked: MSS * packets,
        cwnd: MSS * packets,
        mss: MSS,
        srtt: Duration::ZERO,
    }
}

#[test]
fn congestion_at_the_same_window_as_before_gives_way_no_further() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    assert_eq!(cubic.w_max, Some(MSS * 100));
}

#[test]
fn reno_is_a_packet_a_round_trip_from_the_window_of_before_and_not_from_its_lowered_plateau() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    cubic.on_congestion(MSS * 80, CongestionSignal::Loss);
    assert_eq!(cubic.w_max, Some(MSS * 68));
    let ack = whole_window(56);
    // W_est passes 68 packets with the 23rd ACK and 80 with the 46th: 56 + 46 × 9 ÷ 17 = 80.35.
    let growth: alloc::vec::Vec<_> = (0..47).map(|_| cubic.growth(&ack).get()).collect();
    assert_eq!(growth[44..], [23_823, 24_352, 25_352]);
}

#[test]
fn where_slow_start_found_the_path_full_reno_adds_a_packet_a_round_trip_at_once() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_slow_start_exit(MSS * 100);
    assert_eq!(cubic.growth(&whole_window(100)), MSS);
}

#[test]
fn after_a_collapse_another_stage_begins() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    cubic.on_congestion(MSS * 100, CongestionSignal::Loss);
    cubic.growth(&whole_window(70));
    cubic.on_persistent_congestion();
    // Reno from 35 packets; the stage of before had W_est at 70.5.
    assert_eq!(cubic.growth(&whole_window(35)), Bytes::new(529));
}

#[test]
fn one_ack_lifts_the_window_by_half_at_most() {
    let mut cubic = Cubic::new(&Params::defaults(&PARAMS));
    let mut ack = AvoidanceAck {
        now: Timestamp::ZERO,
        acked: MSS * 10,
        cwnd: MSS * 10,
        mss: MSS,
        srtt: MS * 100,
    };
    cubic.growth(&ack);
    ack.now += Duration::from_secs(1_000);
    assert_eq!(cubic.growth(&ack), MSS * 5);
    ack.acked = MSS * 40;
    assert_eq!(cubic.growth(&ack), MSS * 5);
}

#[test]
fn another_packet_size_is_another_curve_from_the_present_window() {
    let rtt = MS * 100;
    let mut driver = reduced_from(640, rtt);
    for _ in 0..10 {
        driver.round(rtt);
    }
    let before = driver.cwnd();
    driver.flow.on_mtu(driver.now, Bytes::new(1_400));
    assert_eq!(driver.cwnd(), before);
    driver.round(rtt);
    let begun = driver.now;
    for _ in 0..30 {
        driver.round(rtt);
    }
    // In packets of 1,400 bytes. The curve of before, of C × 1,000 bytes, is 5 packets lower.
    let t = driver.now.since(begun).as_secs_f64();
    let (plateau, start) = (640.0 / 1.4, before.get() as f64 / 1_400.0);
    let packets = driver.cwnd().get() as f64 / 1_400.0;
    let expected = closed_form(plateau, start, t);
    assert!((packets - expected).abs() < 1.5, "{packets} {expected}");
}

#[test]
fn neither_does_that_of_a_flow_that_is_never_idle_and_never_fills_its_window() {
    let rtt = MS * 100;
    let mut driver = reduced_from(640, rtt);
    for _ in 0..20 {
        driver.round(rtt);
    }
    let before = driver.cwnd();
    driver.send(10);
    for _ in 0..10_000 {
        driver.now += rtt / 10;
        driver.ack(1);
        driver.send(1);
    }
    driver.round(rtt);
    let grown = driver.cwnd() - before;
    assert!(grown < MSS * 20, "{grown}");
}
