use super::*;
use crate::params::Params;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use core::time::Duration;

#[test]
fn a_window_halves_and_then_grows_by_one_packet_per_round_trip() {
    let mut driver = FlowDriver::new("new_reno");
    driver.round(MS * 100);
    driver.congest(MS * 100);
    assert_eq!(driver.packets(), 10);
    driver.now += MS;
    for _ in 0..100 {
        let before = driver.cwnd();
        driver.round(MS * 100);
        // A little less than one: what is acknowledged is whole packets of a window that grows.
        let grown = driver.cwnd() - before;
        assert!((Bytes::new(860)..=MSS).contains(&grown), "{grown}");
    }
}

#[test]
fn small_packets_do_not_stop_growth() {
    let mut driver = FlowDriver::new("new_reno");
    for _ in 0..8 {
        driver.round(MS * 100);
    }
    driver.congest(MS * 100);
    driver.now += MS;
    let before = driver.cwnd();
    // One packet per ACK is 0.8 bytes of growth each.
    driver.fly(MS * 100);
    for _ in 0..before.packets_floor(MSS) {
        driver.ack(1);
    }
    let grown = driver.cwnd() - before;
    assert!((Bytes::new(980)..=MSS).contains(&grown), "{grown}");
}

#[test]
fn hystart_can_be_asked_for() {
    let mut driver = FlowDriver::new("new_reno:slow_start=hystartpp");
    for rtt in [40, 40, 40, 60, 60] {
        driver.round(MS * rtt);
    }
    assert_eq!(driver.state(), "ConservativeSlowStart");
}

#[test]
fn congestion_leaves_no_fraction_of_a_byte_from_the_window_before() {
    let mut new_reno = NewReno {
        tuning: Tuning::new(&Params::defaults(&PARAMS)),
        rest: Remainder::default(),
    };
    let mut ack = AvoidanceAck {
        now: Timestamp::ZERO,
        acked: Bytes::new(99),
        cwnd: MSS * 100,
        mss: MSS,
        srtt: Duration::ZERO,
    };
    // 0.99 bytes, whose rest of 99,000 would be nearly two of a window of half the size.
    assert_eq!(new_reno.growth(&ack), Bytes::ZERO);
    ack.cwnd = new_reno.on_congestion(ack.cwnd, CongestionSignal::Loss);
    ack.acked = Bytes::new(1);
    assert_eq!(new_reno.growth(&ack), Bytes::ZERO);
}
