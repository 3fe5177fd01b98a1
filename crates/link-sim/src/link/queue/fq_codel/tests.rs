use super::*;
use crate::link::queue::codel::Codel;
use crate::link::queue::tests::{Bench, numbers, sized};
use crate::packet::Ecn;
use core::time::Duration;
use proptest::prelude::*;
use units::Rng;

const UNLIMITED: Capacity = Capacity::Packets(u64::MAX);
const DEFAULT: spec::aqm::FqCodel = spec::aqm::FqCodel::DEFAULT;
/// Whose CoDel does nothing.
const PATIENT: spec::aqm::FqCodel = spec::aqm::FqCodel {
    codel: spec::aqm::Codel {
        target: Duration::from_secs(3_600),
        ..DEFAULT.codel
    },
    ..DEFAULT
};

fn bench(parameters: spec::aqm::FqCodel, capacity: Capacity) -> Bench<FqCodel<u64>> {
    Bench::new(FqCodel::new(parameters, capacity, Rng::new(1)))
}

fn flow(flow: u64, size: u64) -> Packet<u64> {
    sized(size).flow(flow)
}

/// The flows of all that is served now.
fn drain(bench: &mut Bench<FqCodel<u64>>) -> Vec<u64> {
    core::iter::from_fn(|| bench.serve(Timestamp::ZERO))
        .map(|packet| packet.flow)
        .collect()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, 6, &flow(1, 757));
    bench.arrive(Timestamp::ZERO, 3, &flow(2, 1_514));
    assert_eq!(drain(&mut bench), [1, 1, 2, 1, 1, 2, 1, 1, 2]);
}

#[test]
fn packets_of_one_flow_keep_their_order() {
    let mut bench = bench(PATIENT, UNLIMITED);
    for _ in 0..20 {
        bench.arrive(Timestamp::ZERO, 1, &flow(1, 500));
        bench.arrive(Timestamp::ZERO, 1, &flow(2, 1_100));
    }
    let served: Vec<_> = core::iter::from_fn(|| bench.serve(Timestamp::ZERO)).collect();
    for flow in [1, 2] {
        let numbers = served.iter().filter(|packet| packet.flow == flow);
        assert!(numbers.map(|packet| packet.payload).is_sorted());
    }
}

#[test]
fn backlogged_flows_share_in_bytes_whatever_the_sizes_of_their_packets() {
    for quantum in [256, 1_514, 9_000] {
        let quantum = Bytes::new(quantum);
        let mut bench = bench(spec::aqm::FqCodel { quantum, ..PATIENT }, UNLIMITED);
        let sizes = [1_500, 100, 700, 9_000];
        for (index, size) in (0..).zip(sizes) {
            bench.arrive(Timestamp::ZERO, 5_000_000 / size, &flow(index, size));
        }
        let mut sent = [0_u64; 4];
        for _ in 0..20_000 {
            let packet = bench.serve(Timestamp::ZERO).unwrap();
            sent[packet.flow as usize] += packet.size.get();
        }
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(*least > 1_000_000);
        // One is a turn ahead, and of its turns sent a packet too much.
        assert!(most - least <= quantum.get() + 9_000, "{sent:?}");
    }
}

#[test]
fn a_flow_that_was_silent_is_served_before_those_that_wait() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, 10, &flow(1, 1_514));
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 1_514));
    // Both are new; from the second round on the first one is not.
    let first = [(); 4].map(|()| bench.serve(Timestamp::ZERO).unwrap().flow);
    assert_eq!(first, [1, 2, 1, 1]);
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 100));
    assert_eq!(bench.serve(Timestamp::ZERO).unwrap().flow, 2);
}

#[test]
fn a_flow_cannot_stay_new_by_sending_one_packet_at_a_time() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, 1_000, &flow(1, 1_000));
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 1_000));
    let mut served = [0; 3];
    for _ in 0..1_000 {
        let packet = bench.serve(Timestamp::ZERO).unwrap();
        served[packet.flow as usize] += 1;
        if packet.flow == 2 {
            bench.arrive(Timestamp::ZERO, 1, &flow(2, 1_000));
        }
    }
    assert!(served[1] >= 490, "{served:?}");
}

#[test]
fn an_empty_flow_is_new_again_only_after_a_round_of_the_others() {
    let mut bench = bench(PATIENT, UNLIMITED);
    for number in 1..=5 {
        bench.arrive(Timestamp::ZERO, 10, &flow(number, 1_514));
    }
    bench.serve_at([0; 5].into_iter());
    bench.arrive(Timestamp::ZERO, 1, &flow(6, 100));
    let mut served = bench.serve_at([0; 2].into_iter());
    // Its queue was found empty just now.
    bench.arrive(Timestamp::ZERO, 1, &flow(6, 100));
    served.extend(bench.serve_at([0; 5].into_iter()));
    let flows: Vec<u64> = served.iter().map(|packet| packet.flow).collect();
    assert_eq!(flows, [6, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn when_nothing_waits_all_flows_are_new_again() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, 3, &flow(1, 1_514));
    bench.arrive(Timestamp::ZERO, 3, &flow(2, 1_514));
    for _ in 0..6 {
        assert!(bench.serve(Timestamp::ZERO).is_some());
    }
    assert!((0..1_024).all(|queue| !bench.queue.rotation.is_listed(queue)));
}

#[test]
fn the_longest_queue_loses_half_of_its_bytes_when_all_hold_too_much() {
    let mut bench = bench(PATIENT, Capacity::Packets(110));
    bench.arrive(Timestamp::ZERO, 100, &flow(1, 1_000));
    bench.arrive(Timestamp::ZERO, 10, &flow(2, 1_000));
    assert_eq!(bench.events.overflowed.packets, 0);
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 1_000));
    assert_eq!(bench.events.overflowed.packets, 50);
    let left = numbers(&mut bench.queue);
    assert!((50..100).all(|number| left.contains(&number)));
    assert_eq!(left.len(), 50 + 11);
}

