use super::*;
use crate::tests::controller_driver::{path, sample};
use crate::tests::flow_driver::{FlowDriver, MS, MSS};

/// Runs full rounds of these round-trip times in milliseconds.
fn after(controller: &str, rtts: &[u32]) -> FlowDriver {
    let mut driver = FlowDriver::new(controller);
    for rtt in rtts {
        driver.round(MS * *rtt);
    }
    driver
}

#[test]
fn a_steady_round_trip_time_doubles_without_end() {
    let driver = after("cubic", &[40; 8]);
    assert_eq!((driver.packets(), driver.state()), (2_560, "SlowStart"));
}

#[test]
fn the_rise_that_counts_is_an_eighth_within_4_and_16_ms() {
    for (base, rise) in [(8, 4), (40, 5), (100, 12), (500, 16)] {
        let state = |rtt| after("cubic", &[base, base, base, rtt]).state();
        assert_eq!(state(base + rise - 1), "SlowStart");
        // 100 ms ÷ 8 is 12.5 ms.
        let rise = rise + u32::from(base == 100);
        assert_eq!(state(base + rise), "ConservativeSlowStart");
    }
}

#[test]
fn a_round_says_something_from_its_eighth_sample_on() {
    for (acks, state) in [(7, "SlowStart"), (8, "ConservativeSlowStart")] {
        let mut driver = FlowDriver::new("cubic");
        for rtt in [40, 60, 80, 100, 120] {
            driver.send(acks * 2);
            driver.finish_round(MS * rtt);
        }
        assert_eq!(driver.state(), state);
    }
}

#[test]
fn conservative_rounds_grow_by_a_quarter_and_the_fifth_is_the_last() {
    let mut driver = after("cubic", &[40, 40, 40]);
    // The first eight ACKs of this round, two packets each, still count in full.
    driver.round(MS * 60);
    assert_eq!(driver.packets(), 80 + 14 + 66 / 4);
    let mut growth = alloc::vec::Vec::new();
    while driver.state() == "ConservativeSlowStart" {
        let before = driver.cwnd().get();
        driver.round(MS * 60);
        growth.push(driver.cwnd().get() * 100 / before);
    }
    assert!(
        growth[..4]
            .iter()
            .all(|percent| (124..=125).contains(percent))
    );
    assert_eq!((growth.len(), driver.state()), (5, "CongestionAvoidance"));
}

#[test]
fn a_rise_that_was_jitter_resumes_slow_start() {
    let mut driver = after("cubic", &[40, 40, 40, 60]);
    assert_eq!(driver.state(), "ConservativeSlowStart");
    driver.round(MS * 42);
    assert_eq!(driver.state(), "SlowStart");
    let entered = ["ConservativeSlowStart", "SlowStart"];
    assert_eq!(driver.states.0, entered);
}

#[test]
fn an_unpaced_sender_counts_eight_packets_of_an_ack() {
    for (controller, grown) in [("cubic:pacing=off", 8), ("cubic", 10)] {
        let mut driver = FlowDriver::new(controller);
        driver.fly(MS * 40);
        driver.ack(10);
        assert_eq!(driver.cwnd(), MSS * (10 + grown));
    }
}

#[test]
fn later_slow_starts_are_plain() {
    let mut driver = after("cubic", &[40, 40, 40]);
    driver.congest(MS * 40);
    driver.now += MS;
    driver.tell(&crate::Feedback {
        is_persistent_congestion: true,
        ..crate::Feedback::at(driver.now)
    });
    for rtt in [40, 40, 40, 60, 90] {
        driver.round(MS * rtt);
        assert_ne!(driver.state(), "ConservativeSlowStart");
    }
}

#[test]
fn a_round_ends_with_the_first_packet_that_left_after_it_began() {
    let mut hystart = HyStart::new(true);
    let mut path = path();
    let mut ack = |left_at: u64, rtt| {
        path.delivered += MSS;
        let sample = RateSample {
            prior_delivered: MSS * left_at,
            rtt: Some(rtt),
            ..sample()
        };
        hystart.on_ack(&path, &sample);
        hystart.is_conservative()
    };
    (0..8).for_each(|_| assert!(!ack(0, MS * 40)));
    // With the ninth ACK the second round begins; it is of packets that left after the first ACK.
    (0..8).for_each(|_| assert!(!ack(1, MS * 40)));
    // And these left right after the ninth.
    (0..7).for_each(|_| assert!(!ack(9, MS * 60)));
    assert!(ack(9, MS * 60));
}
