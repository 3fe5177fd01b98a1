use super::*;
use crate::link::queue::tests::{Bench, sized};
use crate::{Ecn, Link, LinkSpec};

const UNLIMITED: Capacity = Capacity::Packets(u64::MAX);
const DEFAULT: spec::aqm::Codel = spec::aqm::Codel::DEFAULT;
const WITH_ECN: spec::aqm::Codel = spec::aqm::Codel {
    ecn: true,
    ..DEFAULT
};

fn bench(parameters: spec::aqm::Codel) -> Bench<Codel<u64>> {
    Bench::new(Codel::new(parameters, UNLIMITED))
}

fn millis(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Which of the packets up to the last one served are missing.
fn dropped(served: &[Packet<u64>]) -> Vec<u64> {
    let numbers: Vec<u64> = served.iter().map(|packet| packet.payload).collect();
    let last = *numbers.last().unwrap();
    (0..last).filter(|n| !numbers.contains(n)).collect()
}

/// A hundred packets at once, one served every 10 ms.
///
/// The first is above the target at 10 ms, so that dropping begins at 110 ms, and goes on at
/// 210, 280.7, 338.4, 388.4, 433.2 and 474.0 ms, each time with the next service.
const DROP_NEXT: [u64; 7] = [
    210_000_000,
    280_710_678,
    338_445_704,
    388_445_704,
    433_167_063,
    473_991_892,
    511_788_339,
];

#[test]
fn a_standing_queue_loses_these_packets() {
    let mut bench = bench(DEFAULT);
    bench.arrive(millis(0), 100, &sized(1_000));
    let served = bench.serve_at((10..=500).step_by(10));
    assert_eq!(dropped(&served), [10, 21, 30, 36, 42, 48, 53]);
    assert_eq!(bench.events.early.packets, 7);
    assert_eq!(
        bench.events.overflowed.packets + bench.events.marked.packets,
        0
    );
}

#[test]
fn the_times_of_drops_are_exact_to_the_nanosecond() {
    let mut bench = bench(DEFAULT);
    bench.arrive(millis(0), 100, &sized(1_000));
    let mut times = Vec::new();
    for at in (10..=500).step_by(10) {
        let before = bench.events.early.packets;
        bench.serve(millis(at));
        if bench.events.early.packets > before {
            times.push(bench.queue.control.drop_next.as_nanos());
        }
    }
    assert_eq!(times, DROP_NEXT);
}

#[test]
fn with_ecn_the_same_schedule_marks_and_drops_nothing() {
    let mut bench = bench(WITH_ECN);
    bench.arrive(millis(0), 100, &sized(1_000).ecn(Ecn::Ect0));
    let served = bench.serve_at((10..=500).step_by(10));
    let marked = served.iter().filter(|packet| packet.ecn == Ecn::Ce);
    let marked: Vec<u64> = marked.map(|packet| packet.payload).collect();
    assert_eq!(marked, [10, 20, 28, 33, 38, 43, 47]);
    assert_eq!(served.len(), 50);
    assert_eq!(bench.events.marked.packets, 7);
}

#[test]
fn with_ecn_packets_that_are_not_capable_are_dropped() {
    let mut bench = bench(WITH_ECN);
    bench.arrive(millis(0), 100, &sized(1_000));
    let served = bench.serve_at((10..=500).step_by(10));
    assert_eq!(dropped(&served), [10, 21, 30, 36, 42, 48, 53]);
}

#[test]
fn what_is_due_many_times_is_dropped_at_once_but_marked_one_by_one() {
    for (ecn, counts) in [(Ecn::NotEct, [3, 0, 0, 0]), (Ecn::Ect0, [1, 1, 1, 0])] {
        let mut bench = bench(WITH_ECN);
        bench.arrive(millis(0), 100, &sized(1_000).ecn(ecn));
        bench.serve_at([10, 110].into_iter());
        // 210, 280.7 and 338.4 ms have passed.
        let signals = [340, 341, 342, 343].map(|at| {
            bench.events = QueueEvents::default();
            bench.serve(millis(at));
            bench.events.early.packets + bench.events.marked.packets
        });
        assert_eq!(signals, counts);
    }
}

/// One packet a millisecond, each served after `sojourn`, for a second.
fn drops_after(sojourn: Duration) -> u64 {
    let mut bench = bench(DEFAULT);
    for at in 0..1_000 {
        bench.arrive(millis(at), 1, &sized(1_000));
        if at >= 10 {
            bench.serve(millis(at - 10) + sojourn);
        }
    }
    bench.events.early.packets
}

#[test]
fn nothing_is_dropped_below_the_target() {
    let below = DEFAULT.target - Duration::from_nanos(1);
    assert_eq!(drops_after(below), 0);
    assert!(drops_after(DEFAULT.target) > 0);
}

#[test]
fn one_packet_below_the_target_begins_a_new_interval() {
    let mut bench = bench(DEFAULT);
    bench.arrive(millis(0), 10, &sized(1_000));
    bench.serve_at((10..=100).step_by(10));
    bench.arrive(millis(104), 100, &sized(1_000));
    bench.serve_at([105, 110, 120, 209].into_iter());
    assert_eq!(bench.events.early.packets, 0);
    bench.serve(millis(210));
    assert_eq!(bench.events.early.packets, 1);
}

/// A packet served every 100 ms, with so many left behind it.
fn drops_with(left: u64, size: u64) -> u64 {
    let mut bench = bench(DEFAULT);
    bench.arrive(millis(0), left, &sized(size));
    for at in (100..2_000).step_by(100) {
        bench.arrive(millis(at), 1, &sized(size));
        bench.serve(millis(at));
    }
    bench.events.early.packets
}

#[test]
fn a_backlog_of_a_full_packet_is_no_standing_queue_however_long_it_waits() {
    assert_eq!(drops_with(1, 1_514), 0);
    assert_eq!(drops_with(2, 757), 0);
    assert!(drops_with(2, 758) > 0);
    // A full packet is as large as the largest that was seen.
    assert_eq!(drops_with(1, 9_000), 0);
    assert!(drops_with(2, 9_000) > 0);
}

/// Dropping that ended at a count of 7, and began with 1, begins again so long after the time of
/// the drop that was to be next.
fn resumed(count: u64, later: Duration) -> (u64, Timestamp) {
    let drop_next = millis(500);
    let mut law = ControlLaw {
        count,
        last_count: 1,
        drop_next,
        ..ControlLaw::new()
    };
    law.begin_dropping(drop_next + later, DEFAULT.interval);
    assert_eq!(law.last_count, law.count);
    (law.count, law.drop_next)
}

#[test]
fn dropping_is_resumed_where_it_ended_within_16_intervals() {
    let limit = 16 * DEFAULT.interval;
    let nano = Duration::from_nanos(1);
    let (count, next) = resumed(7, limit - nano);
    assert_eq!(count, 6);
    // 100 ms ÷ √6.
    assert_eq!(next.as_nanos(), 2_100_000_000 - 1 + 40_824_829);
    assert_eq!(resumed(7, limit), (1, millis(2_200)));
    // One drop more than at the begin is no rate to go on with.
    assert_eq!(resumed(2, nano).0, 1);
    assert_eq!(resumed(3, nano).0, 2);
}

#[test]
fn a_drop_that_ends_dropping_puts_off_no_other() {
    // At 210 ms a packet is dropped, and behind the next one stands but one.
    let mut bench = bench(DEFAULT);
    bench.arrive(millis(0), 6, &sized(1_000));
    bench.serve_at([10, 110, 210].into_iter());
    assert_eq!(bench.events.early.packets, 2);
    assert!(!bench.queue.control.is_dropping);
    assert_eq!(bench.queue.control.drop_next, millis(210));
}

#[test]
fn a_queue_that_comes_back_is_resumed() {
    for (again, count) in [(1_000, 6), (3_000, 1)] {
        let mut bench = bench(DEFAULT);
        bench.arrive(millis(0), 100, &sized(1_000));
        bench.serve_at((10..=500).step_by(10));
        while bench.serve(millis(501)).is_some() {}
        bench.arrive(millis(again), 100, &sized(1_000));
        bench.serve_at([again + 10, again + 110].into_iter());
        assert_eq!(bench.queue.control.count, count);
    }
}

#[test]
fn above_the_threshold_all_that_can_be_is_marked_and_nothing_dropped() {
    let parameters = spec::aqm::Codel {
        ce_threshold: Some(Duration::from_millis(2)),
        ..DEFAULT
    };
    let mut bench = bench(parameters);
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
        bench.arrive(millis(0), 1, &sized(1_000).ecn(ecn));
    }
    let served = bench.serve_at([2, 3, 3, 3, 3].into_iter());
    let ecn: Vec<Ecn> = served.iter().map(|packet| packet.ecn).collect();
    assert_eq!(ecn, [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ce, Ecn::Ce]);
    assert_eq!(bench.events.early.packets, 0);
    // The last one came marked.
    assert_eq!(bench.events.marked.packets, 2);
}

