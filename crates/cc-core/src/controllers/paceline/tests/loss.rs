//! What is lost: the path's own part, and what is beyond it.

use super::{at, is_near};
use crate::controllers::paceline::ambient::{AmbientLoss, CAP};
use crate::controllers::paceline::counts::{Counts, LossRuns};
use crate::controllers::paceline::loss_test::LossTest;
use units::Rng;

/// One Down from `now` on, in which `lost` of `sent` packets are lost.
fn listen(ambient: &mut AmbientLoss, now: u64, sent: u32, lost: u32) -> bool {
    let is_at_half = ambient.open(at(now), true);
    ambient.on_acked(at(now + 1), f64::from(sent - lost));
    ambient.on_lost(at(now + 2), f64::from(lost));
    ambient.close(at(now + 3));
    // Neither is of this Down.
    ambient.on_lost(at(now - 1), 1_000.0);
    ambient.on_lost(at(now + 3), 1_000.0);
    ambient.conclude(false, 1.0);
    is_at_half
}

#[test]
fn what_is_lost_in_downs_is_the_paths_own_loss() {
    let mut ambient = AmbientLoss::new();
    assert!(is_near(ambient.loss(), 0.0));
    listen(&mut ambient, 10, 30, 3);
    // Thirty packets are too few, sixty are enough.
    assert!(is_near(ambient.loss(), 0.0));
    listen(&mut ambient, 20, 30, 3);
    assert!(is_near(ambient.loss(), 0.1));
}

#[test]
fn more_than_a_fifth_is_never_excused() {
    let mut ambient = AmbientLoss::new();
    listen(&mut ambient, 10, 100, 60);
    assert!(is_near(ambient.loss(), CAP));
}

#[test]
fn where_listenings_differ_the_lower_quartile_counts() {
    let mut ambient = AmbientLoss::new();
    for (place, lost) in [2, 2, 2, 40, 2, 30, 2, 2].into_iter().enumerate() {
        listen(&mut ambient, 10 * (place as u64 + 1), 200, lost);
    }
    assert!(is_near(ambient.loss(), 0.01), "{}", ambient.loss());
}

#[test]
fn loss_that_half_of_the_rate_does_not_have_is_refuted() {
    let mut ambient = AmbientLoss::new();
    let mut halves = 0;
    for now in 1..=8 {
        // At half of the rate nothing is lost.
        let is_at_half = ambient.open(at(10 * now), true);
        halves += u32::from(is_at_half);
        ambient.on_acked(at(10 * now), 90.0);
        ambient.on_lost(at(10 * now), if is_at_half { 0.0 } else { 10.0 });
        ambient.close(at(10 * now + 1));
        ambient.conclude(false, 1.0);
    }
    assert_eq!(halves, 1);
    assert!(is_near(ambient.loss(), 0.0));
}

/// What left before the loss began says nothing of it.
#[test]
fn silence_before_the_loss_refutes_nothing() {
    let mut ambient = AmbientLoss::new();
    let mut hear = |now: u64, lost: f64, is_suspect: bool| {
        ambient.open(at(now), true);
        if is_suspect {
            ambient.suspect();
        }
        ambient.on_acked(at(now), 100.0 - lost);
        ambient.on_lost(at(now), lost);
        ambient.close(at(now + 1));
        ambient.conclude(false, 1.0);
    };
    (1..=8).for_each(|now| hear(10 * now, 0.0, true));
    (9..=11).for_each(|now| hear(10 * now, 10.0, false));
    assert!(is_near(ambient.loss(), 0.1));
}

#[test]
fn losses_beside_a_queue_teach_nothing() {
    let mut ambient = AmbientLoss::new();
    ambient.open(at(10), true);
    ambient.on_lost(at(11), 50.0);
    ambient.discard();
    ambient.on_lost(at(12), 50.0);
    ambient.close(at(13));
    ambient.conclude(false, 1.0);
    assert!(is_near(ambient.loss(), 0.0));
    // And those at high ranks.
    ambient.open(at(20), true);
    ambient.on_lost(at(21), 50.0);
    ambient.close(at(22));
    ambient.conclude(true, 1.0);
    assert!(is_near(ambient.loss(), 0.0));
}

#[test]
fn loss_that_half_of_the_rate_has_too_is_verified() {
    for (lost_at_half, is_verified) in [(10.0, true), (8.0, true), (6.0, false), (0.0, false)] {
        let mut ambient = AmbientLoss::new();
        for now in 1..=8 {
            let is_at_half = ambient.open(at(10 * now), true);
            ambient.on_acked(at(10 * now), 90.0);
            ambient.on_lost(at(10 * now), if is_at_half { lost_at_half } else { 10.0 });
            ambient.close(at(10 * now + 1));
            ambient.conclude(false, 1.0);
            // No listening at half of the rate, no proof.
            assert!(now >= 4 || !ambient.is_verified());
        }
        assert_eq!(ambient.is_verified(), is_verified, "{lost_at_half}");
    }
}

