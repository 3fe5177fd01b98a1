use super::v1::cycle_ack as ack;
use super::*;
use crate::tests::controller_driver::at;

/// In `phase` of a cycle of five minimum round-trip times that began at zero.
fn cycle(phase: Phase) -> DrainToTarget {
    DrainToTarget {
        phase,
        since: at(0),
        length: 5,
    }
}

#[test]
fn the_first_cycle_begins_with_the_first_ack() {
    let rng = &mut Rng::new(1);
    let mut cycle = DrainToTarget::new(at(0));
    cycle.start(at(10), rng);
    cycle.on_ack(&ack(11, 0), rng);
    assert_eq!((cycle.phase(), cycle.since), (Phase::Up, at(11)));
}

#[test]
fn cycles_last_two_to_eight_least_round_trip_times() {
    let mut rng = Rng::new(1);
    let mut lengths = [0; 9];
    for _ in 0..7_000 {
        let mut cycle = cycle(Phase::Cruise);
        cycle.on_ack(&ack(501, 0), &mut rng);
        lengths[usize::try_from(cycle.length).unwrap()] += 1;
    }
    assert_eq!(lengths[..2], [0, 0]);
    // Five standard deviations of a binomial with n = 7,000, p = 1/7.
    let is_even = |count: &i32| count.abs_diff(1_000) < 147;
    assert!(lengths[2..].iter().all(is_even), "{lengths:?}");
}

#[test]
fn probing_ends_after_a_round_trip_when_the_pipe_is_filled_or_will_not_be() {
    let filled = ack(101, 100_000);
    let lossy = CycleAck {
        has_loss: true,
        ..ack(101, 0)
    };
    let idle = CycleAck {
        is_app_limited: true,
        ..ack(101, 0)
    };
    for enough in [filled, lossy, idle] {
        let rng = &mut Rng::new(1);
        let mut cycle = cycle(Phase::Up);
        cycle.on_ack(
            &CycleAck {
                now: at(100),
                ..enough
            },
            rng,
        );
        assert_eq!(cycle.phase(), Phase::Up);
        // Without the burst that is about to leave.
        cycle.on_ack(&ack(101, 99_999), rng);
        assert_eq!(cycle.phase(), Phase::Up);
        cycle.on_ack(&enough, rng);
        assert_eq!(cycle.phase(), Phase::Down);
    }
}

#[test]
fn draining_takes_as_long_as_it_takes_but_not_longer_than_the_cycle() {
    let rng = &mut Rng::new(1);
    let mut cycle = cycle(Phase::Down);
    cycle.on_ack(&ack(499, 100_001), rng);
    assert_eq!(cycle.phase(), Phase::Down);
    cycle.on_ack(&ack(500, 100_000), rng);
    assert_eq!(cycle.phase(), Phase::Cruise);
    cycle.phase = Phase::Down;
    cycle.on_ack(&ack(501, 100_001), rng);
    assert_eq!(cycle.phase(), Phase::Up);
}

#[test]
fn cycling_begins_anew_in_one_of_seven_cases_with_a_probe() {
    let mut rng = Rng::new(1);
    let probes = (0..7_000).filter(|_| {
        let mut cycle = DrainToTarget::new(at(0));
        cycle.start(at(0), &mut rng);
        cycle.phase() == Phase::Up
    });
    assert!(probes.count().abs_diff(1_000) < 147);
}