#[test]
fn no_more_than_a_batch_is_dropped_at_once_and_codel_goes_on_from_there() {
    for (arrivals, batch, drops) in [(1_000, 0, 1), (1_001, 64, 8)] {
        let mut bench = bench(DEFAULT, Capacity::Packets(1_000));
        bench.arrive(Timestamp::ZERO, arrivals, &flow(1, 1_000));
        assert_eq!(bench.events.overflowed.packets, batch);
        // Dropping begins at 110 ms. 100 ms ÷ √64 are 12.5 ms.
        bench.serve_at((10..210).step_by(10));
        assert_eq!(bench.events.early.packets, drops);
    }
}

#[test]
fn bytes_are_a_limit_as_well() {
    let mut bench = bench(PATIENT, Capacity::Bytes(Bytes::new(10_000)));
    bench.arrive(Timestamp::ZERO, 80, &flow(1, 100));
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 9_000));
    // The one that came is the longest, and half of it is all.
    assert_eq!(bench.events.overflowed.packets, 1);
    assert_eq!(bench.queue.backlog().bytes, Bytes::new(8_000));
    // Half of the longest is not enough here, and then the other is the longest.
    bench.arrive(Timestamp::ZERO, 20, &flow(1, 100));
    bench.arrive(Timestamp::ZERO, 1, &flow(2, 9_000));
    assert_eq!(bench.events.overflowed.packets, 1 + 50 + 1);
}

/// Packets that CoDel drops of a flow that has two packets waiting when one is served, 40 ms after
/// it came, while another flow has so many.
fn dropped_beside(others: u64) -> u64 {
    let mut bench = bench(DEFAULT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, others, &flow(1, 1_514).ecn(Ecn::Ect0));
    for turn in 0..20 {
        let now = Timestamp::from_millis(20 * turn);
        bench.arrive(now, 1, &flow(2, 1_514));
        while turn > 0 && bench.serve(now).is_some_and(|packet| packet.flow == 1) {}
    }
    bench.events.early.packets
}

#[test]
fn what_stands_is_judged_by_all_queues_together() {
    assert_eq!(dropped_beside(0), 0);
    assert!(dropped_beside(100) > 0);
}

#[test]
fn the_seed_says_which_flows_meet() {
    let queues = |seed| {
        let queue: FqCodel<u64> = FqCodel::new(DEFAULT, UNLIMITED, Rng::new(seed));
        [0, 1, 2].map(|flow| queue.classify(flow))
    };
    assert_eq!(queues(1), queues(1));
    assert_ne!(queues(1), queues(2));
}

#[test]
fn flows_are_spread_over_all_queues() {
    let parameters = spec::aqm::FqCodel {
        flows: 10,
        ..DEFAULT
    };
    let queue: FqCodel<u64> = FqCodel::new(parameters, UNLIMITED, Rng::new(1));
    let mut counts = [0_u32; 10];
    (0..10_000).for_each(|flow| counts[queue.classify(flow)] += 1);
    // Five standard deviations of a binomial with n = 10^4, p = 0.1.
    assert!(counts.iter().all(|n| n.abs_diff(1_000) < 150), "{counts:?}");
}

proptest! {
    #[test]
    fn a_single_flow_meets_exactly_codel(
        events in proptest::collection::vec(
            (0..20_u64, 0..6_u64, 1..3_000_u64, 0..4_usize),
            1..300,
        ),
        ecn in any::<bool>(),
        threshold in proptest::option::of(0..50_u64),
    ) {
        let ce_threshold = threshold.map(Duration::from_millis);
        let codel = spec::aqm::Codel { ecn, ce_threshold, ..DEFAULT.codel };
        let parameters = spec::aqm::FqCodel { codel, ..DEFAULT };
        let mut fair = Bench::new(FqCodel::new(parameters, UNLIMITED, Rng::new(1)));
        let mut plain = Bench::new(Codel::new(codel, UNLIMITED));
        let mut now = Timestamp::ZERO;
        for (gap, arrivals, size, ecn) in events {
            now += Duration::from_millis(gap);
            let packet = sized(size).ecn([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn]);
            fair.arrive(now, arrivals, &packet);
            plain.arrive(now, arrivals, &packet);
            for _ in 0..3 {
                prop_assert_eq!(fair.serve(now), plain.serve(now));
            }
            prop_assert_eq!(fair.queue.backlog(), plain.queue.backlog());
        }
        prop_assert_eq!(fair.events, plain.events);
    }
}
