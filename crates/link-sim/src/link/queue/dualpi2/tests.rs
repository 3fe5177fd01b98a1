use super::*;
use crate::spec::aqm;
use crate::{Link, LinkSpec};
use core::time::Duration;
use units::Gain;

const MS: Duration = Duration::from_millis(1);

/// A queue with so many full frames of each kind, all just come, whose probability stays what it
/// is.
fn standing(parameters: aqm::DualPi2, probability: u64, low: u64, classic: u64) -> DualPi2<u64> {
    let parameters = aqm::DualPi2 {
        tupdate: Duration::from_secs(3_600),
        ..parameters
    };
    let mut queue = DualPi2::new(parameters, Capacity::Packets(10_000), Rng::new(1));
    for (ecn, count) in [(Ecn::Ect1, low), (Ecn::NotEct, classic)] {
        (0..count).for_each(|number| give(&mut queue, Timestamp::ZERO, ecn, number));
    }
    queue.control.probability = probability;
    queue
}

fn give(queue: &mut DualPi2<u64>, now: Timestamp, ecn: Ecn, number: u64) {
    let mut events = QueueEvents::default();
    queue.enqueue(now, Packet::new(FULL_FRAME, number).ecn(ecn), &mut events);
    assert_eq!(events.overflowed.packets, 0);
}

/// What becomes of `count` packets of one codepoint at a constant probability.
fn fates(parameters: aqm::DualPi2, probability: u64, ecn: Ecn, count: u64) -> QueueEvents {
    let mut queue = standing(parameters, probability, 0, 0);
    let mut events = QueueEvents::default();
    // Two frames that stay, so that the queue is never too short.
    (0..2).for_each(|number| give(&mut queue, Timestamp::ZERO, ecn, number));
    for _ in 0..count {
        let packet = Packet::new(FULL_FRAME, 0).ecn(ecn);
        queue.enqueue(Timestamp::ZERO, packet, &mut events);
        if queue.backlog().packets == 3 {
            let class = queue.queue_of(ecn);
            let (mut next, _) = queue.pop_from(class).unwrap();
            if !parameters.drop_enqueue && queue.is_dropped(class, &mut next.packet, &mut events) {
                events.drop(&next.packet);
            }
        }
    }
    events
}

#[track_caller]
fn assert_share(measured: u64, count: u64, expected: f64) {
    let share = measured as f64 / count as f64;
    let error = (expected * (1.0 - expected) / count as f64).sqrt();
    assert!(
        (share - expected).abs() <= 5.0 * error + 1e-12,
        "{share}, expected {expected} ± {error}"
    );
}

#[test]
fn classic_is_the_square_and_low_latency_the_multiple_of_one_probability() {
    let count = 200_000;
    for coupling_factor in [1, 2, 5] {
        for percent in [1, 5, 15] {
            let parameters = aqm::DualPi2 {
                coupling_factor,
                ..aqm::DualPi2::DEFAULT
            };
            let (p, share) = (ONE / 100 * percent, percent as f64 / 100.0);
            let low = fates(parameters, p, Ecn::Ect1, count);
            assert_share(
                low.marked.packets,
                count,
                share * f64::from(coupling_factor),
            );
            assert_eq!(low.early.packets, 0);
            let classic = fates(parameters, p, Ecn::NotEct, count);
            assert_share(classic.early.packets, count, share * share);
            let marked = fates(parameters, p, Ecn::Ect0, count);
            assert_eq!(
                (marked.marked, marked.early),
                (classic.early, classic.marked)
            );
        }
    }
}

#[test]
fn when_a_packet_comes_is_as_good_a_time_for_chance() {
    let parameters = aqm::DualPi2 {
        drop_enqueue: true,
        ..aqm::DualPi2::DEFAULT
    };
    let count = 200_000;
    let low = fates(parameters, ONE / 10, Ecn::Ect1, count);
    assert_share(low.marked.packets, count, 0.2);
    let classic = fates(parameters, ONE / 10, Ecn::NotEct, count);
    assert_share(classic.early.packets, count, 0.01);
}

#[test]
fn overload_drops_both_alike_or_marks_until_the_queue_is_full() {
    let count = 100_000;
    let dropping = aqm::DualPi2::DEFAULT;
    let p = ONE / 100 * 60;
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let events = fates(dropping, p, ecn, count);
        assert_share(events.early.packets, count, 0.36);
        let stay = count - events.early.packets;
        assert_eq!(
            events.marked.packets,
            if ecn == Ecn::Ect1 { stay } else { 0 }
        );
    }
    let overflowing = aqm::DualPi2 {
        on_overload: OnOverload::Overflow,
        ..dropping
    };
    let low = fates(overflowing, p, Ecn::Ect1, count);
    assert_eq!((low.marked.packets, low.early.packets), (count, 0));
}

