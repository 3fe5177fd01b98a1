use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use alloc::vec::Vec;

const RTT: Duration = Duration::from_millis(100);

/// A flow of a path that is said to carry so many packets, at so many milliseconds.
fn resuming(controller: &str, packets: u64, millis: u64) -> FlowDriver {
    resuming_until(controller, packets, millis, Timestamp::MAX)
}

fn resuming_until(controller: &str, packets: u64, millis: u64, end: Timestamp) -> FlowDriver {
    let mut driver = FlowDriver::new(controller);
    let saved = SavedPath {
        capacity: MSS * packets,
        min_rtt: MS * u32::try_from(millis).unwrap(),
    };
    driver.flow.resume(ResumePlan::new(saved, end));
    driver
}

fn phase(driver: &FlowDriver) -> Option<ResumePhase> {
    driver.flow.snapshot().resume_phase
}

/// The initial window is acknowledged, a round trip later, and the jump has begun.
fn jumped(controller: &str, packets: u64) -> FlowDriver {
    let mut driver = resuming(controller, packets, 100);
    driver.round(RTT);
    driver
}

/// What was allowed to leave in the Unvalidated Phase has left.
fn validating(controller: &str, packets: u64) -> FlowDriver {
    let mut driver = jumped(controller, packets);
    driver.now += RTT / 2;
    driver.fill();
    driver
}

#[test]
fn half_the_capacity_leaves_in_the_second_round_trip_paced_over_it() {
    for controller in RESUMING {
        let driver = jumped(controller, 1_000);
        assert_eq!(
            phase(&driver),
            Some(ResumePhase::Unvalidated),
            "{controller}"
        );
        let control = driver.flow.control();
        assert_eq!(control.cwnd, MSS * 500, "{controller}");
        assert_eq!(
            control.pacing_rate.bytes_per_sec(),
            5_000_000,
            "{controller}"
        );
        assert!(control.send_quantum <= initial_window(MSS), "{controller}");
    }
}

#[test]
fn controllers_that_do_as_told_or_yield_to_others_do_not_resume() {
    for controller in ["fixed", "brutal", "ledbat_pp"] {
        let mut driver = resuming(controller, 1_000, 100);
        assert_eq!(phase(&driver), None, "{controller}");
        let mut other = FlowDriver::new(controller);
        driver.round(RTT);
        other.round(RTT);
        assert_eq!(driver.flow.control(), other.flow.control(), "{controller}");
    }
}

#[test]
fn the_window_is_the_flight_once_the_jump_has_left() {
    for controller in RESUMING {
        let mut driver = validating(controller, 1_000);
        assert_eq!(
            phase(&driver),
            Some(ResumePhase::Validating),
            "{controller}"
        );
        let control = driver.flow.control();
        assert!(control.cwnd >= MSS * 500 && control.cwnd <= MSS * 501);
        assert!(
            control.pacing_rate.bytes_per_sec() >= 4_990_000,
            "{controller}"
        );
        driver.finish_round(RTT);
        assert_eq!(phase(&driver), None, "{controller}");
        assert!(
            driver.cwnd() >= MSS * 500,
            "{controller}: {}",
            driver.cwnd()
        );
    }
}

#[test]
fn another_round_trip_time_is_another_path() {
    for (millis, is_used) in [
        (201, true),
        (200, true),
        (199, true),
        (10, true),
        (9, false),
    ] {
        let mut driver = resuming("cubic", 1_000, millis);
        driver.round(RTT);
        let has_jumped = phase(&driver) == Some(ResumePhase::Unvalidated);
        let is_half = millis >= 200;
        assert_eq!(has_jumped, is_used && !is_half, "{millis} ms");
    }
}

#[test]
fn what_is_too_old_is_not_used() {
    let until = |millis| {
        let mut driver = resuming_until("cubic", 1_000, 100, Timestamp::from_millis(millis));
        driver.round(RTT);
        driver.packets()
    };
    assert_eq!((until(101), until(100)), (500, 20));
}

