use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::{Fifo, one_fifo};
use crate::packet::Packet;
use crate::spec::Capacity;
use crate::stats::Count;
use units::Timestamp;

/// First in, first out, and what does not fit is dropped: what comes, as in tc's `pfifo` and
/// `bfifo`, or the oldest (`pfifo_head_drop`), so that the sender detects the loss a queue's delay
/// earlier. What would not fit into an empty queue pushes out nothing.
#[derive(Debug)]
pub(super) struct DropQueue<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
    drops_oldest: bool,
}

impl<T> DropQueue<T> {
    pub(super) fn new(capacity: Capacity, drops_oldest: bool) -> Self {
        let fifo = Fifo::default();
        Self {
            fifo,
            capacity,
            drops_oldest,
        }
    }
}

impl<T> Discipline<T> for DropQueue<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        if self.drops_oldest && self.capacity.fits(Count::default(), packet.size) {
            while !self.capacity.fits(self.backlog(), packet.size)
                && let Some(oldest) = self.fifo.pop()
            {
                events.overflow(&oldest.packet);
            }
        } else if !self.capacity.fits(self.backlog(), packet.size) {
            return events.overflow(&packet);
        }
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        self.fifo.pop()
    }

    one_fifo!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::queue::tests::{numbers, offer};

    #[test]
    fn the_newest_is_dropped_in_packets() {
        let mut queue = DropQueue::new(Capacity::Packets(3), false);
        let events = offer(&mut queue, &[100; 5]);
        assert_eq!(events.overflowed.packets, 2);
        assert_eq!(numbers(&mut queue), [0, 1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_dropped_in_bytes_and_a_smaller_one_still_taken() {
        let mut queue = DropQueue::new(Capacity::Bytes(units::Bytes::new(1_000)), false);
        let events = offer(&mut queue, &[400, 1_001, 601, 600, 1]);
        assert_eq!(events.overflowed.bytes.get(), 1_001 + 601 + 1);
        assert_eq!(numbers(&mut queue), [0, 3]);
    }

    #[test]
    fn a_smaller_capacity_keeps_what_waits() {
        let mut queue = DropQueue::new(Capacity::Packets(5), false);
        offer(&mut queue, &[100; 5]);
        queue.set_capacity(Capacity::Packets(2));
        offer(&mut queue, &[100]);
        assert_eq!(numbers(&mut queue), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_oldest_make_room_in_packets() {
        let mut queue = DropQueue::new(Capacity::Packets(3), true);
        let events = offer(&mut queue, &[100; 5]);
        assert_eq!(events.overflowed.packets, 2);
        assert_eq!(numbers(&mut queue), [2, 3, 4]);
    }

    #[test]
    fn as_many_of_the_oldest_make_room_as_a_large_packet_needs() {
        let mut queue = DropQueue::new(Capacity::Bytes(units::Bytes::new(1_000)), true);
        let events = offer(&mut queue, &[400, 300, 300, 600]);
        assert_eq!(events.overflowed.bytes.get(), 700);
        assert_eq!(queue.backlog().bytes.get(), 900);
        assert_eq!(numbers(&mut queue), [2, 3]);
    }

    #[test]
    fn a_packet_larger_than_the_capacity_pushes_out_nothing() {
        let mut queue = DropQueue::new(Capacity::Bytes(units::Bytes::new(1_000)), true);
        let events = offer(&mut queue, &[400, 1_001, 600]);
        assert_eq!(events.overflowed.bytes.get(), 1_001);
        assert_eq!(numbers(&mut queue), [0, 2]);
    }
}
