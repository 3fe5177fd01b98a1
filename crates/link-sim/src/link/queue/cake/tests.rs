use super::*;
use crate::link::queue::fq_codel::FqCodel;
use crate::link::queue::tests::{Bench, sized};
use crate::packet::Ecn;
use core::time::Duration;
use std::collections::BTreeSet;

const UNLIMITED: Capacity = Capacity::Packets(u64::MAX);
const DEFAULT: spec::aqm::Cake = spec::aqm::Cake::DEFAULT;
/// One whose COBALT does nothing.
const PATIENT: spec::aqm::Cake = spec::aqm::Cake {
    rtt: Duration::from_secs(3_600),
};
/// At which the quantum is a full frame.
const FAST: Bandwidth = Bandwidth::from_bits_per_sec(100_000_000);

fn bench(spec: spec::aqm::Cake, capacity: Capacity) -> Bench<Cake<u64>> {
    Bench::new(Cake::new(spec, capacity, FAST, Rng::new(1)))
}

fn flow(flow: u64, size: u64) -> Packet<u64> {
    sized(size).flow(flow)
}

fn millis(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn a_turn_is_what_the_rate_carries_in_a_4096th_of_a_second_within_bounds() {
    for (rate, expected) in [("1mbit", 300), ("10mbit", 305), ("100mbit", 1_514)] {
        assert_eq!(quantum(rate.parse().unwrap()), Bytes::new(expected));
    }
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(Timestamp::ZERO, 6, &flow(1, 757));
    bench.arrive(Timestamp::ZERO, 3, &flow(2, 1_514));
    let served = bench.serve_at([0; 9].into_iter());
    let flows: Vec<u64> = served.iter().map(|packet| packet.flow).collect();
    assert_eq!(flows, [1, 1, 2, 1, 1, 2, 1, 1, 2]);
}

#[test]
fn a_new_rate_brings_its_quantum_and_its_times() {
    let mut queue: Cake<u64> = Cake::new(DEFAULT, UNLIMITED, FAST, Rng::new(1));
    let slow = "1mbit".parse().unwrap();
    queue.set_rate(slow);
    assert_eq!(queue.quantum, MIN_QUANTUM);
    assert_eq!(queue.parameters, Parameters::new(DEFAULT.rtt, slow));
}

#[test]
fn backlogged_flows_share_in_bytes_whatever_the_sizes_of_their_packets() {
    let mut bench = bench(PATIENT, UNLIMITED);
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
    assert!(most - least <= 1_514 + 9_000, "{sent:?}");
}

#[test]
fn the_longest_queue_loses_packets_until_all_fit() {
    let mut bench = bench(PATIENT, Capacity::Bytes(Bytes::new(10_000)));
    bench.arrive(Timestamp::ZERO, 6, &flow(1, 1_000));
    bench.arrive(Timestamp::ZERO, 4, &flow(2, 1_000));
    bench.arrive(Timestamp::ZERO, 1, &flow(3, 1_500));
    assert_eq!(bench.events.overflowed.packets, 2);
    let left = bench.serve_at([0; 9].into_iter());
    let of = |flow| left.iter().filter(|packet| packet.flow == flow).count();
    assert_eq!([1, 2, 3].map(of), [4, 4, 1]);
}

/// One packet every 50 ms, which waits for 40 ms. Signals are due at 140, 210.7, 268.4, … ms; only
/// the packets served at 40, 90 and 190 ms come before the next one.
#[test]
fn the_last_packet_of_a_queue_is_marked_but_never_dropped() {
    for (ecn, marks) in [(Ecn::NotEct, 0), (Ecn::Ect0, 17)] {
        let mut bench = bench(DEFAULT, UNLIMITED);
        for turn in 0..20 {
            bench.arrive(millis(50 * turn), 1, &flow(1, 1_000).ecn(ecn));
            assert!(bench.serve(millis(50 * turn + 40)).is_some());
        }
        assert_eq!(bench.events.early.packets, 0);
        assert_eq!(bench.events.marked.packets, marks);
    }
}

#[test]
fn a_standing_queue_is_thinned_by_drops_or_by_marks() {
    for (ecn, drops, marks) in [(Ecn::NotEct, 9, 0), (Ecn::Ect0, 0, 9)] {
        let mut bench = bench(DEFAULT, UNLIMITED);
        bench.arrive(millis(0), 100, &flow(1, 1_000).ecn(ecn));
        // Signals are due at 110, 180.7, 238.4, 288.4, 333.2, 374.0, 411.8, 447.1, 480.5 ms.
        bench.serve_at((10..500).step_by(10));
        assert_eq!(bench.events.early.packets, drops);
        assert_eq!(bench.events.marked.packets, marks);
    }
}

#[test]
fn an_empty_queue_stays_listed_until_its_state_is_forgotten() {
    let mut bench = bench(DEFAULT, UNLIMITED);
    bench.arrive(millis(0), 1, &flow(1, 1_000));
    bench.serve(millis(0));
    let queue = (bench.queue.hash.of(1) % 1_024) as usize;
    // Others are served all the time; each of their packets lets one empty queue decay.
    for at in 0..200 {
        bench.arrive(millis(at), 1, &flow(2, 1_000));
        bench.serve(millis(at));
        let is_kept = at < 100;
        assert_eq!(bench.queue.rotation.is_listed(queue), is_kept, "{at}");
        assert_eq!(bench.queue.flows[queue].is_decaying, is_kept);
    }
}

#[test]
fn a_queue_that_decays_is_new_when_it_is_filled_again() {
    let mut bench = bench(PATIENT, UNLIMITED);
    bench.arrive(millis(0), 1, &flow(1, 1_000));
    bench.arrive(millis(0), 10, &flow(2, 1_514));
    bench.serve_at([0; 4].into_iter());
    let queue = (bench.queue.hash.of(1) % 1_024) as usize;
    assert!(bench.queue.flows[queue].is_decaying);
    bench.arrive(millis(1), 1, &flow(1, 1_000));
    assert!(!bench.queue.flows[queue].is_decaying);
    assert_eq!(bench.serve(millis(1)).unwrap().flow, 1);
}

/// Of 64 flows with two packets each, how many do not send one in the first round.
fn late(queue: impl Discipline<u64>) -> usize {
    let mut bench = Bench::new(queue);
    for _ in 0..2 {
        (0..64).for_each(|number| bench.arrive(Timestamp::ZERO, 1, &flow(number, 1_514)));
    }
    let served = bench.serve_at([0; 64].into_iter());
    let flows: BTreeSet<u64> = served.iter().map(|packet| packet.flow).collect();
    64 - flows.len()
}

#[test]
fn flows_meet_where_there_are_no_sets() {
    let runs = 0..100;
    let plain = |seed| {
        late(FqCodel::new(
            spec::aqm::FqCodel::DEFAULT,
            UNLIMITED,
            Rng::new(seed),
        ))
    };
    let sets = |seed| late(Cake::new(DEFAULT, UNLIMITED, FAST, Rng::new(seed)));
    // 63 × 64 ÷ 2 pairs in 1,024 queues: 2.0 meet in the mean.
    let plain: usize = runs.clone().map(plain).sum();
    assert!((150..250).contains(&plain), "{plain}");
    assert_eq!(runs.map(sets).sum::<usize>(), 0);
}
