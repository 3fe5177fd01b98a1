use super::*;

fn tally(packets: u64, lost: u64) -> Tally {
    Tally { packets, lost }
}

/// What is known after measurements of so many packets and losses.
fn measured(stretches: &[(u64, u64)]) -> AmbientLoss {
    let mut ambient = AmbientLoss::default();
    for (packets, lost) in stretches {
        ambient.update(tally(*packets, *lost));
    }
    ambient
}

#[test]
fn two_losses_are_chance_and_three_a_rate() {
    assert_eq!(tally(300, 2).rate(), Gain::ZERO);
    assert_eq!(tally(300, 3).rate(), Gain::percent(1));
}

#[test]
fn a_rate_above_a_fifth_is_not_believed() {
    assert_eq!(tally(1_000, 500).rate(), Gain::percent(20));
}

#[test]
fn without_a_rate_no_loss_is_expected_and_none_excused() {
    let clean = tally(10_000, 0);
    assert_eq!((clean.expected(340), clean.margin(340)), (0, 0));
}

#[test]
fn the_margin_is_three_deviations_and_the_skew() {
    // 0.1 × 0.9 × 10,000 is a variance of 900.
    assert_eq!(margin(Gain::percent(10), CERTAIN, 10_000), 90_000 + SKEW);
    // An estimate from as many packets is as uncertain again: the root of 1,800.
    assert_eq!(margin(Gain::percent(10), 10_000, 10_000), 3 * 42_426 + SKEW);
}

#[test]
fn little_is_kept_until_it_is_enough() {
    assert_eq!(measured(&[(100, 1), (100, 1)]).estimate.rate(), Gain::ZERO);
    assert_eq!(
        measured(&[(100, 1), (100, 1), (100, 1)]).estimate.rate(),
        Gain::percent(1)
    );
    // Eight losses are enough, however few packets they were among.
    assert_eq!(measured(&[(80, 8)]).estimate.rate(), Gain::percent(10));
}

#[test]
fn loss_that_ends_is_forgotten_at_once_and_loss_that_begins_is_believed_by_halves() {
    let ended = measured(&[(2_000, 200), (2_000, 0)]);
    assert_eq!(ended.estimate.rate(), Gain::ZERO);
    let begun = measured(&[(3_000, 30), (1_500, 150)]);
    assert_eq!(begun.estimate.rate(), Gain::new(165, 3_000));
}

#[test]
fn an_estimate_that_cannot_be_measured_again_is_forgotten() {
    let path = crate::tests::controller_driver::path();
    let mut ambient = measured(&[(1_000, 50)]);
    for _ in 0..MEMORY_CYCLES {
        ambient.on_down(&path, 1, 100);
        assert_eq!(ambient.estimate.rate(), Gain::percent(5));
    }
    ambient.on_down(&path, 1, 100);
    assert_eq!(ambient.estimate.rate(), Gain::ZERO);
}

#[test]
fn the_correction_is_the_inverse_of_what_arrives() {
    assert_eq!(inverse(Gain::percent(80)), Gain::new(5, 4));
    assert_eq!(inverse(Gain::ONE), Gain::ONE);
}

/// A measurement that began at 0 in round 10, with two rounds to go.
fn measuring() -> (AmbientLoss, PathState) {
    let mut path = crate::tests::controller_driver::path();
    path.lost = path.mss;
    let mut ambient = AmbientLoss::default();
    ambient.on_down(&path, 10, 300);
    (ambient, path)
}

/// An ACK for 100 packets that left at `sent_at` (in milliseconds) before which `lost` were lost.
fn measure_hundred(
    (ambient, path): &mut (AmbientLoss, PathState),
    round: u64,
    sent_at: u64,
    lost: u64,
) -> bool {
    let sample = RateSample {
        newest_sent_at: Timestamp::from_millis(sent_at),
        ..crate::tests::controller_driver::sample()
    };
    for _ in 0..lost {
        ambient.on_lost(sample.newest_sent_at);
    }
    path.now = Timestamp::from_millis(sent_at + 40);
    path.delivered += path.mss * (100 - lost);
    ambient.measure(path, &sample, round, true)
}

#[test]
fn what_is_lost_at_the_slow_pace_is_the_paths() {
    let mut bench = measuring();
    assert!(!measure_hundred(&mut bench, 11, 10, 10));
    assert!(!measure_hundred(&mut bench, 12, 20, 10));
    assert!(measure_hundred(&mut bench, 13, 30, 10));
    // The first hundred began the stretch.
    assert_eq!(bench.0.estimate.rate(), Gain::percent(10));
}

#[test]
fn a_cut_begins_the_measurement_again_until_the_pace_is_below_what_is_delivered() {
    let mut bench = measuring();
    assert!(!measure_hundred(&mut bench, 11, 10, 50));
    bench.0.on_cut(Timestamp::from_millis(50), 11, false);
    assert!(!measure_hundred(&mut bench, 13, 40, 50));
    bench.0.on_cut(Timestamp::from_millis(80), 13, true);
    // What left before the cut is not measured.
    assert!(!measure_hundred(&mut bench, 15, 79, 50));
    assert!(!measure_hundred(&mut bench, 15, 80, 0));
    bench.0.on_cut(Timestamp::from_millis(121), 15, false);
    assert!(!measure_hundred(&mut bench, 16, 90, 0));
    assert_eq!((bench.0.pending.packets, bench.0.pending.lost), (100, 0));
    assert!(bench.0.measurement.is_none());
}

#[test]
fn a_queue_makes_a_stretch_begin_again() {
    let mut bench = measuring();
    measure_hundred(&mut bench, 11, 10, 10);
    bench
        .0
        .on_rtt(Duration::from_millis(46), Duration::from_millis(40));
    measure_hundred(&mut bench, 12, 20, 50);
    bench
        .0
        .on_rtt(Duration::from_millis(45), Duration::from_millis(40));
    assert!(measure_hundred(&mut bench, 13, 30, 10));
    assert_eq!(bench.0.estimate.rate(), Gain::percent(10));
}

#[test]
fn where_nothing_was_lost_nothing_is_measured() {
    let path = crate::tests::controller_driver::path();
    let mut ambient = AmbientLoss::default();
    ambient.on_down(&path, 1, 100);
    assert!(ambient.measurement.is_none());
}
