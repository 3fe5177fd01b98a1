//! ECT(1) that begins or ends while a connection runs.

use super::*;

fn set_ect1(driver: &mut FlowDriver, sends_ect1: bool) {
    driver.now += MS;
    driver.flow.set_sends_ect1(driver.now, sends_ect1);
}

/// Past slow start, with an average that a mark would cut the window by a little for.
fn settled(rtt: Duration) -> FlowDriver {
    let mut driver = marked_once("prague:rtt_transition=0,virtual_rtt=25ms", rtt);
    driver.ack(9);
    for _ in 0..40 {
        round(&mut driver, rtt, 0);
    }
    assert!(alpha(&driver) < 500_000);
    driver
}

#[test]
fn once_ect1_has_ended_a_mark_is_one_of_a_classic_queue() {
    let mut driver = settled(RTT);
    set_ect1(&mut driver, false);
    assert!(!driver.flow.wants_ect1());
    assert_eq!(driver.flow.snapshot().marked_share, None);
    let before = window(&driver, RTT);
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    assert_eq!(driver.state(), "Recovery");
    assert_eq!(window(&driver, RTT), before * Gain::new(8, 10));
    driver.ack_marked(3, 3);
    assert_eq!(window(&driver, RTT), before * Gain::new(8, 10));
}

#[test]
fn marks_of_what_left_with_ect1_are_answered_as_such_after_its_end() {
    let mut driver = settled(RTT);
    let (before, share) = (window(&driver, RTT), alpha(&driver));
    driver.fly(RTT);
    set_ect1(&mut driver, false);
    driver.ack_marked(1, 1);
    assert_eq!(driver.state(), "CongestionAvoidance");
    let control = driver.flow.control();
    // Nothing grew: all that was acknowledged was marked.
    let srtt = driver.flow.path_state().srtt.unwrap();
    let cut = before.get() * share / 2_000_000;
    let left = (control.pacing_rate * srtt).get();
    assert!(left.abs_diff(before.get() - cut) <= 1, "{left}");
}

#[test]
fn what_left_without_ect1_is_answered_as_a_loss_after_its_beginning() {
    let mut driver = FlowDriver::new("prague");
    driver.round(RTT);
    driver.fly(RTT);
    set_ect1(&mut driver, true);
    assert!(driver.flow.wants_ect1());
    driver.ack_marked(1, 1);
    assert_eq!((driver.packets(), driver.state()), (10, "Recovery"));
    driver.ack(19);
    // What has left since is of the other kind: the first mark of it finds an alpha of 1.
    driver.now += MS;
    driver.fly(RTT);
    let before = driver.flow.snapshot().ssthresh.unwrap();
    driver.ack_marked(1, 1);
    assert_eq!(driver.state(), "CongestionAvoidance");
    assert_eq!(driver.flow.snapshot().ssthresh, Some(before / 2));
    // A round trip ends with it, in which one of twenty was marked: 1 − (1 − 1 ÷ 20) ÷ 16.
    assert_eq!(alpha(&driver), 940_625);
}

#[test]
fn what_marks_had_shown_is_forgotten_when_ect1_begins_again() {
    let mut driver = settled(RTT);
    set_ect1(&mut driver, false);
    set_ect1(&mut driver, true);
    assert_eq!(driver.flow.snapshot().marked_share, None);
    let before = window(&driver, RTT);
    driver.now += MS;
    driver.fly(RTT);
    driver.ack_marked(1, 1);
    let half = window(&driver, RTT).get();
    assert!(half.abs_diff(before.get() / 2) <= 1, "{half} of {before}");
}

#[test]
fn without_ect1_a_short_round_trip_grows_the_window_by_a_packet_each() {
    let rtt = MS * 10;
    let mut driver = settled(rtt);
    let grown = |driver: &mut FlowDriver| {
        let before = window(driver, rtt);
        round(driver, rtt, 0);
        (window(driver, rtt) - before).get()
    };
    let scaled = grown(&mut driver);
    driver.flow.set_sends_ect1(driver.now, false);
    let whole = grown(&mut driver);
    // (10 ÷ 25)² of a packet, and a packet; a flight is a little more or less than the window.
    assert!((150..=190).contains(&scaled), "{scaled}");
    assert!((900..=1_100).contains(&whole), "{whole}");
}