#[test]
fn loss_is_judged_by_its_deviation_and_in_runs() {
    let counts = |lost: f64| Counts {
        acked: 100.0 - lost,
        lost,
    };
    assert!(!counts(13.0).exceeds(0.05, 1.0, 3.0, 0.01));
    assert!(counts(14.0).exceeds(0.05, 1.0, 3.0, 0.01));
    // In runs of four the same says less.
    assert!(!counts(14.0).exceeds(0.05, 4.0, 3.0, 0.01));
    // Two losses are never more than a path's.
    assert!(!counts(2.0).exceeds(0.0, 1.0, 3.0, 0.01));
    assert!(counts(3.0).exceeds(0.0, 1.0, 3.0, 0.01));
}

fn counts(acked: f64, lost: f64) -> Counts {
    Counts { acked, lost }
}

#[test]
fn a_little_too_much_loss_is_found_in_time_and_random_loss_is_none() {
    let mut test = LossTest::default();
    // One in fifty, where nothing is expected: 0.3 % of that are allowed.
    let rounds = (1..).find(|_| test.has_excess(counts(49.0, 1.0), 0.0, 1.0));
    assert_eq!(rounds, Some(5));
    // In runs of four it takes four times as many.
    let rounds = (1..).find(|_| test.has_excess(counts(49.0, 1.0), 0.0, 4.0));
    assert_eq!(rounds, Some(17));
    // As much as the path loses, and half as much again, goes on for ever.
    assert!((0..1_000).all(|_| !test.has_excess(counts(47.0, 3.0), 0.04, 1.0)));
    assert!((0..50).any(|_| test.has_excess(counts(45.0, 5.0), 0.04, 1.0)));
}

#[test]
fn cruise_that_loses_nothing_refutes_the_paths_loss() {
    let mut test = LossTest::default();
    assert!((0..1_000).all(|_| test.refute(counts(48.0, 2.0), 0.04, 1.0).is_none()));
    let refuted = (0..).find_map(|_| test.refute(counts(50.0, 0.0), 0.04, 1.0));
    let refuted = refuted.expect("nothing was lost");
    // Eight losses are missing after 400 packets, since half of the loss is allowed to be.
    assert!(is_near(refuted.lost, 0.0), "{refuted:?}");
    assert!(is_near(refuted.acked, 400.0), "{refuted:?}");
    assert!(test.recent_loss() < 0.01, "{}", test.recent_loss());
    test.refute(counts(50.0, 50.0), 0.0, 1.0);
    assert!(
        (0.25..0.26).contains(&test.recent_loss()),
        "{}",
        test.recent_loss()
    );
}

#[test]
fn the_length_of_runs_is_learned() {
    let mut runs = LossRuns::new();
    assert!(is_near(runs.mean(), 1.0));
    for _ in 0..200 {
        (0..4).for_each(|place| runs.on_lost(place == 0));
    }
    assert!((runs.mean() - 4.0).abs() < 0.01, "{}", runs.mean());
}

/// Losses of one packet in a hundred in runs of geometric length with mean `run`, by round trips of
/// a hundred packets.
fn lossy_rounds(run: u64) -> impl Iterator<Item = Counts> {
    let mut rng = Rng::new(7);
    let mut is_lost = false;
    core::iter::repeat_with(move || {
        let mut lost = 0.0;
        for _ in 0..100 {
            is_lost = if is_lost {
                rng.below(run) > 0
            } else {
                // A gap of 99 runs, in the mean.
                rng.below(99 * run) == 0
            };
            lost += f64::from(u8::from(is_lost));
        }
        counts(100.0 - lost, lost)
    })
}

#[test]
fn a_path_that_loses_in_runs_exceeds_its_own_loss_as_rarely_as_one_of_single_losses() {
    let alarms = |run: u64, runs: f64| {
        let mut test = LossTest::default();
        let rounds = lossy_rounds(run).take(20_000);
        rounds
            .filter(|&one| test.has_excess(one, 0.01, runs))
            .count()
    };
    let single = alarms(1, 1.0);
    for run in [2, 4, 10] {
        let by_chance = alarms(run, LossTest::runs_by_chance(run as f64));
        assert!(by_chance <= single, "{run}: {by_chance}, {single}");
        // With as many times the losses as a run has it is more often.
        let as_one = alarms(run, run as f64);
        assert!(as_one > single, "{run}: {as_one}, {single}");
    }
}

#[test]
fn listenings_that_differ_by_whole_runs_have_one_loss() {
    let mut ambient = AmbientLoss::new();
    let lost = [0, 0, 4, 0, 0, 8, 0, 4];
    let heard = |ambient: &mut AmbientLoss, run: f64| {
        for (place, lost) in lost.into_iter().enumerate() {
            let now = 10 * (place as u64 + 1);
            ambient.open(at(now), false);
            ambient.on_acked(at(now), 100.0 - f64::from(lost));
            ambient.on_lost(at(now), f64::from(lost));
            ambient.close(at(now + 1));
            ambient.conclude(false, run);
        }
        ambient.loss()
    };
    assert!(is_near(heard(&mut ambient, 1.0), 0.0));
    assert!(is_near(heard(&mut ambient, 4.0), 0.02));
}
