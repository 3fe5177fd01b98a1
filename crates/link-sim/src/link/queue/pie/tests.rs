use super::*;
use crate::{Ecn, Link, LinkSpec};
use proptest::prelude::*;
use units::{Gain, Rng};

const MS: Duration = Duration::from_millis(1);

fn share(probability: u64) -> f64 {
    probability as f64 / ONE as f64
}

fn control() -> Control {
    Control::new(&spec::aqm::Pie::DEFAULT)
}

/// The probability after an update at this delay.
fn updated(control: &mut Control, delay: Duration) -> f64 {
    control.delay = delay;
    control.update(1, delay.is_zero());
    share(control.probability)
}

#[test]
fn the_probability_takes_the_steps_that_the_rfc_computes() {
    let mut control = control();
    let mut take = |delay, expected: f64| {
        let measured = updated(&mut control, delay);
        assert!(
            (measured - expected).abs() < 1e-18,
            "{measured}, expected {expected}"
        );
    };
    // 0.125/s × 15 ms + 1.25/s × 30 ms = 0.039375, and a 2048th of it below 10^−6.
    let first = 0.039_375 / 2_048.0;
    take(30 * MS, first);
    // 0.125 × 15 ms = 0.001875, and a 128th of it between 10^−5 and 10^−4.
    let second = first + 0.001_875 / 128.0;
    take(30 * MS, second);
    // 1 ms less than before: 0.125 × 14 ms − 1.25 × 1 ms = 0.0005.
    take(29 * MS, second + 0.000_5 / 128.0);
    // 9 ms less: 0.125 × 5 ms − 1.25 × 9 ms is more than there is.
    take(20 * MS, 0.0);
}

#[test]
fn steps_are_capped_at_two_percent_and_a_very_long_delay_adds_as_much() {
    let mut control = control();
    control.probability = ONE / 10;
    // 0.125 × 0.085 + 1.25 × 0.1 = 0.135625 is more than 2 %.
    assert!((updated(&mut control, 100 * MS) - 0.12).abs() < 1e-12);
    // The same delay again: 0.125 × 0.085 = 0.010625.
    assert!((updated(&mut control, 100 * MS) - 0.130_625).abs() < 1e-12);
    assert!((updated(&mut control, 251 * MS) - 0.170_625).abs() < 1e-12);
    (0..100).for_each(|_| {
        updated(&mut control, 1_000 * MS);
    });
    assert_eq!(control.probability, ONE);
}

#[test]
fn an_idle_queue_forgets_its_probability() {
    let mut control = control();
    control.probability = ONE / 2;
    // 1.25 × 0 − 0.125 × 15 ms, and 63/64 of the rest.
    let expected = (0.5 - 0.001_875) * 63.0 / 64.0;
    assert!((updated(&mut control, Duration::ZERO) - expected).abs() < 1e-12);
    assert!(control.update(u64::MAX, true));
    assert_eq!(control.probability, 0);
}

#[test]
fn a_queue_that_is_not_empty_only_steps_down() {
    let mut control = control();
    control.probability = ONE / 2;
    control.update(1, false);
    assert!((share(control.probability) - (0.5 - 0.001_875)).abs() < 1e-12);
}

#[test]
fn any_delays_give_the_probability_of_the_formula() {
    let mut rng = Rng::new(3);
    let mut control = control();
    let (mut exact, mut old) = (0.0_f64, 0.0);
    let (mut highest, mut micros) = (0.0_f64, 1);
    for round in 0..40_000 {
        // A random walk, so that the probability goes through all of its range.
        micros = (micros + rng.below(4_001)).clamp(2_001, 62_000) - 2_000;
        let delay = Duration::from_micros(micros);
        let now = delay.as_secs_f64();
        let caution = match exact {
            p if p >= 0.1 => 1.0,
            p if p >= 0.01 => 2.0,
            p if p >= 1e-3 => 8.0,
            p if p >= 1e-4 => 32.0,
            p if p >= 1e-5 => 128.0,
            p if p >= 1e-6 => 512.0,
            _ => 2_048.0,
        };
        let mut step = (0.125 * (now - 0.015) + 1.25 * (now - old)) / caution;
        if exact >= 0.1 {
            step = step.min(0.02);
        }
        exact = (exact + step).clamp(0.0, 1.0);
        old = now;
        let measured = updated(&mut control, delay);
        assert!(
            (measured - exact).abs() < 1e-9,
            "{round}: {measured}, {exact}"
        );
        exact = measured;
        highest = highest.max(exact);
    }
    assert!(highest > 0.2, "{highest}");
}

