use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};

/// A flow at 8 Mbit/s, a packet of 1000 bytes per millisecond, that has sent `packets` and seen
/// one in `one_in` of them lost.
fn after(packets: u64, one_in: u64) -> FlowDriver {
    let mut driver = FlowDriver::new("brutal:rate=8mbit");
    for number in 1..=packets {
        driver.send(1);
        driver.now += MS;
        if number % one_in == 0 {
            driver.lose(1);
        } else {
            driver.ack(1);
        }
    }
    driver
}

fn rate(driver: &FlowDriver) -> u64 {
    driver.flow.control().pacing_rate.bytes_per_sec()
}

#[test]
fn the_rate_is_the_one_asked_for_while_nothing_is_lost() {
    let driver = after(200, u64::MAX);
    assert_eq!(rate(&driver), 1_000_000);
    // Twice the rate over a round trip of a millisecond, or two packets.
    assert_eq!(driver.cwnd(), MSS * 2);
}

#[test]
fn what_is_lost_is_sent_in_addition() {
    // 90 % arrive: 1 ÷ 0.9.
    assert_eq!(rate(&after(1_000, 10)), 1_111_111);
}

#[test]
fn the_ack_rate_is_believed_from_fifty_packets_on_and_down_to_its_floor() {
    assert_eq!(rate(&after(49, 4)), 1_000_000);
    assert_eq!(rate(&after(50, 4)), 1_250_000);
    assert_eq!(rate(&after(1_000, 2)), 1_250_000);
}

#[test]
fn losses_are_forgotten_after_five_seconds() {
    let mut driver = after(1_000, 10);
    driver.now += MS * 5_000;
    driver.send(1);
    driver.now += MS;
    driver.ack(1);
    assert_eq!(rate(&driver), 1_000_000);
}

#[test]
fn a_loss_that_was_none_counts_as_received() {
    let mut tally = Tally::default();
    let at = Timestamp::from_millis;
    tally.now(at(500)).lost += MSS * 3;
    tally.now(at(1_500)).acked += MSS * 7;
    tally.take_back(at(2_500), MSS);
    let Slot { acked, lost, .. } = tally.total(at(2_500));
    assert_eq!((acked, lost), (MSS * 8, MSS * 2));
    assert_eq!(tally.total(at(5_500)).lost, Bytes::ZERO);
}

#[test]
fn the_window_is_the_initial_one_until_there_is_a_round_trip_time() {
    let driver = FlowDriver::new("brutal:rate=100mbit");
    assert_eq!(driver.cwnd(), MSS * 10);
    let mut driver = driver;
    driver.send(1);
    driver.now += MS * 100;
    driver.ack(1);
    // 2 × 12.5 MB/s × 0.1 s.
    assert_eq!(driver.cwnd(), Bytes::new(2_500_000));
    assert_eq!(driver.flow.control().send_quantum, Bytes::new(12_500));
}

#[test]
fn a_second_takes_the_place_of_the_one_five_before() {
    let mut tally = Tally::default();
    let at = Timestamp::from_millis;
    tally.now(at(2_500)).lost += MSS * 3;
    tally.now(at(7_500)).lost += MSS;
    assert_eq!(tally.total(at(7_600)).lost, MSS);
}

#[test]
fn two_packets_may_always_fly() {
    let mut driver = FlowDriver::new("brutal:rate=8mbit");
    driver.send(1);
    driver.now += MS / 2;
    driver.ack(1);
    // Twice the rate over half a millisecond is one.
    assert_eq!(driver.cwnd(), MSS * 2);
}
