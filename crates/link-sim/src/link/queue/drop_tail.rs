use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::Fifo;
use crate::packet::Packet;
use crate::spec::Capacity;
use crate::stats::Count;
use units::Timestamp;

/// First in, first out; what does not fit is dropped (tc's `pfifo` and `bfifo`).
#[derive(Debug)]
pub(super) struct DropTail<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
}

impl<T> DropTail<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            fifo: Fifo::default(),
            capacity,
        }
    }
}

impl<T> Discipline<T> for DropTail<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        if self.capacity.fits(self.backlog(), packet.size) {
            self.fifo.push(now, packet);
        } else {
            events.overflow(&packet);
        }
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }

    fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    fn take(&mut self) -> Option<QueuedPacket<T>> {
        self.fifo.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::queue::tests::{numbers, offer};

    #[test]
    fn the_newest_is_dropped_in_packets() {
        let mut queue = DropTail::new(Capacity::Packets(3));
        let events = offer(&mut queue, &[100; 5]);
        assert_eq!(events.overflowed.packets, 2);
        assert_eq!(numbers(&mut queue), [0, 1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_dropped_in_bytes_and_a_smaller_one_still_taken() {
        let mut queue = DropTail::new(Capacity::Bytes(units::Bytes::new(1_000)));
        let events = offer(&mut queue, &[400, 1_001, 601, 600, 1]);
        assert_eq!(events.overflowed.bytes.get(), 1_001 + 601 + 1);
        assert_eq!(numbers(&mut queue), [0, 3]);
    }

    #[test]
    fn a_smaller_capacity_keeps_what_waits() {
        let mut queue = DropTail::new(Capacity::Packets(5));
        offer(&mut queue, &[100; 5]);
        queue.set_capacity(Capacity::Packets(2));
        offer(&mut queue, &[100]);
        assert_eq!(numbers(&mut queue), [0, 1, 2, 3, 4]);
    }
}
