//! The parts, each by itself. What the whole does on a path is in tests/tests/controllers.

mod host;
mod loss;
mod probe;

use super::bandwidth::{Estimate, from_f64};
use super::cycle::Phase;
use super::numbers::seconds;
use super::rank::RankTest;
use super::reduction::Reductions;
use super::reference::Reference;
use super::round::{Round, Rounds};
use super::signs::Signs;
use super::standing::Standing;
use super::startup::Startup;
use super::trim::Trim;
use crate::control::Control;
use crate::controller::PathState;
use crate::parts::transition::Machine as _;
use crate::sampler::RateSample;
use alloc::vec::Vec;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

// Queues that stand.

/// Round trips of 20 ms each, of mean RTTs in ms.
fn standing(rtts: impl IntoIterator<Item = f64>) -> Standing {
    let mut standing = Standing::new();
    for (round, rtt) in (0..).zip(rtts) {
        standing.on_round(at(20 * round), rtt / 1e3);
    }
    standing
}

#[test]
fn a_queue_stands_where_the_rtt_stays_a_sixth_above_its_least() {
    let after = |rtt: f64| {
        let rtts = core::iter::once(20.0).chain(core::iter::repeat_n(rtt, 60));
        standing(rtts)
    };
    assert!(!standing([]).is_there(0.0));
    assert!(!after(23.0).is_there(0.0));
    assert!(after(24.0).is_there(0.0));
    // One round trip is not enough.
    assert!(!standing([20.0, 20.0, 20.0, 30.0]).is_there(0.0));
}

#[test]
fn jitter_is_no_queue_that_stands() {
    let rtts = || core::iter::once(20.0).chain(core::iter::repeat_n(26.0, 60));
    assert!(standing(rtts()).is_there(0.001));
    assert!(!standing(rtts()).is_there(0.002));
}

#[test]
fn what_stands_for_a_minute_is_the_path() {
    let rtts = |rounds| core::iter::once(20.0).chain(core::iter::repeat_n(30.0, rounds));
    assert!(standing(rtts(2_500)).is_there(0.0));
    assert!(!standing(rtts(3_100)).is_there(0.0));
}

// Ranks.

fn rank_test() -> RankTest {
    let mut test = RankTest::new();
    for sample in 0..128 {
        test.on_rtt(at(sample), ms(100 + sample), ms(64));
    }
    test
}

#[test]
fn losses_beside_the_longest_rtts_raise_the_alarm() {
    let mut test = rank_test();
    let losses = (0..).take_while(|_| {
        test.on_lost_range(ms(227));
        !test.take_alarm()
    });
    // Six of 1.33 are the first above 7.
    assert_eq!(losses.count() + 1, 6);
    assert!(!test.take_alarm(), "it starts anew");
}

#[test]
fn losses_at_any_rtt_do_not() {
    let mut test = rank_test();
    for loss in 0..10_000 {
        // A permutation of all RTTs, again and again.
        test.on_lost_range(ms(100 + loss * 37 % 128));
        assert!(!test.take_alarm(), "{loss}");
    }
    assert!(!test.is_high());
}

#[test]
fn equal_rtts_say_nothing() {
    let mut test = RankTest::new();
    for sample in 0..128 {
        test.on_rtt(at(sample), ms(50), ms(64));
    }
    (0..1_000).for_each(|_| test.on_lost_range(ms(50)));
    assert!(!test.take_alarm() && !test.is_high());
}

fn round(acked: f64, lost: f64) -> Round {
    Round {
        rtt: 0.04,
        time: 0.04,
        acked,
        lost,
        lost_runs: (lost / 1_000.0) as u32,
        ..Round::default()
    }
}

/// Whether a reduction on 10 % of loss is taken back when `loss` stays.
fn is_taken_back(loss: f64) -> bool {
    let mut reductions = Reductions::default();
    reductions.on_reduced(at(0), 1e6, 0.1, true);
    assert!(!reductions.is_effective());
    (0..8).any(|_| {
        let after = round(100e3 * (1.0 - loss), 100e3 * loss);
        reductions.try_round(&after, 1_000.0).is_some()
    })
}