proptest! {
    #[test]
    fn many_updates_at_once_are_as_many_single_ones(
        probability in prop_oneof![0..=ONE, 0..=ONE / 1_000, 0..=ONE / 1_000_000],
        delays in prop_oneof![
            [0..400_u64, 0..400_u64],
            (0..400_u64).prop_map(|delay| [delay, delay]),
            Just([0, 0]),
        ],
        target in 1..400_u32,
        alpha in 0..=32_u32,
        beta in 0..=32_u32,
        ticks in prop_oneof![1..10_u64, 1..100_u64, 1..3_000_u64],
        is_empty in any::<bool>(),
    ) {
        let [delay, old_delay] = delays.map(Duration::from_millis);
        let target = target * MS;
        let parameters = spec::aqm::Pie { target, alpha, beta, ..spec::aqm::Pie::DEFAULT };
        let mut one_by_one = Control { probability, delay, old_delay, ..Control::new(&parameters) };
        one_by_one.burst_allowance = MS;
        let mut at_once = one_by_one.clone();
        (0..ticks).for_each(|_| { one_by_one.update(1, is_empty); });
        at_once.update(ticks, is_empty);
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn no_update_takes_long_or_overflows(
        probability in 0..=ONE,
        times in prop_oneof![
            [1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX],
            [1..5_000_000_000_u64, 1..5_000_000_000_u64, 1..5_000_000_000_u64],
        ],
        alpha in 0..=32_u32,
        beta in 0..=32_u32,
        is_empty in any::<bool>(),
    ) {
        let [delay, old_delay, target] = times.map(Duration::from_nanos);
        let parameters = spec::aqm::Pie { target, alpha, beta, ..spec::aqm::Pie::DEFAULT };
        let mut control = Control { probability, delay, old_delay, ..Control::new(&parameters) };
        control.update(u64::MAX, is_empty);
        prop_assert!(control.probability <= ONE);
    }
}

/// A queue with a standing backlog of full frames whose probability stays what it is.
fn standing(parameters: spec::aqm::Pie, probability: u64) -> Pie<u64> {
    let parameters = spec::aqm::Pie {
        tupdate: Duration::from_secs(3_600),
        ..parameters
    };
    let mut queue = Pie::new(parameters, Capacity::Packets(1_000), Rng::new(1));
    (0..10).for_each(|n| queue.fifo.push(Timestamp::ZERO, Packet::new(FULL_FRAME, n)));
    queue.control.probability = probability;
    queue.control.delay = 20 * MS;
    queue.control.burst_allowance = Duration::ZERO;
    queue
}

/// Offers packets until one is dropped or marked; how many it took.
fn gap(queue: &mut Pie<u64>, size: Bytes, events: &mut QueueEvents) -> u64 {
    let before = events.early + events.marked;
    let mut offered = 0;
    while events.early + events.marked == before {
        offered += 1;
        let packet = Packet::new(size, 0).ecn(Ecn::Ect0);
        queue.enqueue(Timestamp::ZERO, packet, events);
        while queue.backlog().packets > 10 {
            queue.fifo.pop();
        }
    }
    offered
}

/// Mean and variance of the packets from one drop to the next at a constant probability.
fn expected_gap(p: f64) -> (f64, f64) {
    let (mut survive, mut mean, mut square) = (1.0, 0.0, 0.0);
    for n in 1.. {
        let accumulated = p * f64::from(n);
        let hit = match accumulated {
            // The sum is rounded in floating point, not in the queue.
            a if a < 0.85 - 1e-9 => 0.0,
            a if a < 8.5 - 1e-9 => p,
            _ => 1.0,
        };
        mean += survive * hit * f64::from(n);
        square += survive * hit * f64::from(n).powi(2);
        survive *= 1.0 - hit;
        if survive == 0.0 {
            break;
        }
    }
    (mean, square - mean * mean)
}

#[test]
fn gaps_between_drops_have_the_mean_of_derandomised_chance() {
    for permille in [1, 10, 50, 100, 400] {
        let mut queue = standing(spec::aqm::Pie::DEFAULT, ONE / 1_000 * permille);
        let mut events = QueueEvents::default();
        let count = 4_000;
        let gaps: Vec<u64> = (0..count)
            .map(|_| gap(&mut queue, FULL_FRAME, &mut events))
            .collect();
        let p = permille as f64 / 1_000.0;
        let (mean, variance) = expected_gap(p);
        let measured = gaps.iter().sum::<u64>() as f64 / count as f64;
        let error = (variance / count as f64).sqrt();
        assert!(
            (measured - mean).abs() < 5.0 * error,
            "{permille}: {measured}, expected {mean} ± {error}"
        );
        assert!(gaps.iter().all(|gap| *gap as f64 >= 0.85 / p - 1e-9));
        assert!(gaps.iter().all(|gap| *gap as f64 <= (8.5 / p).ceil()));
    }
}

#[test]
fn bytemode_drops_half_a_frame_half_as_often() {
    let mean = |bytemode, size: Bytes| {
        let parameters = spec::aqm::Pie {
            bytemode,
            ..spec::aqm::Pie::DEFAULT
        };
        let mut queue = standing(parameters, ONE / 10);
        let mut events = QueueEvents::default();
        let sum: u64 = (0..4_000).map(|_| gap(&mut queue, size, &mut events)).sum();
        sum as f64 / 4_000.0
    };
    let (half, whole) = (FULL_FRAME / 2, FULL_FRAME);
    for (bytemode, size, p) in [
        (true, half, 0.05),
        (true, whole, 0.1),
        (true, whole * 2, 0.1),
        (false, half, 0.1),
    ] {
        let (expected, variance) = expected_gap(p);
        let error = (variance / 4_000.0).sqrt();
        assert!((mean(bytemode, size) - expected).abs() < 5.0 * error);
    }
}

#[test]
fn marks_take_the_place_of_drops_up_to_ten_percent() {
    let parameters = spec::aqm::Pie {
        ecn: true,
        ..spec::aqm::Pie::DEFAULT
    };
    let mut events = QueueEvents::default();
    gap(&mut standing(parameters, ONE / 10), FULL_FRAME, &mut events);
    assert_eq!((events.marked.packets, events.early.packets), (1, 0));
    gap(
        &mut standing(parameters, ONE / 10 + 1),
        FULL_FRAME,
        &mut events,
    );
    assert_eq!((events.marked.packets, events.early.packets), (1, 1));
}

#[test]
fn a_mark_begins_the_sum_anew() {
    // sch_pie goes on marking every packet behind one that was marked for certain.
    let parameters = spec::aqm::Pie {
        ecn: true,
        ..spec::aqm::Pie::DEFAULT
    };
    let mut queue = standing(parameters, ONE / 10);
    queue.accumulated = TOO_MUCH;
    let mut events = QueueEvents::default();
    assert_eq!(gap(&mut queue, FULL_FRAME, &mut events), 1);
    assert!(gap(&mut queue, FULL_FRAME, &mut events) >= 9);
}

#[test]
fn a_short_delay_spares_nothing_from_a_fifth_on() {
    let mut control = control();
    control.burst_allowance = Duration::ZERO;
    control.delay = 7 * MS;
    for (probability, spares) in [(ONE / 5 - 1, true), (ONE / 5, false)] {
        control.probability = probability;
        assert_eq!(control.is_lenient(), spares);
    }
}

#[test]
fn fewer_than_two_frames_and_a_short_delay_are_left_alone() {
    let mut events = QueueEvents::default();
    let mut queue = standing(spec::aqm::Pie::DEFAULT, ONE);
    while queue.backlog().packets > 1 {
        queue.fifo.pop();
    }
    queue.accumulated = TOO_MUCH;
    queue.enqueue(Timestamp::ZERO, Packet::new(FULL_FRAME, 0), &mut events);
    assert_eq!((events.early.packets, queue.backlog().packets), (0, 2));
    queue.enqueue(Timestamp::ZERO, Packet::new(FULL_FRAME, 0), &mut events);
    assert_eq!((events.early.packets, queue.backlog().packets), (1, 2));
    let mut queue = standing(spec::aqm::Pie::DEFAULT, ONE / 5 - 1);
    queue.control.delay = 7 * MS;
    queue.accumulated = TOO_MUCH;
    queue.enqueue(Timestamp::ZERO, Packet::new(FULL_FRAME, 0), &mut events);
    assert_eq!((events.early.packets, queue.backlog().packets), (1, 11));
}

/// Sends a packet of a millisecond's length every `gap` into a link of PIE for `time`.
fn overload(text: &str, gap: Duration, time: Duration) -> Link<u64> {
    let spec: LinkSpec = format!("rate 10mbit {text}").parse().unwrap();
    let mut link = spec.build(Duration::ZERO, 1);
    let mut now = Timestamp::ZERO;
    while now < Timestamp::ZERO + time {
        link.handle_packet(now, Packet::new(Bytes::new(1_250), 0).ecn(Ecn::Ect0));
        while link.poll_output(now).is_some() {}
        now += gap;
    }
    link
}

#[test]
fn a_burst_is_let_in_for_150_ms_of_departures() {
    let mut control = control();
    control.probability = ONE;
    let mut lenient_at = |millis| {
        control.note_departure(Timestamp::from_millis(millis), 100 * MS);
        control.is_lenient()
    };
    // The first departure only begins to count.
    assert!(lenient_at(1_000));
    assert!(lenient_at(1_060));
    assert!(lenient_at(1_149));
    assert!(!lenient_at(1_150));
    // An empty queue without a probability is the end of congestion.
    control.probability = 0;
    control.delay = Duration::ZERO;
    control.update(1, true);
    control.update(1, true);
    assert_eq!(
        (control.burst_allowance, control.last_departure),
        (MAX_BURST, None)
    );
}

#[test]
fn overload_is_let_in_first_and_met_with_drops_then() {
    let early = |millis: u64| {
        let link = overload("aqm pie", MS / 2, MS * millis as u32);
        link.stats().dropped.aqm.packets
    };
    assert_eq!(early(150), 0);
    assert!(early(250) > 0);
}

#[test]
fn unresponsive_overload_is_held_at_the_target() {
    // 10/9 of the rate: a tenth has to go.
    let link = overload("aqm pie", MS * 9 / 10, MS * 60_000);
    let early = overload("aqm pie", MS * 9 / 10, MS * 30_000);
    let since = link.stats().since(early.stats());
    let share = since.dropped.aqm.packets as f64 / since.arrived.packets as f64;
    assert!((share - 0.1).abs() < 0.005, "{share}");
    let delay = since.queue_delay.quantile(Gain::percent(50));
    assert!((12 * MS..18 * MS).contains(&delay), "{delay:?}");
}
