use super::*;
use alloc::vec::Vec;

/// The oldest `packets` are acknowledged, one a millisecond; how many leave after each ACK.
fn ack_one_by_one(driver: &mut FlowDriver, packets: usize) -> Vec<u64> {
    let step = |_| {
        driver.now += MS;
        driver.ack(1);
        driver.fill()
    };
    (0..packets).map(step).collect()
}

#[test]
fn a_window_cut_at_once_is_silent_until_the_flight_has_drained_to_it() {
    let mut driver = FlowDriver::new("new_reno");
    fly_20(&mut driver);
    driver.lose(1);
    let sent = ack_one_by_one(&mut driver, 19);
    // 20 packets, one of them lost; the window is ten.
    assert_eq!(sent[..9], [0; 9]);
    assert_eq!(sent[9..], [1; 10]);
}

#[test]
fn with_prr_the_repair_leaves_at_once_and_the_reduction_takes_the_whole_round() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    fly_20(&mut driver);
    driver.lose(1);
    driver.now += MS;
    assert_eq!(driver.fill(), 1);
    let sent = ack_one_by_one(&mut driver, 19);
    // Half a packet for each ACK, and at the window one for one.
    let expected = [0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1];
    assert_eq!(sent, expected);
    assert_eq!(driver.flying.len(), 10);
    assert_eq!(driver.state(), "Recovery");
    driver.now += MS;
    driver.ack(1);
    assert_eq!(driver.state(), "CongestionAvoidance");
    assert_eq!(driver.packets(), 10);
}

#[test]
fn with_prr_a_mark_spreads_its_reduction_too() {
    let mut driver = avoiding("new_reno:prr=on");
    let flight = driver.flying.len();
    driver.mark();
    driver.fill();
    let sent = ack_one_by_one(&mut driver, flight - 1);
    let longest_silence = sent.split(|packets| *packets > 0).map(<[u64]>::len).max();
    assert!(longest_silence <= Some(4), "{sent:?}");
    let target = driver.flow.snapshot().ssthresh.unwrap();
    let flying = MSS * driver.flying.len() as u64;
    assert!(target - flying <= MSS, "{flying} of {target}");
}

#[test]
fn with_prr_losses_that_a_timer_finds_let_nothing_leave_but_the_repair() {
    for controller in ["cubic:prr=on", "new_reno:prr=on"] {
        let mut driver = avoiding(controller);
        let flight = driver.flying.len();
        driver.lose(flight / 2);
        assert_eq!(driver.fill(), 1, "{controller}");
        driver.lose(flight / 4);
        assert_eq!(driver.fill(), 0, "{controller}");
    }
}

#[test]
fn with_prr_the_window_between_acks_is_what_flies_and_what_may_leave() {
    let mut driver = avoiding("cubic:prr=on");
    driver.lose(1);
    driver.ack(20);
    let window = driver.cwnd();
    let may_leave = driver.packets() - driver.flying.len() as u64;
    // 70 % of 20 packets.
    assert_eq!(may_leave, 14);
    driver.send(5);
    assert_eq!(driver.cwnd(), window);
    driver.send(9);
    assert_eq!(driver.cwnd(), window);
    // A packet that is lost now leaves the flight, and the window with it.
    driver.lose(1);
    assert_eq!(driver.cwnd(), window - MSS);
}

#[test]
fn with_prr_heavy_loss_is_repaired_by_slow_start_up_to_the_window() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    for _ in 0..3 {
        driver.round(MS * 100);
    }
    driver.fly(MS * 100);
    // 80 in flight, 72 lost: the window is 40.
    driver.lose(72);
    driver.now += MS;
    assert_eq!(driver.fill(), 1);
    // Conserved: one for one.
    let conserved: u64 = ack_one_by_one(&mut driver, 8).iter().sum();
    assert_eq!((conserved, driver.flying.len()), (8, 9));
    // A packet more for each ACK.
    for (acks, flying) in [(9, 18), (18, 36)] {
        ack_one_by_one(&mut driver, acks);
        assert_eq!((driver.flying.len(), driver.state()), (flying, "Recovery"));
    }
    ack_one_by_one(&mut driver, 4);
    assert_eq!((driver.flying.len(), driver.packets()), (40, 40));
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn with_prr_a_sender_that_something_else_limits_does_not_stay_in_recovery() {
    // Ten packets at a time, far below the window: 60 of them repair what was lost.
    let mut driver = avoiding("cubic:prr=on");
    driver.lose(60);
    driver.now += MS;
    driver.ack(driver.flying.len());
    for _ in 0..6 {
        assert_eq!(driver.state(), "Recovery");
        driver.send(10);
        driver.now += MS * 100;
        driver.ack(10);
    }
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn with_prr_an_undo_ends_the_episode() {
    for controller in ["cubic:prr=on,slow_start=standard", "new_reno:prr=on"] {
        let mut driver = FlowDriver::new(controller);
        fly_20(&mut driver);
        let lost = driver.lose(3);
        driver.arrive_late(&lost[..2]);
        assert_eq!(driver.state(), "Recovery");
        driver.arrive_late(&lost[2..]);
        assert_eq!((driver.packets(), driver.state()), (20, "SlowStart"));
    }
}

#[test]
fn with_prr_the_share_is_of_what_flew_before_the_losses() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    fly_20(&mut driver);
    driver.lose(4);
    driver.now += MS;
    assert_eq!(driver.fill(), 1);
    driver.ack(4);
    // Half of four packets, one of which has left; of the 16 that still flew it were 2.5.
    let may_leave = driver.cwnd() - MSS * driver.flying.len() as u64;
    assert_eq!(may_leave, MSS);
}

#[test]
fn with_prr_two_packets_may_always_fly() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    driver.fly(MS * 100);
    driver.lose(10);
    // Nothing flies, and the allowance is a packet.
    assert_eq!(driver.cwnd(), MSS * 2);
}

#[test]
fn with_prr_a_collapse_ends_the_episode() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    fly_20(&mut driver);
    driver.collapse();
    assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
    for packets in [4, 8] {
        driver.round(MS * 100);
        assert_eq!(driver.packets(), packets);
    }
}

#[test]
fn with_prr_a_late_arrival_is_no_safe_ack() {
    let mut driver = FlowDriver::new("new_reno:prr=on");
    for _ in 0..3 {
        driver.round(MS * 100);
    }
    driver.fly(MS * 100);
    let lost = driver.lose(72);
    driver.now += MS;
    driver.fill();
    ack_one_by_one(&mut driver, 9);
    // Repairs arrive, and an ACK for one packet lets two leave; a packet that was late, one.
    let before = driver.packets();
    driver.arrive_late(&lost[..1]);
    assert_eq!(driver.packets(), before + 1);
}