#[test]
fn a_reduction_that_does_not_help_is_taken_back() {
    assert!(is_taken_back(0.1));
    assert!(!is_taken_back(0.05));
}

#[test]
fn a_fifth_is_little_as_long_as_reductions_follow_each_other() {
    let mut reductions = Reductions::default();
    assert!(!reductions.have_left_little(at(0), 0.0));
    reductions.on_reduced(at(0), 1e6, 0.1, false);
    reductions.on_reduced(at(2_000), 5e5, 0.1, false);
    assert!(reductions.have_left_little(at(2_000), 2e5));
    assert!(!reductions.have_left_little(at(2_000), 2.1e5));
    assert!(reductions.have_left_little(at(4_999), 2e5));
    assert!(!reductions.have_left_little(at(5_000), 2e5));
    // The next one is another first one.
    reductions.on_reduced(at(5_000), 5e5, 0.1, false);
    assert!(!reductions.have_left_little(at(5_000), 2e5));
}

#[test]
fn reductions_are_three_round_trips_apart() {
    let mut reductions = Reductions::default();
    reductions.on_reduced(at(0), 1e6, 0.1, false);
    let rounds = (1..).find(|_| {
        reductions.on_round();
        reductions.is_effective()
    });
    assert_eq!(rounds, Some(3));
}

// Queues.

#[test]
fn what_stays_after_as_much_was_drained_is_not_the_flows_own() {
    let (queue, tolerance, reference) = (0.04, 0.002, 0.04);
    let mut trim = Trim::default();
    let rounds = (0..).find(|_| {
        let is_in_vain = trim.is_in_vain(queue);
        let factor = Trim::factor(queue, tolerance, reference);
        assert!(is_near(factor, 0.5), "{factor}");
        trim.on_round(factor, reference);
        is_in_vain
    });
    assert_eq!(rounds, Some(2));
    trim.stop();
    assert!(!trim.is_in_vain(queue));
}

/// An Up's queue drains; jitter that the reference does not know stays.
#[test]
fn what_stays_of_a_queue_that_drained_is_tried_again() {
    let mut trim = Trim::default();
    let queues = [0.02, 0.009].into_iter().chain(core::iter::repeat(0.009));
    let rounds = queues.take(50).position(|queue| {
        let is_in_vain = trim.is_in_vain(queue);
        trim.on_round(Trim::factor(queue, 0.006, 0.1), 0.1);
        is_in_vain
    });
    assert_eq!(rounds, Some(4));
}

#[test]
fn a_queue_of_one_round_trip_puts_off_no_up() {
    let signs = |queue, lasting_queue, is_lossy| Signs {
        queue,
        lasting_queue,
        tolerance: 0.002,
        is_lossy,
        persists: false,
    };
    let once = signs(0.005, 0.001, false);
    assert!(once.is_queued() && once.is_congested());
    assert!(!once.is_queue_lasting() && once.permit_up());
    assert!(!signs(0.005, 0.003, false).permit_up());
    assert!(!signs(0.0, 0.0, true).permit_up());
}

#[test]
fn the_reference_is_the_least_mean_and_jitter_widens_its_tolerance() {
    let mut reference = Reference::new(0.001);
    [0.05, 0.04, 0.06]
        .into_iter()
        .enumerate()
        .for_each(|(place, rtt)| {
            reference.on_round(at(place as u64), rtt);
        });
    assert!(is_near(reference.get(), 0.04));
    assert!(is_near(reference.tolerance(0.0, 0.0), 0.0025));
    (0..100).for_each(|_| reference.on_change(0.01, 0.0));
    assert!((reference.tolerance(0.0, 0.0) - 0.02).abs() < 1e-4);
    reference.restart(at(9), 0.2);
    assert!(is_near(reference.get(), 0.2));
}

// Rounds.

fn ack(rounds: &mut Rounds, now: u64, rtt: u64, prior_delivered: u64, delivered: u64) -> bool {
    let path = PathState {
        delivered: Bytes::new(delivered),
        ..PathState::new(at(now), Bytes::new(1_000))
    };
    let sample = RateSample {
        delivery_rate: None,
        delivered: Bytes::ZERO,
        interval: Duration::ZERO,
        is_app_limited: false,
        newly_acked: Bytes::new(1_000),
        newly_lost: Bytes::ZERO,
        lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        prior_delivered: Bytes::new(prior_delivered),
        newest_sent_at: at(0),
        rtt: Some(ms(rtt)),
        ce_marked: 0,
    };
    rounds.on_ack(&path, &sample, ms(20), false)
}