#[test]
fn a_full_queue_drops_what_comes() {
    let mut queue = Codel::new(DEFAULT, Capacity::Packets(3));
    let mut events = QueueEvents::default();
    for number in 0..5 {
        let packet = Packet::new(Bytes::new(100), number);
        queue.enqueue(millis(0), packet, &mut events);
    }
    assert_eq!(events.overflowed.packets, 2);
    let mut take = || queue.take().map(|waiting| waiting.packet.payload);
    assert_eq!(
        [take(), take(), take(), take()],
        [Some(0), Some(1), Some(2), None]
    );
}

#[test]
fn a_load_that_does_not_listen_is_dropped_ever_faster() {
    // Two packets come in the time of one.
    let spec: LinkSpec = "rate 10mbit queue 100000p aqm codel".parse().unwrap();
    let mut link: Link<()> = spec.build(Duration::ZERO, 1);
    let mut drops = Vec::new();
    for half in 0..20_000 {
        let now = Timestamp::ZERO + Duration::from_micros(500 * half);
        link.handle_packet(now, Packet::new(Bytes::new(1_250), ()));
        while link.poll_output(now).is_some() {}
        if (half + 1) % 4_000 == 0 {
            drops.push(link.stats().dropped.aqm.packets);
        }
    }
    // The first packet that waits for 5 ms leaves at 10 ms; n drops take the sum of 100 ms ÷ √i.
    let expected = |seconds: f64| {
        let mut next = 0.11;
        let mut count = 0_u32;
        while next < seconds {
            count += 1;
            next += 0.1 / f64::from(count).sqrt();
        }
        u64::from(count)
    };
    for (drops, seconds) in drops.iter().zip([2.0, 4.0, 6.0, 8.0, 10.0]) {
        let expected = expected(seconds);
        assert!(drops.abs_diff(expected) <= 1, "{drops} {expected}");
    }
    assert!(drops[4] > 2_400);
}
