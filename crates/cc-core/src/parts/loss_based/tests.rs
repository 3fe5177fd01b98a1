use super::*;
use crate::events::{AckedPacket, Feedback};
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use units::{Bandwidth, Gain};

mod prr;
mod reduction;
mod undo;

const BOTH: [&str; 2] = ["cubic", "new_reno"];

/// Both controllers with a slow start that only loss ends.
fn drivers() -> impl Iterator<Item = FlowDriver> {
    ["cubic:slow_start=standard", "new_reno"]
        .into_iter()
        .map(FlowDriver::new)
}

/// The second flight of slow start left a round trip ago: 20 packets.
fn fly_20(driver: &mut FlowDriver) {
    driver.round(MS * 100);
    driver.fly(MS * 100);
}

#[test]
fn slow_start_doubles_a_window_that_is_filled() {
    for mut driver in drivers() {
        for packets in [10, 20, 40, 80] {
            assert_eq!(driver.packets(), packets);
            driver.round(MS * 100);
        }
        assert_eq!(driver.state(), "SlowStart");
    }
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        driver.round(MS * 100);
        // The round before was full, so the first sparse one still counts.
        for _ in 0..2 {
            driver.send(3);
            driver.finish_round(MS * 100);
        }
        let before = driver.cwnd();
        for _ in 0..100 {
            driver.send(before.packets_floor(MSS) / 2);
            driver.finish_round(MS * 100);
        }
        assert_eq!(driver.cwnd(), before);
        driver.congest(MS * 100);
        driver.round(MS * 100);
        let in_avoidance = driver.cwnd();
        for _ in 0..100 {
            driver.send(in_avoidance.packets_floor(MSS) / 2);
            driver.finish_round(MS * 100);
        }
        let grown = driver.cwnd() - in_avoidance;
        assert!(grown < MSS * 2, "{grown}");
    }
}

#[test]
fn slow_start_goes_no_further_than_twice_what_has_flown() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        assert_eq!(driver.packets(), 20);
        // The round before was full, so that this window may grow; ten packets have flown in it.
        driver.send(5);
        driver.finish_round(MS * 100);
        assert_eq!(driver.packets(), 20);
        driver.round(MS * 100);
        assert_eq!(driver.packets(), 40);
    }
}

/// 100 packets or a few more, in congestion avoidance, with a full window in flight.
fn avoiding(controller: &str) -> FlowDriver {
    let mut driver = FlowDriver::new(controller);
    while driver.packets() < 160 {
        driver.round(MS * 100);
    }
    driver.congest(MS * 100);
    driver.now += MS;
    driver.round(MS * 100);
    while driver.packets() < 100 {
        driver.round(MS * 100);
    }
    driver.fly(MS * 100);
    assert_eq!(driver.state(), "CongestionAvoidance");
    driver
}

#[test]
fn a_packet_size_learned_before_the_first_ack_makes_the_initial_window() {
    for mut driver in drivers() {
        driver.flow.on_mtu(driver.now, Bytes::new(1_472));
        assert_eq!(driver.cwnd(), Bytes::new(14_720));
        driver.flow.on_mtu(driver.now, Bytes::new(9_000));
        assert_eq!(driver.cwnd(), Bytes::new(18_000));
    }
}

#[test]
fn two_of_the_largest_packets_always_fit() {
    for mut driver in drivers() {
        driver.congest(MS * 100);
        driver.flow.on_mtu(driver.now, Bytes::new(65_000));
        assert_eq!(driver.cwnd(), Bytes::new(130_000));
    }
}

#[test]
fn the_rate_is_known_with_the_first_round_trip_and_follows_the_state() {
    for mut driver in drivers() {
        assert_eq!(driver.flow.control().pacing_rate, Bandwidth::MAX);
        assert_eq!(driver.flow.control().send_quantum, MSS * 10);
        driver.round(MS * 100);
        let rate = |driver: &FlowDriver| driver.flow.control().pacing_rate.bytes_per_sec();
        assert_eq!(rate(&driver), 2 * 20_000 * 10);
        driver.congest(MS * 100);
        assert_eq!(rate(&driver), driver.cwnd().get() * 10 * 5 / 4);
    }
}

#[test]
fn a_window_is_spread_over_the_newest_round_trip_where_that_is_shorter_than_their_average() {
    for controller in BOTH {
        let mut driver = avoiding(controller);
        for (millis, spread_over) in [(200, 200), (100, 100), (150, 150), (400, 225)] {
            driver.ack(driver.flying.len());
            (0..10).for_each(|_| driver.round(MS * 200));
            driver.fly(MS * millis);
            driver.ack(2);
            let control = driver.flow.control();
            let micros = (control.cwnd / control.pacing_rate).as_micros();
            // With a gain of 5/4. 400 ms move the average of 200 by an eighth.
            assert_eq!(micros / 100, spread_over * 8, "{controller}, {millis} ms");
        }
    }
}

#[test]
fn pacing_can_be_turned_off() {
    for controller in BOTH {
        let mut driver = FlowDriver::new(&alloc::format!("{controller}:pacing=off"));
        driver.round(MS * 100);
        assert_eq!(driver.flow.control(), Control::unpaced(driver.cwnd()));
        assert_eq!(driver.flow.snapshot().pacing_gain, None);
    }
}