#[test]
fn a_round_trip_has_the_mean_of_its_rtts_and_its_rate() {
    let mut rounds = Rounds::new(at(0));
    ack(&mut rounds, 10, 20, 0, 1_000);
    ack(&mut rounds, 20, 40, 0, 2_000);
    let round = rounds.end(at(20), 0.02, 0.0).unwrap();
    assert!(is_near(round.rtt, 0.03) && is_near(round.rate(), 100e3));
    assert!(is_near(rounds.mean_rate(1), 100e3));
}

#[test]
fn a_round_trip_in_which_the_rtt_has_doubled_ends_early() {
    let mut rounds = Rounds::new(at(0));
    assert!(ack(&mut rounds, 20, 20, 0, 1_000));
    assert!(!rounds.end(at(20), 0.02, 0.0).unwrap().is_early);
    // Not yet for as long as the reference, then for that long.
    assert!(!ack(&mut rounds, 30, 45, 500, 2_000));
    assert!(!ack(&mut rounds, 49, 60, 500, 3_000));
    assert!(ack(&mut rounds, 50, 60, 500, 4_000));
    assert!(rounds.end(at(50), 0.02, 0.0).unwrap().is_early);
}

#[test]
fn a_round_trip_with_a_silence_in_it_is_not_kept() {
    let mut rounds = Rounds::new(at(0));
    ack(&mut rounds, 20, 20, 0, 1_000);
    rounds.end(at(20), 0.02, 0.0);
    ack(&mut rounds, 1_020, 20, 1_000, 2_000);
    assert!(rounds.end(at(1_020), 0.02, 0.0).unwrap().is_limited);
    assert!(is_near(rounds.last().time, seconds(ms(20))));
    // A slow path is not silent: here one packet takes 300 ms.
    ack(&mut rounds, 2_020, 20, 2_000, 3_000);
    assert!(!rounds.end(at(2_020), 0.02, 0.3).unwrap().is_limited);
}

#[test]
fn a_round_trip_as_long_as_its_rtts_is_silent_if_no_ack_came_for_a_while() {
    let mut rounds = Rounds::new(at(0));
    ack(&mut rounds, 20, 20, 0, 1_000);
    rounds.end(at(20), 0.02, 0.0);
    // What was in flight when a link stopped comes with the RTTs of its wait.
    ack(&mut rounds, 520, 520, 500, 2_000);
    ack(&mut rounds, 530, 500, 1_000, 3_000);
    let round = rounds.end(at(530), 0.02, 0.0).unwrap();
    assert!(round.is_limited && round.time < 2.0 * round.rtt);
}

/// Rounds of a host that sends at 1 MB/s, with a bucket of one millisecond, from 0 ms on, and of
/// 5 kB more at `sent_at`, ms.
fn late_rounds(sent_at: u64) -> Rounds {
    let mut rounds = Rounds::new(at(0));
    let control = Control {
        cwnd: Bytes::new(1 << 20),
        pacing_rate: Bandwidth::from_bytes_per_sec(1_000_000),
        send_quantum: Bytes::new(1_000),
    };
    let path = PathState::new(at(0), Bytes::new(1_000));
    rounds.lateness().on_control(&path, &control);
    let path = PathState::new(at(sent_at), Bytes::new(1_000));
    let lateness = rounds.lateness();
    lateness.on_sent(&path, Bytes::new(5_000), control.cwnd);
    rounds
}

#[test]
fn what_a_host_missed_counts_in_the_round_trip_and_in_the_next() {
    let late_after = |sent_at| {
        let mut rounds = late_rounds(sent_at);
        let mut late = Vec::new();
        for now in [20, 40, 60] {
            ack(&mut rounds, now, 20, 1_000 * (now - 20), 1_000 * now);
            late.push(rounds.end(at(now), 0.02, 0.0).unwrap().late);
        }
        late
    };
    let is = |late: Vec<f64>, expected: [f64; 3]| {
        late.iter()
            .zip(expected)
            .all(|(one, two)| is_near(*one, two))
    };
    assert!(is(late_after(1), [0.0; 3]));
    assert!(is(late_after(11), [0.01, 0.01, 0.0]));
    // Three quarters at most.
    assert!(is(late_after(101), [0.015, 0.015, 0.0]));
}

