use super::super::cycle::tests::cycle_ack as ack;
use super::*;
use crate::tests::controller_driver::at;

/// At phase `index` since the beginning.
fn cycle(index: u64) -> EightPhases {
    EightPhases {
        index,
        since: at(0),
    }
}

#[test]
fn a_cycle_begins_at_any_phase_but_the_one_that_drains() {
    let mut rng = Rng::new(1);
    let mut begun = [0; 8];
    for _ in 0..7_000 {
        let mut cycle = EightPhases::new(at(0));
        cycle.start(at(5), &mut rng);
        begun[usize::try_from(cycle.index).unwrap()] += 1;
    }
    assert_eq!(begun[1], 0);
    // Five standard deviations of a binomial with n = 7,000, p = 1/7.
    let is_even = |count: &i32| count.abs_diff(1_000) < 147;
    assert!(
        begun[2..].iter().chain(&begun[..1]).all(is_even),
        "{begun:?}"
    );
}

#[test]
fn probing_lasts_a_round_trip_and_until_the_pipe_holds_what_was_meant() {
    let rng = &mut Rng::new(1);
    let mut cycle = cycle(0);
    cycle.on_ack(&ack(100, 200_000), rng);
    assert_eq!(cycle.phase(), Phase::Up);
    cycle.on_ack(&ack(101, 96_999), rng);
    assert_eq!(cycle.phase(), Phase::Up);
    // With the burst about to leave.
    cycle.on_ack(&ack(102, 97_000), rng);
    assert_eq!((cycle.phase(), cycle.since), (Phase::Down, at(102)));
}

#[test]
fn probing_does_not_insist_where_packets_are_lost() {
    let mut cycle = cycle(0);
    let lossy = CycleAck {
        has_loss: true,
        ..ack(101, 10_000)
    };
    cycle.on_ack(&lossy, &mut Rng::new(1));
    assert_eq!(cycle.phase(), Phase::Down);
}

#[test]
fn draining_ends_when_the_queue_is_gone_or_the_round_trip_over() {
    let rng = &mut Rng::new(1);
    let mut drained = cycle(1);
    drained.on_ack(&ack(10, 100_001), rng);
    assert_eq!(drained.phase(), Phase::Down);
    drained.on_ack(&ack(20, 100_000), rng);
    assert_eq!(drained.phase(), Phase::Cruise);
    let mut late = cycle(1);
    late.on_ack(&ack(101, 200_000), rng);
    assert_eq!(late.phase(), Phase::Cruise);
}

#[test]
fn six_phases_cruise_and_then_it_probes_again() {
    let rng = &mut Rng::new(1);
    let mut cycle = cycle(2);
    for phase in 1..6 {
        cycle.on_ack(&ack(phase * 101, 0), rng);
        assert_eq!(cycle.phase(), Phase::Cruise);
    }
    cycle.on_ack(&ack(6 * 101 - 1, 0), rng);
    assert_eq!(cycle.phase(), Phase::Cruise);
    cycle.on_ack(&ack(6 * 101, 0), rng);
    assert_eq!(cycle.phase(), Phase::Up);
}
