mod classic_ecn;
mod ect1;

use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};

const RTT: Duration = Duration::from_millis(100);

/// A flow whose packets carry ECT(1).
fn l4s(controller: &str) -> FlowDriver {
    let setup = Setup {
        sends_ect1: true,
        ..Setup::new(Timestamp::ZERO, MSS, 1)
    };
    FlowDriver::of(controller, &setup)
}

/// A flow whose first flight of ten packets met a mark on its first.
fn marked_once(controller: &str, rtt: Duration) -> FlowDriver {
    let mut driver = l4s(controller);
    driver.fly(rtt);
    driver.ack_marked(1, 1);
    driver
}

/// The window with its fraction of a packet, after slow start and round trips of just `rtt`.
fn window(driver: &FlowDriver, rtt: Duration) -> Bytes {
    let rate = driver.flow.control().pacing_rate;
    assert_eq!(driver.flow.snapshot().pacing_gain, Some(Gain::ONE));
    rate * rtt
}

fn alpha(driver: &FlowDriver) -> u64 {
    let share = driver.flow.snapshot().marked_share;
    share.unwrap().millionths()
}

/// A window leaves at once; `rtt` later an ACK comes for each packet, of which the first `marked`
/// were marked.
fn round(driver: &mut FlowDriver, rtt: Duration, marked: u64) {
    driver.now += Duration::from_nanos(1);
    driver.fly(rtt);
    let packets = driver.flow.path_state().inflight.packets_floor(MSS);
    for index in 0..packets {
        driver.ack_marked(1, u64::from(index < marked));
    }
}

#[test]
fn slow_start_doubles_a_window_until_the_first_mark_halves_it() {
    let mut driver = l4s("prague");
    for packets in [10, 20, 40] {
        assert_eq!(driver.packets(), packets);
        driver.round(RTT);
    }
    assert_eq!(driver.flow.snapshot().marked_share, None);
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    assert_eq!(
        (driver.packets(), driver.state()),
        (40, "CongestionAvoidance")
    );
    // With this ACK a round trip ends in which 39 packets came: 1 − (1 − 1 ÷ 39) ÷ 16.
    assert_eq!(alpha(&driver), 939_102);
}

#[test]
fn slow_start_goes_no_further_than_twice_what_has_flown() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.send(5);
    driver.finish_round(RTT);
    assert_eq!(driver.packets(), 20);
}

#[test]
fn the_window_grows_by_a_packet_per_window_and_keeps_fractions() {
    let mut driver = marked_once("prague", RTT);
    assert_eq!(window(&driver, RTT), Bytes::new(5_000));
    // 1000² ÷ 5000 = 200; 1000² ÷ 5200 = 192.3; 1000² ÷ 5392 + 1.6 ÷ 5.392 = 185.76.
    for bytes in [5_200, 5_392, 5_577] {
        driver.ack(1);
        assert_eq!(window(&driver, RTT), Bytes::new(bytes));
    }
    // What may be in flight is whole packets.
    assert_eq!(driver.cwnd(), Bytes::new(6_000));
}

#[test]
fn a_large_window_grows_by_fractions_of_a_byte() {
    let mut driver = l4s("prague");
    for _ in 0..9 {
        driver.round(RTT);
    }
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    assert_eq!(window(&driver, RTT), Bytes::new(2_560_000));
    // 1000² ÷ 2,560,000 is 0.39 bytes an ACK: 390.6 for a thousand, a little less as it grows.
    for _ in 0..1_000 {
        driver.ack(1);
    }
    assert_eq!(window(&driver, RTT), Bytes::new(2_560_390));
}

