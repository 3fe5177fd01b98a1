//! What the tests of several disciplines share.

use super::*;
use crate::packet::Ecn;
use crate::spec::Capacity;
use crate::spec::tests::aqms;
use core::time::Duration;
use proptest::prelude::*;
use units::{Bandwidth, Bytes};

/// Offers packets of these sizes at time zero, numbered from 0.
pub(super) fn offer(queue: &mut impl Discipline<u64>, sizes: &[u64]) -> QueueEvents {
    let mut events = QueueEvents::default();
    for (number, size) in (0..).zip(sizes) {
        let packet = Packet::new(Bytes::new(*size), number);
        queue.enqueue(Timestamp::ZERO, packet, &mut events);
    }
    events
}

/// The numbers of what is in the queue, in its order.
pub(super) fn numbers(queue: &mut impl Discipline<u64>) -> Vec<u64> {
    core::iter::from_fn(|| queue.take())
        .map(|waiting| waiting.packet.payload)
        .collect()
}

/// A queue, its log, and the number of the next packet.
pub(super) struct Bench<D> {
    pub(super) queue: D,
    pub(super) events: QueueEvents,
    arrived: u64,
}

impl<D: Discipline<u64>> Bench<D> {
    pub(super) fn new(queue: D) -> Self {
        Self {
            queue,
            events: QueueEvents::default(),
            arrived: 0,
        }
    }

    /// Packets arrive that are like this one, but numbered.
    pub(super) fn arrive(&mut self, at: Timestamp, count: u64, like: &Packet<u64>) {
        for _ in 0..count {
            let packet = Packet {
                payload: self.arrived,
                ..like.clone()
            };
            self.arrived += 1;
            self.queue.enqueue(at, packet, &mut self.events);
        }
    }

    pub(super) fn serve(&mut self, at: Timestamp) -> Option<Packet<u64>> {
        let waiting = self.queue.dequeue(at, &mut self.events)?;
        Some(waiting.packet)
    }

    /// What is served at these milliseconds.
    pub(super) fn serve_at(&mut self, millis: impl Iterator<Item = u64>) -> Vec<Packet<u64>> {
        millis
            .filter_map(|at| self.serve(Timestamp::from_millis(at)))
            .collect()
    }
}

/// A packet of so many bytes.
pub(super) fn sized(size: u64) -> Packet<u64> {
    Packet::new(Bytes::new(size), 0)
}

/// What happens to a queue next.
#[derive(Debug, Clone)]
enum Step {
    Arrive { size: u64, ecn: Ecn, flow: u64 },
    Serve,
    Wait(Duration),
    Resize(Capacity),
    Pace(Bandwidth),
}

fn steps() -> impl Strategy<Value = Step> {
    let ecn = proptest::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let size = prop_oneof![4 => 1..3_000_u64, 1 => 1..1_u64 << 40];
    // From nanoseconds to centuries.
    let wait = (any::<u64>(), 8..u64::BITS).prop_map(|(bits, less)| bits >> less);
    prop_oneof![
        8 => (size, ecn, 0..20_u64).prop_map(|(size, ecn, flow)| Step::Arrive { size, ecn, flow }),
        6 => Just(Step::Serve),
        4 => wait.prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        1 => capacities().prop_map(Step::Resize),
        1 => (1..1_250_000_000_000_u64)
            .prop_map(|rate| Step::Pace(Bandwidth::from_bytes_per_sec(rate))),
    ]
}

fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        (1..500_u64).prop_map(Capacity::Packets),
        (1..1_000_000_u64).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
    ]
}

proptest! {
    /// Any parameters and any schedule: every packet is served once, or dropped, or waits.
    #[test]
    fn every_discipline_keeps_its_books_under_any_schedule(
        aqm in aqms(),
        capacity in capacities(),
        steps in proptest::collection::vec(steps(), 1..400),
        seed in any::<u64>(),
    ) {
        let rate = Bandwidth::from_bytes_per_sec(1_250_000);
        let mut queue: Queue<u64> = Queue::new(QueueConfig { aqm, capacity, rate }, seed);
        let (mut now, mut events) = (Timestamp::ZERO, QueueEvents::default());
        let (mut arrived, mut served) = (Count::default(), Count::default());
        for step in steps {
            match step {
                Step::Arrive { size, ecn, flow } => {
                    let packet = Packet::new(Bytes::new(size), arrived.packets);
                    arrived += packet.size;
                    queue.enqueue(now, packet.ecn(ecn).flow(flow), &mut events);
                }
                Step::Serve => match queue.dequeue(now, &mut events) {
                    Some(waiting) => {
                        prop_assert!(waiting.since <= now);
                        served += waiting.packet.size;
                    }
                    None => prop_assert_eq!(queue.backlog(), Count::default()),
                },
                Step::Wait(time) => now += time,
                Step::Resize(capacity) => {
                    queue.set(now, QueueConfig { aqm, capacity, rate }, seed, &mut events);
                }
                Step::Pace(rate) => {
                    queue.set(now, QueueConfig { aqm, capacity, rate }, seed, &mut events);
                }
            }
            let gone = served + events.overflowed + events.early;
            prop_assert_eq!(arrived, gone + queue.backlog());
        }
    }
}