#[test]
fn loss_or_a_mark_in_the_initial_window_ends_it() {
    let mut lossy = resuming("cubic", 1_000, 100);
    lossy.fly(RTT);
    lossy.lose(1);
    lossy.ack(9);
    let mut marked = resuming("cubic", 1_000, 100);
    marked.fly(RTT);
    marked.mark();
    marked.ack(9);
    for driver in [lossy, marked] {
        assert_eq!(phase(&driver), None);
        assert_eq!(driver.packets(), 7);
        assert!(!driver.flow.has_retreated());
    }
}

#[test]
fn a_sender_with_little_to_send_waits_with_the_jump() {
    let mut driver = resuming("cubic", 1_000, 100);
    for _ in 0..20 {
        driver.send(2);
        driver.flow.on_app_limited();
        driver.finish_round(RTT);
    }
    assert_eq!(phase(&driver), Some(ResumePhase::Reconnaissance));
    assert_eq!(driver.packets(), 10);
    driver.fill();
    assert_eq!(
        driver.packets(),
        10,
        "as long as the application had limited it"
    );
    driver.finish_round(RTT);
    assert_eq!(driver.packets(), 500);
}

#[test]
fn larger_packets_do_not_make_more_of_the_initial_data() {
    let mut driver = resuming("cubic", 1_000, 100);
    driver.fly(RTT);
    driver.flow.on_mtu(driver.now, MSS * 2);
    driver.ack(10);
    assert_eq!(phase(&driver), Some(ResumePhase::Unvalidated));
}

#[test]
fn a_jump_that_is_not_used_leaves_what_was_delivered() {
    let mut driver = jumped("cubic", 1_000);
    driver.send(5);
    driver.finish_round(RTT + MS);
    assert_eq!(phase(&driver), None);
    assert_eq!(driver.packets(), 20);
}

#[test]
fn a_jump_to_less_than_the_window_is_none() {
    let driver = jumped("cubic", 38);
    assert_eq!((phase(&driver), driver.packets()), (None, 20));
}

#[test]
fn the_largest_jump_is_what_is_asked_for() {
    let mut driver = FlowDriver::new("cubic");
    let saved = SavedPath {
        capacity: MSS * 1_000,
        min_rtt: RTT,
    };
    let mut plan = ResumePlan::new(saved, Timestamp::MAX);
    plan.max_jump = MSS * 77;
    driver.flow.resume(plan);
    driver.round(RTT);
    assert_eq!(driver.packets(), 77);
}

/// 500 packets are out; so many arrive, and then as many are lost as are congestion.
fn retreated(controller: &str, arrived: usize) -> FlowDriver {
    let mut driver = validating(controller, 1_000);
    driver.now += RTT;
    driver.ack(arrived);
    let is_tolerant = TOLERANT.contains(&controller);
    driver.lose(if is_tolerant { 11 } else { 1 });
    driver
}

#[test]
fn congestion_halves_what_was_delivered_and_nothing_more_is_sent_meanwhile() {
    for controller in RESUMING {
        let mut driver = retreated(controller, 200);
        assert_eq!(
            phase(&driver),
            Some(ResumePhase::SafeRetreat),
            "{controller}"
        );
        assert!(driver.flow.has_retreated());
        assert_eq!(driver.packets(), 100, "{controller}");
        driver.lose(100);
        driver.ack(100);
        assert_eq!(driver.packets(), 100, "{controller}");
    }
}

#[test]
fn two_percent_of_a_jump_may_be_lost_to_controllers_that_tolerate_as_much() {
    for controller in RESUMING {
        let mut driver = validating(controller, 1_000);
        driver.now += RTT;
        let tolerated = if TOLERANT.contains(&controller) {
            10
        } else {
            0
        };
        for _ in 0..tolerated {
            driver.lose(1);
            driver.ack(1);
            assert_eq!(
                phase(&driver),
                Some(ResumePhase::Validating),
                "{controller}"
            );
        }
        driver.lose(1);
        assert_eq!(
            phase(&driver),
            Some(ResumePhase::SafeRetreat),
            "{controller}"
        );
    }
}

