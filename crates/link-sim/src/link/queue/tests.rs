//! What the tests of several disciplines share.

use super::*;

/// Offers packets of these sizes at time zero, numbered from 0.
pub(super) fn offer(queue: &mut impl Discipline<u64>, sizes: &[u64]) -> Log {
    let mut log = Log::default();
    for (number, size) in (0..).zip(sizes) {
        let packet = Packet::new(Bytes::new(*size), number);
        queue.enqueue(Timestamp::ZERO, packet, &mut log);
    }
    log
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
    pub(super) log: Log,
    arrived: u64,
}

impl<D: Discipline<u64>> Bench<D> {
    pub(super) fn new(queue: D) -> Self {
        Self {
            queue,
            log: Log::default(),
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
            self.queue.enqueue(at, packet, &mut self.log);
        }
    }

    pub(super) fn serve(&mut self, at: Timestamp) -> Option<Packet<u64>> {
        let waiting = self.queue.dequeue(at, &mut self.log)?;
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
