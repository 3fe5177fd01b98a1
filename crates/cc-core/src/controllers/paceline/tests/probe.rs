//! Ups: the share that they tell, their steps, and what bounds them.

use super::{at, is_near};
use crate::controllers::paceline::cycle::Cycle;
use crate::controllers::paceline::probe::{Conditions, Overflow, Probe};
use crate::controllers::paceline::reduction::Reductions;

/// Ups of a flow that has `share` of a full bottleneck of 1 MB/s.
fn probe_with(share: f64) -> Probe {
    let mut probe = Probe::new();
    for _ in 0..200 {
        let base = 1e6 * share;
        let step = 0.25;
        probe.begin(at(1), base, step);
        probe.learn_share(base * (1.0 + step) / (1.0 + step * share));
    }
    probe
}

fn conditions(packets: f64) -> Conditions {
    Conditions {
        packets,
        rtt: 0.04,
        rate_jitter: 0.0,
        reduced: 0.0,
    }
}

#[test]
fn ups_tell_the_share_of_the_bottleneck() {
    for share in [0.125, 0.5, 1.0] {
        let learned = probe_with(share).share();
        assert!((learned - share).abs() < 0.01, "{share}: {learned}");
    }
}

/// An Up that follows one that found more, and finds no more itself, has filled the bottleneck, if
/// that is the flow's own.
#[test]
fn the_last_up_of_a_rise_shows_the_bottleneck_to_a_flow_alone() {
    for (share, is_alone) in [(1.0, true), (0.5, false)] {
        let mut probe = probe_with(share);
        assert!(!probe.ends_rise(), "{share}");
        probe.widen(f64::INFINITY);
        probe.begin(at(2), 2e6, 0.5);
        assert_eq!(probe.ends_rise(), is_alone, "{share}");
        probe.begin(at(3), 2e6, 0.5);
        assert!(!probe.ends_rise(), "{share}");
    }
}

#[test]
fn flows_of_any_share_push_by_the_same_amount() {
    let [eighth, whole] =
        [0.125, 1.0].map(|share| share * probe_with(share).next_step(conditions(1e6)));
    assert!((eighth - whole).abs() < 0.002, "{eighth} and {whole}");
    assert!((whole - 0.06).abs() < 0.002, "{whole}");
}

#[test]
fn a_step_is_never_more_than_one_and_a_half_of_the_rate_itself() {
    assert!(is_near(probe_with(0.125).next_step(conditions(1.0)), 1.5));
    // Eight packets, of seven or of sixteen.
    let of_seven = probe_with(0.125).next_step(conditions(7.0));
    assert!(is_near(of_seven, 8.0 / 7.0), "{of_seven}");
    assert!(is_near(probe_with(0.125).next_step(conditions(16.0)), 0.5));
}

#[test]
fn after_a_reduction_an_up_reaches_for_what_it_took_up_to_a_quarter() {
    for (reduced, step) in [(0.0, 0.06), (0.1, 0.1), (0.25, 0.25), (3.0, 0.25)] {
        let conditions = Conditions {
            reduced,
            ..conditions(1e6)
        };
        let next = probe_with(1.0).next_step(conditions);
        assert!((next - step).abs() < 0.002, "{reduced}: {next}");
    }
}

#[test]
fn what_reductions_took_is_known_for_three_seconds_after_the_last() {
    let mut reductions = Reductions::default();
    assert!(is_near(reductions.taken(at(0), 1e6), 0.0));
    reductions.on_reduced(at(0), 1e6, 0.02, false);
    reductions.on_reduced(at(2_000), 9e5, 0.02, false);
    assert!(is_near(reductions.taken(at(4_999), 8e5), 0.25));
    assert!(is_near(reductions.taken(at(5_000), 8e5), 0.0));
}

#[test]
fn after_a_reduction_ups_are_not_widened_beyond_what_was_delivered() {
    let mut probe = Probe::new();
    probe.set_ceiling(at(0), 1e6, Overflow::Queue);
    assert!(is_near(probe.ceiling(at(2_999)), 1e6));
    assert!(probe.ceiling(at(3_000)).is_infinite());
    assert!(probe.most_proven(at(1)).is_infinite());
    let step = |probe: &mut Probe, room: f64| {
        probe.begin(at(1), 9e5, 0.1);
        probe.widen(room);
        probe.next_step(conditions(1e6))
    };
    assert!(is_near(step(&mut probe, f64::INFINITY), 0.3));
    assert!(is_near(step(&mut probe, 0.2), 0.2));
    probe.set_ceiling(at(0), 1e6, Overflow::Policer);
    probe.lift_ceiling();
    assert!(probe.ceiling(at(1)).is_infinite());
    assert!(probe.most_proven(at(1)).is_infinite());
}

#[test]
fn what_a_policers_bucket_lets_pass_proves_no_more_than_was_delivered_beside_loss() {
    let mut probe = Probe::new();
    probe.set_ceiling(at(0), 1e6, Overflow::Policer);
    assert!(is_near(probe.most_proven(at(9_999)), 1e6));
    assert!(probe.most_proven(at(10_000)).is_infinite());
    assert!(probe.ceiling(at(10_000)).is_infinite());
}

#[test]
fn a_path_that_loses_packets_by_itself_has_no_policers_ceiling() {
    let mut probe = Probe::new();
    probe.set_ceiling(at(0), 1e6, Overflow::Policer);
    probe.refute_policer();
    assert!(probe.ceiling(at(1)).is_infinite());
    probe.set_ceiling(at(0), 1e6, Overflow::Queue);
    probe.refute_policer();
    assert!(is_near(probe.ceiling(at(1)), 1e6));
}

#[test]
fn an_up_that_overflows_a_queue_makes_the_next_one_small() {
    let mut probe = probe_with(0.125);
    probe.begin(at(100), 1e6, 0.25);
    probe.on_acked(at(100), at(140), 90.0);
    probe.on_lost(at(139), at(140), 30.0);
    // Neither is of the Up.
    probe.on_lost(at(99), at(140), 500.0);
    probe.on_lost(at(140), at(140), 500.0);
    let outcome = probe.conclude(1e6, (0.0, 1.0), Overflow::Policer);
    assert!(outcome.has_overflowed && !outcome.has_grown);
    assert_eq!(probe.overflow, Some(Overflow::Policer));
    assert!(is_near(probe.next_step(conditions(4.0)), 0.25));
    // The same loss as the path's own is none.
    let outcome = probe.conclude(1e6, (0.25, 1.0), Overflow::Policer);
    assert!(!outcome.has_overflowed);
    assert_eq!(probe.overflow, None);
}

#[test]
fn an_up_that_overflows_is_followed_by_a_longer_cruise_and_one_before_a_policer_by_the_longest() {
    let rounds = |cause: Option<Overflow>, rtt: f64| {
        let mut probe = probe_with(1.0);
        probe.overflow = cause;
        let mut cycle = Cycle::new(7);
        cycle.begin_cruise(&probe, rtt, false);
        while !cycle.is_cruise_over() {
            cycle.rounds += 1;
        }
        cycle.rounds
    };
    assert!((4..8).contains(&rounds(None, 0.1)));
    assert!((11..19).contains(&rounds(Some(Overflow::Queue), 0.1)));
    assert!((22..38).contains(&rounds(Some(Overflow::Policer), 0.1)));
    // 63 at most, but for the bucket, which fills with time.
    assert!((47..79).contains(&rounds(Some(Overflow::Queue), 0.01)));
    assert!((225..375).contains(&rounds(Some(Overflow::Policer), 0.01)));
}