#[test]
fn marks_of_one_round_trip_cut_once_and_what_is_marked_does_not_grow_the_window() {
    let mut driver = marked_once("prague", RTT);
    for _ in 0..9 {
        driver.ack_marked(1, 1);
        assert_eq!(window(&driver, RTT), Bytes::new(5_000));
    }
    // All of it was marked, so alpha is still 1, and the next cut is a half again.
    driver.now += MS;
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    assert_eq!(window(&driver, RTT), Bytes::new(2_500));
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn alpha_moves_by_a_sixteenth_of_the_distance_per_round_trip() {
    let mut driver = marked_once("prague", RTT);
    driver.ack(9);
    // 1 − 1/16 with a tenth marked: the first ACK was a round trip of its own.
    for expected in [937_500, 878_906, 823_974] {
        round(&mut driver, RTT, 0);
        assert_eq!(alpha(&driver), expected);
    }
    // A mark is answered with what earlier round trips have shown, 0.823974 ÷ 2 of the window.
    let before = window(&driver, RTT).get();
    driver.now += MS;
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    let cut = before - window(&driver, RTT).get();
    assert_eq!(cut, before * 823_974 / 2_000_000);
}

#[test]
fn alpha_approaches_the_share_that_is_marked() {
    let mut driver = marked_once("prague", RTT);
    driver.ack(9);
    // With a fixed window of ten packets, two of which are marked.
    for _ in 0..200 {
        driver.now += MS;
        driver.send(10);
        driver.now += RTT;
        driver.ack_marked(5, 1);
        driver.ack_marked(5, 1);
    }
    // The first half of a flight belongs to the round trip before: each has two of ten.
    assert!(alpha(&driver).abs_diff(200_000) < 10, "{}", alpha(&driver));
}

#[test]
fn without_marks_alpha_ends_at_zero_and_a_single_mark_costs_next_to_nothing() {
    let mut driver = marked_once("prague:virtual_rtt=0ms", RTT);
    driver.ack(9);
    for _ in 0..450 {
        driver.now += MS;
        driver.send(100);
        driver.now += RTT;
        driver.ack(50);
        driver.ack(50);
    }
    assert_eq!(alpha(&driver), 0);
    let before = driver.cwnd();
    driver.now += MS;
    driver.send(100);
    driver.now += RTT;
    driver.ack_marked(50, 1);
    assert!(driver.cwnd() >= before);
    // A sixteenth of one in a hundred: the next mark takes a 3,200th of the window.
    assert_eq!(alpha(&driver), 625);
}

#[test]
fn more_marks_than_packets_are_as_many_as_packets() {
    let mut driver = l4s("prague");
    driver.fly(RTT);
    driver.ack_marked(2, 1_000);
    assert_eq!(window(&driver, RTT), Bytes::new(5_000));
    assert_eq!(alpha(&driver), 1_000_000);
}

#[test]
fn a_loss_halves_the_window_which_then_rests_for_a_flight() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT);
    driver.lose(1);
    assert_eq!((driver.packets(), driver.state()), (10, "Recovery"));
    // Neither other losses nor marks of this flight reduce it further, and nothing grows it.
    driver.lose(1);
    driver.ack_marked(1, 1);
    driver.ack(17);
    assert_eq!((driver.packets(), driver.state()), (10, "Recovery"));
    driver.now += MS;
    driver.fly(RTT);
    driver.ack(1);
    assert_eq!(driver.state(), "CongestionAvoidance");
    assert_eq!(window(&driver, RTT), Bytes::new(10_100));
}

#[test]
fn a_loss_that_was_none_is_undone() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT);
    let lost = driver.lose(2);
    driver.arrive_late(&lost);
    assert_eq!((driver.packets(), driver.state()), (20, "SlowStart"));
    let mut driver = l4s("prague:undo=off");
    driver.fill();
    let lost = driver.lose(1);
    driver.arrive_late(&lost);
    assert_eq!(driver.packets(), 5);
}

#[test]
fn without_ect1_a_mark_is_answered_once_per_flight_and_in_slow_start_as_a_loss() {
    let mut driver = FlowDriver::new("prague");
    driver.round(RTT);
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    driver.ack_marked(1, 1);
    assert_eq!((driver.packets(), driver.state()), (10, "Recovery"));
    assert_eq!(driver.flow.snapshot().marked_share, None);
    driver.ack(18);
    // 0.8 of it from then on, in whole packets.
    for packets in [8, 7, 6, 5, 4, 3, 3, 2, 2] {
        driver.now += MS;
        driver.fly(RTT);
        let flight = usize::try_from(driver.packets()).unwrap();
        driver.ack_marked(flight, 1);
        assert_eq!(driver.packets(), packets);
    }
    // A loss halves.
    let mut driver = FlowDriver::new("prague");
    driver.round(RTT);
    driver.congest(RTT);
    assert_eq!(driver.packets(), 10);
    driver.now += MS;
    driver.congest(RTT);
    assert_eq!(driver.packets(), 5);
}

