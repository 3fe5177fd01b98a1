//! A classic queue that marks ECT(1), as the controller sees it.

use super::*;

/// Past slow start, and past the marks that ended it, with an average near zero.
fn settled(controller: &str) -> FlowDriver {
    let mut driver = marked_once(controller, RTT);
    driver.ack(9);
    for _ in 0..100 {
        round(&mut driver, RTT, 0);
    }
    assert!(alpha(&driver) < 3_000);
    driver
}

/// A round trip with a mark, whose packets have waited for `wait` in a queue.
fn round_behind(driver: &mut FlowDriver, wait: Duration) {
    round(driver, RTT, 0);
    round(driver, RTT + wait, 1);
}

/// How much of the window the next mark leaves, in thousandths.
fn left_by_a_mark(driver: &mut FlowDriver) -> u64 {
    driver.now += MS;
    driver.fly(RTT);
    let rate = |driver: &FlowDriver| driver.flow.control().pacing_rate;
    let before = rate(driver);
    driver.ack_marked(1, 1);
    rate(driver).bytes_per_sec() * 1_000 / before.bytes_per_sec()
}

#[test]
fn marks_behind_a_long_queue_are_answered_as_those_of_a_classic_one() {
    let mut driver = settled("prague");
    (0..7).for_each(|_| round_behind(&mut driver, MS * 10));
    assert_eq!(driver.state(), "CongestionAvoidance");
    round_behind(&mut driver, MS * 5);
    // The end of the round trip is seen with the next.
    round(&mut driver, RTT, 0);
    assert_eq!(driver.state(), "ClassicEcn");
    assert_eq!(driver.states.0.last(), Some(&"ClassicEcn"));
    let left = left_by_a_mark(&mut driver);
    assert!((799..=801).contains(&left), "{left}");
    assert!(driver.flow.wants_ect1());
}

#[test]
fn marks_behind_a_short_queue_never_are() {
    let mut driver = settled("prague");
    (0..50).for_each(|_| round_behind(&mut driver, MS * 5 / 2));
    assert_eq!(driver.state(), "CongestionAvoidance");
    let left = left_by_a_mark(&mut driver);
    assert!(left > 980, "{left}");
}

#[test]
fn a_classic_queue_that_is_gone_is_forgotten() {
    let mut driver = settled("prague");
    (0..20).for_each(|_| round_behind(&mut driver, MS * 10));
    assert_eq!(driver.state(), "ClassicEcn");
    (0..7).for_each(|_| round_behind(&mut driver, MS));
    assert_eq!(driver.state(), "ClassicEcn");
    (0..2).for_each(|_| round_behind(&mut driver, MS));
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn a_mark_that_says_more_than_a_classic_one_cuts_more() {
    let mut driver = settled("prague");
    // All is marked for many round trips, and the window has room for two packets.
    (0..60).for_each(|_| round(&mut driver, RTT + MS * 10, 1_000));
    // It grows again to four of them, while alpha stays at one half at least.
    (0..3).for_each(|_| round(&mut driver, RTT, 0));
    assert_eq!(driver.state(), "ClassicEcn");
    let share = alpha(&driver);
    assert!(share > 500_000, "{share}");
    let left = left_by_a_mark(&mut driver);
    assert!(left.abs_diff(1_000 - share / 2_000) <= 2, "{left}, {share}");
}

#[test]
fn it_can_be_turned_off_and_begins_anew_with_ect1() {
    let mut driver = settled("prague:classic_ecn=off");
    (0..20).for_each(|_| round_behind(&mut driver, MS * 10));
    assert_eq!(driver.state(), "CongestionAvoidance");
    let mut driver = settled("prague");
    (0..20).for_each(|_| round_behind(&mut driver, MS * 10));
    assert_eq!(driver.state(), "ClassicEcn");
    for sends_ect1 in [false, true] {
        driver.flow.set_sends_ect1(driver.now, sends_ect1);
        assert_eq!(driver.state(), "CongestionAvoidance");
    }
}