#[test]
fn the_loss_of_six_packets_says_nothing_of_a_share() {
    let mut driver = validating("bbr3", 80);
    driver.now += RTT;
    driver.lose(6);
    assert_eq!(phase(&driver), Some(ResumePhase::Validating));
    driver.lose(1);
    assert_eq!(phase(&driver), Some(ResumePhase::SafeRetreat));
}

#[test]
fn what_is_lost_of_a_jump_is_not_replaced() {
    for controller in TOLERANT {
        let mut driver = validating(controller, 1_000);
        driver.now += RTT;
        driver.lose(5);
        assert_eq!(driver.fill(), 0, "{controller}");
        driver.ack(20);
        let packets = driver.fill();
        assert!((20..=40).contains(&packets), "{controller}: {packets}");
    }
}

#[test]
fn slow_start_goes_on_to_half_of_all_that_was_delivered() {
    for controller in ["cubic", "new_reno", "prague"] {
        let mut driver = retreated(controller, 200);
        driver.lose(98);
        driver.ack(driver.flying.len());
        assert_eq!(phase(&driver), Some(ResumePhase::Normal), "{controller}");
        let snapshot = driver.flow.snapshot();
        assert_eq!(snapshot.control.cwnd, MSS * 100, "{controller}");
        assert_eq!(snapshot.ssthresh, Some(MSS * 401 / 2), "{controller}");
        assert_eq!(snapshot.state, "SlowStart", "{controller}");
    }
}

#[test]
fn the_losses_of_a_jump_cost_one_reduction_however_late_they_are_found() {
    let mut driver = retreated("cubic", 200);
    driver.send(20);
    let jumped = driver.flying.len() - 20;
    let mut late: Vec<_> = driver.flying.drain(..3).collect();
    driver.ack(jumped - 3);
    let before = driver.cwnd();
    late.append(&mut driver.flying.drain(..).collect());
    driver.flying.extend(late);
    let losses = driver.lose(3);
    assert_eq!(driver.cwnd(), before);
    driver.arrive_late(&losses);
    assert_eq!(driver.cwnd(), before);
    driver.lose(1);
    assert_eq!(
        driver.cwnd(),
        before * 7 / 10,
        "this one left after the retreat"
    );
}

#[test]
fn rates_measured_in_a_retreat_are_not_used() {
    for controller in ["bbr1", "bbr2", "bbr3", "paceline"] {
        let mut driver = retreated(controller, 1);
        let before = driver.flow.snapshot().bandwidth;
        driver.now += RTT;
        driver.ack(400);
        assert_eq!(phase(&driver), Some(ResumePhase::SafeRetreat));
        assert_eq!(driver.flow.snapshot().bandwidth, before, "{controller}");
    }
}

/// What left in the Validating Phase before the retreat, or while the path drained, arrives after
/// it.
#[test]
fn nor_are_those_of_packets_that_left_before_it() {
    for controller in TOLERANT {
        let mut driver = validating(controller, 1_000);
        driver.now += RTT;
        driver.ack(100);
        driver.now += MS * 10;
        driver.fill();
        let jumped = 400;
        driver.lose(11);
        let before = driver.flow.snapshot().bandwidth;
        // A probe of the MTU.
        driver.send(1);
        driver.ack(jumped - 11);
        assert_eq!(phase(&driver), Some(ResumePhase::Normal), "{controller}");
        driver.now += RTT;
        driver.ack(driver.flying.len());
        let after = driver.flow.snapshot().bandwidth;
        assert!(after < before, "{controller}: {after:?}");
    }
}

#[test]
fn startup_goes_on_after_a_retreat_beside_nothing_that_the_jump_has_delivered() {
    for controller in TOLERANT {
        let mut driver = retreated(controller, 400);
        let of_jump = driver.flow.snapshot().bandwidth;
        driver.ack(driver.flying.len());
        assert_eq!(phase(&driver), Some(ResumePhase::Normal), "{controller}");
        let mut packets = driver.packets();
        assert!(packets <= 200, "{controller}: {packets}");
        // Ten round trips a second, and a gain of two at least.
        let rate = driver.flow.control().pacing_rate.bytes_per_sec();
        let window = (MSS * packets).get();
        assert!(rate >= window * 10 * 2, "{controller}: {rate} B/s");
        // Beside a queue of a round trip three rounds bring no more than the jump did.
        for round in 0..6 {
            driver.fly(RTT * 2);
            driver.ack(driver.flying.len());
            let bandwidth = driver.flow.snapshot().bandwidth;
            assert!(
                round >= 2 || bandwidth < of_jump,
                "{controller} in round {round}: {bandwidth:?}, {of_jump:?}"
            );
            let more = driver.packets();
            assert!(
                more > packets * 3 / 2,
                "{controller} in round {round}: {more}"
            );
            packets = more;
        }
        assert_eq!(driver.state(), "Startup", "{controller}");
    }
}