#[test]
fn marks_of_everything_leave_two_packets() {
    let mut driver = l4s("prague");
    for _ in 0..50 {
        round(&mut driver, RTT, 100);
    }
    assert_eq!(driver.cwnd(), MSS * 2);
    assert_eq!(alpha(&driver), 1_000_000);
}

/// Below 25 ms they leave two packets per 25 ms, by pacing: a window of 400 bytes at 5 ms.
#[test]
fn on_a_short_path_marks_leave_less_than_a_packet_per_round_trip() {
    let rtt = MS * 5;
    let mut driver = l4s("prague");
    for _ in 0..50 {
        round(&mut driver, rtt, 100);
    }
    assert_eq!(driver.cwnd(), MSS * 2);
    assert_eq!(window(&driver, rtt), Bytes::new(400));
    // What is not marked doubles it at most, although a packet is two and a half windows.
    driver.now += rtt;
    driver.send(1);
    driver.now += rtt;
    driver.ack(1);
    assert_eq!(window(&driver, rtt), Bytes::new(800));
    // A loss leaves what is below two packets alone, and so does another packet size.
    driver.send(2);
    driver.now += rtt;
    driver.lose(1);
    assert_eq!(window(&driver, rtt), Bytes::new(800));
    driver.flow.on_mtu(driver.now, MSS * 2);
    assert_eq!(window(&driver, rtt), Bytes::new(800));
    assert_eq!(driver.cwnd(), MSS * 4);
}

#[test]
fn a_young_flow_has_its_own_round_trip_time_and_an_old_one_the_virtual() {
    let mut young = marked_once("prague:rtt_transition=3", MS * 10);
    young.ack(9);
    // Growth in a round trip, in bytes: nearly a packet, then (10 ÷ 25)² of one.
    let mut grown = [0; 4];
    for growth in &mut grown {
        let before = window(&young, MS * 10);
        round(&mut young, MS * 10, 0);
        *growth = (window(&young, MS * 10) - before).get();
    }
    // A flight is the window rounded up to packets: up to a sixth more than the window here.
    assert!((900..=1_000).contains(&grown[0]), "{grown:?}");
    assert!((160..=187).contains(&grown[3]), "{grown:?}");
}

#[test]
fn an_old_flow_is_cut_once_per_virtual_round_trip() {
    let mut driver = marked_once("prague:rtt_transition=0,initial_alpha=0.5", MS * 10);
    driver.ack_marked(9, 9);
    let mut windows = alloc::vec::Vec::new();
    for _ in 0..6 {
        round(&mut driver, MS * 10, 100);
        windows.push(driver.cwnd().get());
    }
    // Cut to 7,500 at 10 ms, and then with the first round trip that ends 25 ms later: at 40 ms to
    // 7500 × (1 − 0.53125 ÷ 2) = 5,508, at 70 ms to 5508 × (1 − 0.56055 ÷ 2) = 3,964.
    assert_eq!(windows, [8_000, 8_000, 6_000, 6_000, 6_000, 4_000]);
}

#[test]
fn the_initial_window_is_spread_over_half_a_virtual_round_trip() {
    let driver = l4s("prague");
    let Control {
        cwnd,
        pacing_rate,
        send_quantum,
    } = driver.flow.control();
    // 2 × 10,000 bytes ÷ 25 ms.
    assert_eq!(pacing_rate.bytes_per_sec(), 800_000);
    assert_eq!((cwnd, send_quantum), (MSS * 10, MSS));
}

#[test]
fn the_rate_is_twice_window_over_round_trip_in_slow_start_and_once_after() {
    let mut driver = l4s("prague");
    for _ in 0..5 {
        driver.round(RTT);
    }
    let control = driver.flow.control();
    assert_eq!(control.pacing_rate.bytes_per_sec(), 2 * 320_000 * 10);
    // 6.4 MB/s × 250 µs.
    assert_eq!(control.send_quantum, Bytes::new(1_600));
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    let rate = driver.flow.control().pacing_rate;
    assert_eq!(rate.bytes_per_sec(), 160_000 * 10);
}

