use super::*;
use crate::packet::Ecn;
use core::time::Duration;
use units::Gain;

const PACKET: u64 = 1_000;

/// min 30 packets, max 90, at most 2 %, on a link that sends one packet each millisecond.
fn red(parameters: spec::aqm::Red) -> Red<u64> {
    Red::new(
        parameters,
        Capacity::Packets(1_000),
        Bandwidth::from_bytes_per_sec(1_000_000),
        Rng::new(1),
    )
}

fn parameters() -> spec::aqm::Red {
    spec::aqm::Red::of(Bytes::new(30 * PACKET))
}

fn packet() -> Packet<u64> {
    Packet::new(Bytes::new(PACKET), 0)
}

/// A queue that has stood at `packets` for ever.
fn standing(parameters: spec::aqm::Red, packets: u64) -> Red<u64> {
    let mut queue = red(parameters);
    (0..packets).for_each(|_| queue.fifo.push(Timestamp::ZERO, packet()));
    queue.average.scaled = u128::from(packets * PACKET) << queue.average.weight_log;
    queue
}

/// Offers `count` packets and takes one out for each that came in.
fn offer_standing(queue: &mut Red<u64>, count: u64, ecn: Ecn) -> QueueEvents {
    let mut events = QueueEvents::default();
    for _ in 0..count {
        let before = queue.backlog().packets;
        queue.enqueue(Timestamp::ZERO, packet().ecn(ecn), &mut events);
        if queue.backlog().packets > before {
            queue.dequeue(Timestamp::ZERO, &mut events);
        }
    }
    events
}

fn weight(burst: u32) -> u32 {
    let red = spec::aqm::Red {
        burst,
        ..spec::aqm::Red::of(Bytes::new(32 * PACKET))
    };
    red.weight_log().unwrap()
}

#[test]
fn weights_are_those_of_the_kernels_table() {
    // include/net/red.h: the largest burst for each weight, with `min` of 32 packets. The table is
    // true to two packets.
    let published: [u32; 9] = [33, 35, 39, 46, 57, 75, 101, 135, 190];
    for (events, published) in (1..).zip(published) {
        let largest = (32..=300).rfind(|burst| weight(*burst) == events).unwrap();
        assert!(
            largest.abs_diff(published) <= 2,
            "{events}: {largest}, {published}"
        );
    }
}

#[test]
fn weights_are_those_that_tc_computes() {
    for burst in 32..=2_000 {
        // tc/tc_red.c in floating point.
        let fits = |events: &u32| {
            let w = 0.5_f64.powi(*events as i32);
            f64::from(burst) + 1.0 - 32.0 <= (1.0 - (1.0 - w).powi(burst as i32)) / w
        };
        assert_eq!(weight(burst), (1..32).find(fits).unwrap(), "{burst}");
    }
}

#[test]
fn the_average_is_the_recurrence_to_the_last_bit() {
    let mut average = red(parameters()).average;
    average.weight_log = 2;
    // 1000/4 = 250, 250 × 3/4 + 1000/4 = 437.5, 437.5 × 3/4 + 3001/4 = 1078.375: in quarters,
    // with the leaving quarter of 437.5 rounded to 437.
    let scaled: Vec<u128> = [1_000, 1_000, 3_001]
        .map(|backlog| {
            average.update(Timestamp::ZERO, Bytes::new(backlog));
            average.scaled
        })
        .into();
    assert_eq!(scaled, [1_000, 1_750, 4_314]);
    assert_eq!(average.above(Bytes::new(1_000)), Bytes::new(78));
}

#[test]
fn the_average_follows_its_formula_over_any_backlog() {
    let mut average = red(parameters()).average;
    let weight = 0.5_f64.powi(average.weight_log as i32);
    let mut rng = Rng::new(7);
    let mut exact = 0.0;
    for _ in 0..10_000 {
        let backlog = rng.below(200_000);
        average.update(Timestamp::ZERO, Bytes::new(backlog));
        exact += (backlog as f64 - exact) * weight;
        let measured = average.scaled as f64 * weight;
        // Each step rounds up by less than a byte × weight, of which 1 ÷ weight add up.
        assert!(
            (0.0..=1.0).contains(&(measured - exact)),
            "{measured}, {exact}"
        );
    }
}

#[test]
fn idle_time_counts_as_packets_that_found_no_queue() {
    for (millis, packets) in [(0, 0), (1, 1), (10, 10), (100, 100), (3_600_000, 3_600_000)] {
        let mut queue = standing(parameters(), 50);
        let events = &mut QueueEvents::default();
        while queue.dequeue(Timestamp::ZERO, events).is_some() {}
        let weight = 0.5_f64.powi(queue.average.weight_log as i32);
        let expected = 50_000.0 * (1.0 - weight).powi(packets);
        // 0.999 ms more are no whole packet.
        let now = Timestamp::from_millis(millis) + Duration::from_micros(999);
        queue.enqueue(now, packet(), events);
        let measured = queue.average.scaled as f64 * weight;
        assert!(
            (measured - expected).abs() < 1e-6 + weight,
            "{measured}, {expected}"
        );
        assert_eq!(queue.average.idle_since, None);
    }
}