// The estimate.

#[test]
fn the_estimate_stays_beside_what_is_proven_and_below_what_was_sampled() {
    let mut estimate = Estimate::new();
    estimate.on_sample(Bandwidth::from_bytes_per_sec(3_000));
    estimate.prove(from_f64(1_000.0), from_f64(1_000.0));
    assert!(is_near(estimate.get(), 1_000.0), "Startup");
    estimate.set(9_000.0);
    assert!(is_near(estimate.get(), 3_000.0));
    estimate.bound();
    assert!(is_near(estimate.get(), 1_250.0));
    // What a host on time would have had bounds from above alone.
    estimate.lower(100.0, 400.0, 900.0);
    assert!(is_near(estimate.get(), 100.0));
    estimate.bound();
    assert!(is_near(estimate.get(), 400.0));
    estimate.set(2_000.0);
    estimate.bound();
    assert!(is_near(estimate.get(), 1_125.0));
    // A host that was late half of the time would have had twice as much delivered.
    estimate.prove(from_f64(500.0), from_f64(1_000.0));
    estimate.set(2_000.0);
    estimate.bound();
    assert!(is_near(estimate.get(), 1_250.0));
    estimate.lower(400.0, 400.0, 400.0);
    // What is proven is forgotten after two cycles; the estimate is not.
    estimate.begin_cycle();
    estimate.begin_cycle();
    assert!(is_near(estimate.proven(), 0.0));
    estimate.bound();
    assert!(is_near(estimate.get(), 400.0));
}

// Phases.

#[test]
fn startup_ends_flat_queued_or_lossy() {
    let flat = |is_queued| {
        let mut startup = Startup::default();
        (1..).find(|_| startup.is_over(&round(1e3, 0.0), 1e6, is_queued, 1_000.0))
    };
    assert_eq!((flat(false), flat(true)), (Some(4), Some(2)));
    let mut startup = Startup::default();
    assert!(!startup.is_over(&round(800e3, 200e3), 1e6, false, 1_000.0));
    assert!(startup.is_over(&round(770e3, 230e3), 2e6, false, 1_000.0));
    // As it happens to a path that loses 15 % at random.
    assert!(!startup.is_over(&round(25e3, 11e3), 4e6, false, 1_000.0));
}

#[test]
fn startup_goes_on_through_a_burst_of_losses_but_not_through_many() {
    let lost = |runs| Round {
        lost_runs: runs,
        ..round(60e3, 40e3)
    };
    let is_over =
        |startup: &mut Startup, runs, rate| startup.is_over(&lost(runs), rate, false, 1_000.0);
    // One and two bursts while the rate grows; in the second of three rounds it does not.
    let mut startup = Startup::default();
    assert!(!is_over(&mut startup, 1, 1e6) && !is_over(&mut startup, 2, 2e6));
    assert!(is_over(&mut startup, 2, 2e6));
    // As many as a queue that overflows has, in a round trip of growth.
    let mut startup = Startup::default();
    assert!(is_over(&mut startup, 6, 1e6));
    let mut startup = Startup::default();
    assert!(is_over(&mut startup, 40, 1e6));
    // A window of thousands that overflows a queue loses few runs, but longer ones than any path.
    let overflow = Round {
        lost_runs: 4,
        ..round(6e6, 4e6)
    };
    assert!(Startup::default().is_over(&overflow, 1e6, false, 1_000.0));
}

#[test]
fn no_phase_follows_another_but_along_the_arrows() {
    use Phase::{Cruise, Down, Drain, Startup, Up};
    let all = [Startup, Drain, Cruise, Up, Down];
    let arrows = all.map(|from| all.iter().filter(|to| from.may_become(to)).count());
    assert_eq!(arrows, [1, 1, 1, 2, 2]);
    assert!(!Cruise.may_become(&Startup) && !Drain.may_become(&Up));
}