#[test]
fn a_mark_is_congestion_as_a_loss_is() {
    let mut driver = validating("cubic", 1_000);
    driver.now += RTT;
    driver.mark();
    assert_eq!(phase(&driver), Some(ResumePhase::SafeRetreat));
    assert_eq!(
        driver.state(),
        "SlowStart",
        "the controller has not answered it as well"
    );
}

#[test]
fn a_round_trip_half_as_long_after_the_jump_ends_it() {
    let mut driver = jumped("cubic", 1_000);
    driver.send(100);
    driver.now += RTT / 2;
    driver.ack(1);
    assert_eq!(phase(&driver), Some(ResumePhase::SafeRetreat));
}

#[test]
fn persistent_congestion_ends_it_with_the_minimum_window() {
    let mut driver = retreated("cubic", 200);
    driver.collapse();
    assert_eq!(driver.packets(), 2);
    driver.fill();
    driver.finish_round(RTT);
    assert_eq!(phase(&driver), None);
}

#[test]
fn another_controller_begins_with_what_is_proven() {
    let packets = |driver: &mut FlowDriver| {
        let now = driver.now;
        let choice = crate::registry::Registry::standard()
            .choose("new_reno")
            .unwrap();
        driver
            .flow
            .change_controller(now, |setup| choice.build(setup));
        driver.packets()
    };
    assert_eq!(packets(&mut jumped("cubic", 1_000)), 10);
    assert_eq!(packets(&mut retreated("cubic", 200)), 100);
}

#[test]
fn phases_are_reported_once_and_in_order() {
    struct Phases(Vec<(ResumePhase, ResumeTrigger)>);
    impl Observer for Phases {
        fn on_event(&mut self, event: &Event) {
            if let Event::ResumePhaseChanged(change) = event {
                self.0.push((change.to, change.trigger));
            }
        }
    }
    let mut driver = validating("cubic", 1_000);
    driver.now += RTT;
    let mut phases = Phases(Vec::new());
    let acked: Vec<_> = driver.flying.drain(..).collect();
    let feedback = crate::events::Feedback {
        acked: &acked,
        ..crate::events::Feedback::at(driver.now)
    };
    driver.flow.on_feedback(&feedback, &mut phases);
    let expected = [
        (
            ResumePhase::Validating,
            ResumeTrigger::LastUnvalidatedPacketSent,
        ),
        (
            ResumePhase::Normal,
            ResumeTrigger::LastUnvalidatedPacketAcknowledged,
        ),
    ];
    assert_eq!(phases.0, expected);
}

#[test]
fn nothing_is_saved_while_a_flow_resumes() {
    let mut driver = jumped("cubic", 1_000);
    assert_eq!(driver.flow.saved_path(), None);
    driver.now += RTT / 2;
    driver.round(RTT);
    assert_eq!(driver.flow.saved_path(), None);
    for _ in 0..3 {
        driver.round(RTT);
    }
    let saved = driver.flow.saved_path().expect("two full round trips");
    assert!(saved.capacity >= MSS * 400, "{saved:?}");
    assert_eq!(saved.min_rtt, RTT);
}

/// All that can resume.
const RESUMING: [&str; 9] = [
    "cubic", "new_reno", "bbr1", "bbr2", "bbr3", "bbrplus", "paceline", "copa", "prague",
];

/// Those that tolerate a share of a jump to be lost.
const TOLERANT: [&str; 5] = ["bbr1", "bbr2", "bbr3", "bbrplus", "paceline"];
