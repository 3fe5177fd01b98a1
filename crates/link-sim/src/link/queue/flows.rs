use super::discipline::QueuedPacket;
use super::fifo::Fifo;
use crate::packet::Packet;
use crate::stats::Count;
use std::collections::BTreeSet;
use units::{Bytes, Rng, Timestamp};

/// The queues of many flows: what waits in each, in all together, and which holds most.
#[derive(Debug)]
pub(super) struct FlowQueues<T> {
    queues: Box<[Fifo<T>]>,
    total: Count,
    /// Every queue that holds something, by its length.
    lengths: BTreeSet<(Bytes, usize)>,
}

impl<T> FlowQueues<T> {
    pub(super) fn new(count: usize) -> Self {
        Self {
            queues: core::iter::repeat_with(Fifo::default).take(count).collect(),
            total: Count::default(),
            lengths: BTreeSet::new(),
        }
    }

    pub(super) fn push(&mut self, index: usize, now: Timestamp, packet: Packet<T>) {
        self.total += packet.size;
        self.change(index, |queue| queue.push(now, packet));
    }

    pub(super) fn pop(&mut self, index: usize) -> Option<QueuedPacket<T>> {
        let next = self.change(index, Fifo::pop)?;
        self.total -= next.packet.size;
        Some(next)
    }

    pub(super) fn backlog(&self, index: usize) -> Count {
        self.queues[index].backlog()
    }

    pub(super) fn total(&self) -> Count {
        self.total
    }

    /// The queue with most bytes.
    pub(super) fn longest(&self) -> Option<usize> {
        self.lengths.last().map(|(_, index)| *index)
    }

    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Fifo<T>) -> R) -> R {
        let queue = &mut self.queues[index];
        let before = queue.backlog();
        let result = change(queue);
        let after = queue.backlog();
        if before.packets > 0 {
            self.lengths.remove(&(before.bytes, index));
        }
        if after.packets > 0 {
            self.lengths.insert((after.bytes, index));
        }
        result
    }
}

/// Hashes flows so that which of them meet in one queue depends on the seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowHash {
    perturbation: u64,
}

impl FlowHash {
    pub(super) fn new(perturbation: u64) -> Self {
        Self { perturbation }
    }

    pub(super) fn of(self, flow: u64) -> u64 {
        Rng::derive(self.perturbation, flow).next_u64()
    }
}

/// What a flow may still send in its turn, in bytes; less than none when it sent too much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deficit(i64);

impl Deficit {
    pub(super) fn is_spent(self) -> bool {
        self.0 <= 0
    }

    /// Begins with one quantum.
    pub(super) fn begin(&mut self, quantum: Bytes) {
        self.0 = signed(quantum);
    }

    pub(super) fn add(&mut self, quantum: Bytes) {
        self.0 += signed(quantum);
    }

    pub(super) fn charge(&mut self, size: Bytes) {
        self.0 -= signed(size.min(MAX_CHARGED));
    }
}

/// A size that is no more than [`MAX_CHARGED`] or a quantum.
fn signed(size: Bytes) -> i64 {
    i64::try_from(size.get()).expect("sizes here are far below 2^63")
}

/// More than any IP packet and its frame. Whatever else goes through a link may not cost a flow
/// any number of rounds.
const MAX_CHARGED: Bytes = Bytes::new(1 << 17);

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queues: &mut FlowQueues<()>, index: usize, size: u64) {
        queues.push(index, Timestamp::ZERO, Packet::new(Bytes::new(size), ()));
    }

    #[test]
    fn the_longest_queue_is_the_one_with_most_bytes() {
        let mut queues = FlowQueues::new(3);
        assert_eq!(queues.longest(), None);
        push(&mut queues, 0, 100);
        push(&mut queues, 0, 100);
        push(&mut queues, 2, 300);
        assert_eq!(queues.longest(), Some(2));
        push(&mut queues, 0, 101);
        assert_eq!(queues.longest(), Some(0));
        queues.pop(0).unwrap();
        assert_eq!(queues.longest(), Some(2));
        queues.pop(2).unwrap();
        assert_eq!(queues.longest(), Some(0));
        assert_eq!(queues.total(), queues.backlog(0));
        queues.pop(0).unwrap();
        queues.pop(0).unwrap();
        assert!(queues.pop(0).is_none());
        assert_eq!((queues.longest(), queues.total()), (None, Count::default()));
    }

    #[test]
    fn empty_packets_have_a_place_too() {
        let mut queues = FlowQueues::new(1);
        push(&mut queues, 0, 0);
        assert_eq!(queues.longest(), Some(0));
        queues.pop(0).unwrap();
        assert_eq!(queues.longest(), None);
    }
}