#[test]
fn a_new_rate_makes_idle_time_count_for_more() {
    let after_idle = |rate: u64| {
        let mut queue = standing(parameters(), 50);
        queue.set_rate(Bandwidth::from_bytes_per_sec(rate));
        queue.average.idle_since = Some(Timestamp::ZERO);
        queue
            .average
            .update(Timestamp::from_millis(10), Bytes::ZERO);
        queue.average.scaled
    };
    assert!(after_idle(2_000_000) < after_idle(1_000_000));
}

#[test]
fn gaps_between_early_drops_are_uniform_with_the_mean_of_their_probability() {
    let count = 400_000;
    for packets in [36, 45, 60, 75, 89] {
        let mut queue = standing(parameters(), packets);
        let events = offer_standing(&mut queue, count, Ecn::NotEct);
        // 2 % × (average − min) ÷ (max − min), and one mark in every 1 … 1/p packets.
        let p = 0.02 * (packets - 30) as f64 / 60.0;
        let (mean, variance) = ((1.0 / p + 1.0) / 2.0, (1.0 / (p * p) - 1.0) / 12.0);
        let expected = count as f64 / mean;
        let error = (count as f64 * variance / mean.powi(3)).sqrt();
        let drops = events.early.packets as f64;
        assert!(
            (drops - expected).abs() < 5.0 * error,
            "{packets}: {drops}, expected {expected} ± {error}"
        );
        assert_eq!(events.overflowed.packets, 0);
    }
}

#[test]
fn no_gap_is_longer_than_one_over_the_probability() {
    let mut queue = standing(parameters(), 60);
    let mut gaps = vec![0_u64];
    for _ in 0..100_000 {
        *gaps.last_mut().unwrap() += 1;
        if offer_standing(&mut queue, 1, Ecn::NotEct).early.packets > 0 {
            gaps.push(0);
        }
    }
    gaps.pop();
    // The first packet only draws the number.
    assert_eq!(gaps[1..].iter().max(), Some(&100));
    assert_eq!(gaps[1..].iter().min(), Some(&1));
}

#[test]
fn below_min_nothing_and_from_max_on_everything_is_dropped() {
    let below = offer_standing(&mut standing(parameters(), 29), 10_000, Ecn::NotEct);
    assert_eq!(below.early.packets, 0);
    let above = offer_standing(&mut standing(parameters(), 90), 10_000, Ecn::NotEct);
    assert_eq!(above.early.packets, 10_000);
}

#[test]
fn ecn_marks_what_can_be_marked_and_drops_the_rest() {
    let ecn = spec::aqm::Red {
        ecn: true,
        ..parameters()
    };
    for packets in [60, 90] {
        let marked = offer_standing(&mut standing(ecn, packets), 10_000, Ecn::Ect0);
        assert_eq!(marked.early.packets, 0);
        let dropped = offer_standing(&mut standing(ecn, packets), 10_000, Ecn::NotEct);
        assert_eq!(dropped.marked.packets, 0);
        assert_eq!(dropped.early, marked.marked);
        assert!(dropped.early.packets > 100);
    }
}

#[test]
fn harddrop_drops_above_max_and_nodrop_leaves_it_to_the_capacity() {
    let mut flags = spec::aqm::Red {
        ecn: true,
        harddrop: true,
        nodrop: true,
        ..parameters()
    };
    let events = offer_standing(&mut standing(flags, 90), 100, Ecn::Ect0);
    assert_eq!((events.early.packets, events.marked.packets), (100, 0));
    let events = offer_standing(&mut standing(flags, 60), 10_000, Ecn::NotEct);
    assert_eq!((events.early.packets, events.marked.packets), (0, 0));
    flags.harddrop = false;
    let events = offer_standing(&mut standing(flags, 90), 100, Ecn::NotEct);
    assert_eq!((events.early.packets, events.marked.packets), (0, 0));
}

#[test]
fn a_burst_as_long_as_asked_for_passes_an_empty_queue() {
    let mut queue = red(spec::aqm::Red {
        probability: Gain::ONE,
        max: parameters().min,
        ..parameters()
    });
    let mut events = QueueEvents::default();
    // With `max` at `min`, the first packet beyond is dropped for certain.
    let passed = (0..1_000).take_while(|_| {
        queue.enqueue(Timestamp::ZERO, packet(), &mut events);
        events.early.packets == 0
    });
    let (passed, burst) = (passed.count() as u64, u64::from(parameters().burst));
    assert!(
        (burst..=burst + 30).contains(&passed),
        "{passed}, asked for {burst}"
    );
}

#[test]
fn the_capacity_holds_beside_the_average() {
    let mut queue = standing(parameters(), 10);
    queue.set_capacity(Capacity::Packets(10));
    let mut events = QueueEvents::default();
    queue.enqueue(Timestamp::ZERO, packet(), &mut events);
    assert_eq!((events.overflowed.packets, events.early.packets), (1, 0));
}