#[test]
fn fewer_than_two_frames_are_left_alone() {
    let mut queue = standing(aqm::DualPi2::DEFAULT, ONE, 2, 0);
    let mut events = QueueEvents::default();
    assert!(queue.dequeue(Timestamp::ZERO, &mut events).is_some());
    assert!(queue.dequeue(Timestamp::ZERO, &mut events).is_some());
    assert_eq!((events.early.packets, events.marked.packets), (0, 0));
    let mut queue = standing(aqm::DualPi2::DEFAULT, ONE, 3, 0);
    assert!(queue.dequeue(Timestamp::ZERO, &mut events).is_some());
    assert_eq!(events.early.packets, 1);
}

#[test]
fn codepoints_choose_the_queue() {
    for (any_ect, low) in [
        (false, [false, false, true, true]),
        (true, [false, true, true, true]),
    ] {
        let parameters = aqm::DualPi2 {
            any_ect,
            ..aqm::DualPi2::DEFAULT
        };
        let queue = standing(parameters, 0, 0, 0);
        let class = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
            .map(|ecn| queue.queue_of(ecn) == QueueClass::LowLatency);
        assert_eq!(class, low);
    }
}

#[test]
fn the_step_marks_whatever_waited_longer_than_the_threshold() {
    let ecn_after = |ecn, waited| {
        let mut queue = standing(aqm::DualPi2::DEFAULT, 0, 0, 0);
        give(&mut queue, Timestamp::ZERO, ecn, 0);
        let next = queue.dequeue(Timestamp::ZERO + waited, &mut QueueEvents::default());
        next.unwrap().packet.ecn
    };
    assert_eq!(ecn_after(Ecn::Ect1, MS), Ecn::Ect1);
    assert_eq!(ecn_after(Ecn::Ect1, MS + Duration::from_nanos(1)), Ecn::Ce);
    assert_eq!(ecn_after(Ecn::Ect0, MS * 100), Ecn::Ect0);
    assert_eq!(ecn_after(Ecn::NotEct, MS * 100), Ecn::NotEct);
}

#[test]
fn the_step_in_packets_looks_at_what_is_left_behind() {
    let parameters = aqm::DualPi2 {
        step_thresh: StepThreshold::Packets(2),
        ..aqm::DualPi2::DEFAULT
    };
    let mut queue = standing(parameters, 0, 5, 0);
    let mut events = QueueEvents::default();
    let marked = core::iter::from_fn(|| queue.dequeue(Timestamp::ZERO, &mut events))
        .map(|next| next.packet.ecn == Ecn::Ce);
    assert_eq!(
        marked.collect::<Vec<_>>(),
        [true, true, false, false, false]
    );
}

#[test]
fn the_step_is_for_packets_that_found_others_ahead() {
    for (min_qlen_step, expected) in [
        (0, [true, true, true, true]),
        (1, [false, true, true, true]),
        (3, [false, false, false, true]),
    ] {
        let parameters = aqm::DualPi2 {
            min_qlen_step,
            ..aqm::DualPi2::DEFAULT
        };
        // Classic packets do not count.
        let mut queue = standing(parameters, 0, 4, 9);
        let mut events = QueueEvents::default();
        let marked = (0..4).map(|_| {
            let next = queue.dequeue(Timestamp::from_millis(2), &mut events);
            next.unwrap().packet.ecn == Ecn::Ce
        });
        assert_eq!(marked.collect::<Vec<_>>(), expected, "{min_qlen_step}");
    }
}

#[test]
fn the_low_latency_queue_goes_first_but_for_the_classic_share() {
    for percent in [0, 10, 50, 100] {
        let parameters = aqm::DualPi2 {
            classic_protection: Gain::percent(percent),
            ..aqm::DualPi2::DEFAULT
        };
        let mut queue = standing(parameters, 0, 1_000, 1_000);
        let mut events = QueueEvents::default();
        let classic = (0..500)
            .filter(|_| {
                let next = queue.dequeue(Timestamp::ZERO, &mut events).unwrap();
                next.packet.ecn == Ecn::NotEct
            })
            .count();
        assert!(
            classic.abs_diff(5 * percent as usize) <= 2,
            "{percent}: {classic}"
        );
    }
}

