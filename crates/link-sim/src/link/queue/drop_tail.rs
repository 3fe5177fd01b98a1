use super::{Capacity, Discipline, Fifo, Log, Waiting};
use crate::Packet;
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
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, log: &mut Log) {
        if self.capacity.fits(self.backlog(), packet.size) {
            self.fifo.push(now, packet);
        } else {
            log.overflow(&packet);
        }
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut Log) -> Option<Waiting<T>> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }

    fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    fn take(&mut self) -> Option<Waiting<T>> {
        self.fifo.pop()
    }
}
