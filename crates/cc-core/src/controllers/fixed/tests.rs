use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};

fn control(text: &str) -> Control {
    FlowDriver::new(text).flow.control()
}

#[test]
fn nothing_that_happens_changes_the_decision() {
    let mut driver = FlowDriver::new("fixed:rate=8mbit,cwnd=64k");
    let before = driver.flow.control();
    assert_eq!(before.pacing_rate.bytes_per_sec(), 1_000_000);
    assert_eq!(before.cwnd, Bytes::new(65_536));
    driver.send(100);
    driver.now += MS * 50;
    driver.lose(30);
    driver.ack(70);
    driver.now += MS * 10_000;
    driver.send(10);
    driver.ack(10);
    assert_eq!(driver.flow.control(), before);
}

#[test]
fn the_quantum_is_a_millisecond_of_the_rate_unless_given() {
    // 1, 8 and 1,000 Mbit/s: 125, 1,000 and 125,000 bytes in a millisecond.
    assert_eq!(control("fixed:rate=1mbit").send_quantum, MSS * 2);
    assert_eq!(control("fixed:rate=80mbit").send_quantum.get(), 10_000);
    assert_eq!(control("fixed:rate=1gbit").send_quantum.get(), 65_536);
    let given = control("fixed:rate=80mbit,quantum=1200");
    assert_eq!(given.send_quantum.get(), 1_200);
}

#[test]
fn a_derived_quantum_follows_the_packet_size() {
    let quantum_at_9000 = |text| {
        let mut driver = FlowDriver::new(text);
        driver.flow.on_mtu(driver.now, Bytes::new(9_000));
        driver.flow.control().send_quantum.get()
    };
    assert_eq!(quantum_at_9000("fixed:rate=1mbit"), 18_000);
    assert_eq!(quantum_at_9000("fixed:rate=1mbit,quantum=1200"), 1_200);
    assert_eq!(quantum_at_9000("fixed:pacing=off"), u64::MAX);
}

#[test]
fn without_pacing_a_window_is_all() {
    let control = control("fixed:pacing=off,cwnd=5000");
    assert_eq!(control, Control::unpaced(Bytes::new(5_000)));
}
