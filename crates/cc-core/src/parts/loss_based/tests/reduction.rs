use super::*;

#[test]
fn many_ranges_lost_from_one_flight_are_one_reduction() {
    for (mut driver, packets) in drivers().zip([28, 20]) {
        driver.round(MS * 100);
        fly_20(&mut driver);
        for _ in 0..10 {
            driver.lose(1);
            driver.ack(1);
            driver.now += MS;
        }
        assert_eq!(driver.packets(), packets);
        // Lost from the next flight: the second reduction.
        driver.ack(driver.flying.len());
        driver.fly(MS * 100);
        driver.lose(1);
        assert!(driver.packets() <= packets * 7 / 10);
    }
}

#[test]
fn a_mark_in_slow_start_reduces_as_a_loss_does_once_per_flight() {
    for (mut driver, packets) in drivers().zip([7, 5]) {
        driver.fly(MS * 100);
        for _ in 0..3 {
            driver.mark();
        }
        assert_eq!(driver.packets(), packets);
        assert_eq!(driver.state(), "Recovery");
    }
}

#[test]
fn conservative_slow_start_is_slow_start_to_a_mark() {
    let mut driver = FlowDriver::new("cubic");
    for rtt in [40, 40, 40, 60] {
        driver.round(MS * rtt);
    }
    assert_eq!(driver.state(), "ConservativeSlowStart");
    driver.fly(MS * 60);
    let before = driver.cwnd();
    driver.mark();
    assert_eq!(driver.cwnd(), before * Gain::new(7, 10));
}

#[test]
fn a_mark_in_congestion_avoidance_cuts_less_than_a_loss() {
    for (controller, lost, marked) in [
        ("cubic:slow_start=standard", 70, 85),
        ("new_reno", 50, 80),
        ("cubic:slow_start=standard,beta_ecn=0.7", 70, 70),
        ("new_reno:beta=0.6,beta_ecn=0.9", 60, 90),
    ] {
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        driver.lose(1);
        assert_eq!(driver.cwnd(), before * Gain::percent(lost), "{controller}");
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        driver.mark();
        assert_eq!(driver.cwnd(), before * Gain::percent(marked));
    }
}

#[test]
fn marks_of_one_flight_are_one_reduction_however_many_an_ack_reports() {
    for (controller, left) in [("cubic:slow_start=standard", 85), ("new_reno", 80)] {
        let mut driver = avoiding(controller);
        for _ in 0..3 {
            let before = driver.cwnd();
            let flight = driver.flying.len();
            // Everything was marked.
            driver.ack_marked(flight / 2, flight as u64 / 2);
            driver.ack_marked(1, 1_000);
            driver.ack_marked(driver.flying.len(), flight as u64 / 2);
            assert_eq!(driver.cwnd(), before * Gain::percent(left), "{controller}");
            driver.now += MS;
            driver.fly(MS * 100);
        }
    }
}

#[test]
fn a_loss_in_the_round_of_a_mark_reduces_no_further() {
    for controller in BOTH {
        let mut driver = avoiding(controller);
        driver.mark();
        let reduced = driver.cwnd();
        driver.lose(1);
        driver.mark();
        assert_eq!(driver.cwnd(), reduced, "{controller}");
    }
}

#[test]
fn of_a_loss_and_a_mark_in_one_ack_the_loss_counts() {
    for (controller, left) in [("cubic:slow_start=standard", 70), ("new_reno", 50)] {
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        let AckedPacket { stamp, bytes } = driver.flying.pop_front().unwrap();
        let lost = [LostPacket {
            stamp,
            bytes,
            starts_range: true,
        }];
        let acked = [driver.flying.pop_front().unwrap()];
        driver.tell(&Feedback {
            acked: &acked,
            lost: &lost,
            ce_marked: 1,
            ..Feedback::at(driver.now)
        });
        assert_eq!(driver.cwnd(), before * Gain::percent(left), "{controller}");
    }
}

#[test]
fn the_window_grows_again_with_a_packet_sent_in_recovery() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        driver.congest(MS * 100);
        let reduced = driver.cwnd();
        driver.now += MS;
        driver.fly(MS * 100);
        driver.ack(1);
        assert_eq!(driver.state(), "CongestionAvoidance");
        assert!(driver.cwnd() > reduced);
        assert_eq!(driver.states.0, ["Recovery", "CongestionAvoidance"]);
    }
}

#[test]
fn endless_loss_leaves_two_packets() {
    for mut driver in drivers() {
        for _ in 0..50 {
            driver.fly(MS * 100);
            driver.lose(1);
            driver.ack(driver.flying.len());
            driver.now += MS;
        }
        assert_eq!(driver.cwnd(), MSS * 2);
    }
}

#[test]
fn persistent_congestion_starts_over_with_two_packets_up_to_the_threshold() {
    for (mut driver, threshold) in drivers().zip([14, 10]) {
        fly_20(&mut driver);
        driver.collapse();
        assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
        for packets in [4, 8, threshold] {
            driver.round(MS * 100);
            assert_eq!(driver.packets(), packets);
        }
        assert_eq!(driver.state(), "CongestionAvoidance");
    }
}

#[test]
fn a_later_slow_start_stops_at_its_threshold() {
    for (mut driver, threshold) in drivers().zip([14, 10]) {
        fly_20(&mut driver);
        driver.collapse();
        for _ in 0..2 {
            driver.round(MS * 100);
        }
        driver.fly(MS * 100);
        // One ACK for all eight.
        driver.ack(8);
        assert_eq!(driver.packets(), threshold);
    }
}

#[test]
fn what_flew_before_a_collapse_does_not_let_the_window_grow_after_it() {
    for mut driver in drivers() {
        fly_20(&mut driver);
        driver.lose(10);
        // Twenty fly once more when the next losses collapse the window.
        driver.send(10);
        driver.lose(8);
        driver.tell(&Feedback {
            is_persistent_congestion: true,
            ..Feedback::at(driver.now)
        });
        driver.ack(8);
        assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
        // Four are left and one leaves: up to ten may be tried.
        driver.send(1);
        driver.ack(5);
        assert_eq!(driver.packets(), 7);
    }
}