#[test]
fn a_queue_that_was_empty_begins_with_low_latency_again() {
    let mut queue = standing(aqm::DualPi2::DEFAULT, 0, 9, 9);
    let mut events = QueueEvents::default();
    let mut order = |queue: &mut DualPi2<u64>, count| -> Vec<bool> {
        (0..count)
            .map(|_| {
                let next = queue.dequeue(Timestamp::ZERO, &mut events).unwrap();
                next.packet.ecn == Ecn::Ect1
            })
            .collect()
    };
    let first = order(&mut queue, 18);
    assert_eq!(first[..9], [true; 9]);
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        give(&mut queue, Timestamp::ZERO, ecn, 0);
    }
    assert_eq!(order(&mut queue, 2), [true, false]);
}

#[test]
fn each_queue_keeps_its_order_and_a_successor_gets_the_order_of_arrival() {
    let filled = || {
        let mut queue = standing(aqm::DualPi2::DEFAULT, 0, 0, 0);
        for number in 0..20 {
            let ecn = if number % 3 == 0 {
                Ecn::Ect1
            } else {
                Ecn::Ect0
            };
            give(&mut queue, Timestamp::from_millis(number), ecn, number);
        }
        queue
    };
    let mut queue = filled();
    let mut events = QueueEvents::default();
    let left: Vec<_> =
        core::iter::from_fn(|| queue.dequeue(Timestamp::from_millis(20), &mut events)).collect();
    for low in [true, false] {
        let numbers = left.iter().map(|waiting| waiting.packet.payload);
        assert!(numbers.filter(|n| (n % 3 == 0) == low).is_sorted());
    }
    let taken = crate::link::queue::tests::numbers(&mut filled());
    assert_eq!(taken, (0..20).collect::<Vec<_>>());
}

#[test]
fn the_older_head_of_both_queues_sets_the_probability() {
    let probability = |low: u64, classic: u64| {
        let mut queue = DualPi2::new(aqm::DualPi2::DEFAULT, Capacity::Packets(10), Rng::new(1));
        give(&mut queue, Timestamp::from_millis(low), Ecn::Ect1, 0);
        give(&mut queue, Timestamp::from_millis(classic), Ecn::NotEct, 1);
        queue.advance(Timestamp::from_millis(16));
        queue.control.probability
    };
    // At 16 ms the older one has waited for 14: 3.2 × 0.014 − 0.16 × 0.001.
    assert_eq!(probability(2, 9), 44_640_000_000_000);
    assert_eq!(probability(9, 9), probability(9, 10));
    assert_eq!(probability(2, 9), probability(2, 2));
}

/// Low-latency packets at a tenth of the link's rate beside classic ones that are too many.
fn overload(time: Duration) -> Link<bool> {
    let spec: LinkSpec = "rate 10mbit aqm dualpi2".parse().unwrap();
    let mut link = spec.build(Duration::ZERO, 1);
    let mut now = Timestamp::ZERO;
    let size = Bytes::new(1_250);
    for number in 0.. {
        if now >= Timestamp::ZERO + time {
            break;
        }
        // 10.5 Mbit/s of classic packets.
        link.handle_packet(now, Packet::new(size, false));
        if number % 10 == 0 {
            link.handle_packet(now, Packet::new(size, true).ecn(Ecn::Ect1));
        }
        while link.poll_output(now).is_some() {}
        now += Duration::from_micros(952);
    }
    link
}

#[test]
fn under_unresponsive_load_marks_and_drops_obey_the_coupling_law() {
    let link = overload(MS * 120_000);
    let stats = link.stats().since(overload(MS * 20_000).stats());
    let low = stats.arrived.packets as f64 / 11.0;
    let classic = stats.arrived.packets as f64 - low;
    let (drops, marks) = (
        stats.dropped.aqm.packets as f64,
        stats.marked.packets as f64,
    );
    // What is too much has to go: 10.504 + 1.0504 of 10.
    let expected = (11.0 / 0.952 - 10.0) / (10.0 / 0.952);
    assert!(
        (drops / classic - expected).abs() < 0.005,
        "{}",
        drops / classic
    );
    let (classic_share, low_share) = (drops / classic, marks / low);
    assert!(
        (classic_share - (low_share / 2.0).powi(2)).abs() < 0.1 * classic_share,
        "{classic_share} of classic, {low_share} of low-latency packets"
    );
    assert_eq!(stats.dropped.queue.packets, 0);
    // The median is a classic packet's.
    let delay = stats.queue_delay.quantile(Gain::percent(50));
    assert!((13 * MS..17 * MS).contains(&delay), "{delay:?}");
}