#[test]
fn a_window_that_is_not_filled_does_not_grow_but_alpha_goes_on() {
    let mut driver = marked_once("prague", RTT);
    driver.ack(9);
    for _ in 0..5 {
        round(&mut driver, RTT, 0);
    }
    // The round before was full, so the first sparse one still counts.
    for _ in 0..2 {
        driver.send(2);
        driver.finish_round(RTT);
    }
    let (before, share) = (window(&driver, RTT), alpha(&driver));
    for _ in 0..100 {
        driver.send(2);
        driver.finish_round(RTT);
    }
    assert_eq!(window(&driver, RTT), before);
    assert!(alpha(&driver) * 100 < share);
}

#[test]
fn an_idle_second_is_forgotten_and_nothing_else() {
    let mut driver = marked_once("prague", RTT);
    driver.ack(9);
    round(&mut driver, RTT, 0);
    let (before, share) = (window(&driver, RTT), alpha(&driver));
    driver.now += Duration::from_secs(1);
    assert_eq!((window(&driver, RTT), alpha(&driver)), (before, share));
    round(&mut driver, RTT, 0);
    assert!(window(&driver, RTT) >= before);
    assert_eq!(alpha(&driver), share * 15 / 16);
}

#[test]
fn persistent_congestion_starts_over_with_two_packets_up_to_the_threshold() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT * 50);
    driver.collapse();
    assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
    // Slow start stops at ten; the rest of that round trip brings 0.6 packets.
    for packets in [4, 8, 11] {
        driver.round(RTT);
        assert_eq!(driver.packets(), packets);
    }
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn a_packet_size_learned_before_the_first_ack_makes_the_initial_window() {
    let mut driver = l4s("prague");
    driver.flow.on_mtu(driver.now, Bytes::new(1_472));
    // 14,720 bytes are ten packets of the new size.
    assert_eq!(driver.cwnd(), Bytes::new(14_720));
    driver.flow.on_mtu(driver.now, Bytes::new(65_000));
    assert_eq!(driver.cwnd(), Bytes::new(130_000));
}

#[test]
fn what_left_at_the_moment_of_a_cut_is_no_reason_for_the_next() {
    let mut driver = marked_once("prague", RTT);
    driver.ack(9);
    let before = window(&driver, RTT);
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    assert_eq!(window(&driver, RTT), before);
}

#[test]
fn what_flew_before_a_collapse_does_not_let_the_window_grow_after_it() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT);
    driver.lose(10);
    // Twenty fly once more when the next losses collapse the window.
    driver.send(10);
    driver.lose(8);
    driver.tell(&crate::Feedback {
        is_persistent_congestion: true,
        ..crate::Feedback::at(driver.now)
    });
    driver.ack(8);
    assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
}

#[test]
fn round_trips_of_slow_start_do_not_make_a_flow_old() {
    let rtt = MS * 10;
    let mut driver = l4s("prague:rtt_transition=3");
    (0..5).for_each(|_| driver.round(rtt));
    driver.fly(rtt);
    driver.ack_marked(1, 1);
    assert_eq!(window(&driver, rtt), Bytes::new(160_000));
    driver.ack(16);
    // A tenth of a window brings a tenth of a packet; of an old flow, 0.16 of that.
    assert_eq!(window(&driver, rtt), Bytes::new(160_100));
}

#[test]
fn a_window_that_has_outgrown_the_one_before_a_loss_is_kept() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT);
    let lost = driver.lose(1);
    driver.ack(19);
    driver.now += MS;
    while driver.packets() <= 20 {
        driver.round(RTT);
    }
    let grown = driver.cwnd();
    driver.arrive_late(&lost);
    assert_eq!(driver.cwnd(), grown);
}

#[test]
fn alpha_of_an_old_flow_moves_once_per_virtual_round_trip() {
    let mut driver = marked_once("prague:rtt_transition=0", MS * 10);
    driver.ack(9);
    for _ in 0..2 {
        assert_eq!(alpha(&driver), 1_000_000);
        driver.fly(MS * 10);
        driver.ack(driver.flying.len().min(6));
    }
    // After 30 ms, of 22 packets one was marked: (15 + 1 ÷ 22) ÷ 16.
    assert_eq!(alpha(&driver), 940_340);
}

#[test]
fn a_later_slow_start_stops_at_its_threshold() {
    let mut driver = l4s("prague");
    driver.round(RTT);
    driver.fly(RTT * 50);
    driver.collapse();
    (0..2).for_each(|_| driver.round(RTT));
    driver.fly(RTT);
    // One ACK for all eight.
    driver.ack(8);
    assert_eq!(driver.packets(), 10);
}
