use super::{Capacity, Discipline, Fifo, Log, Waiting};
use crate::Packet;
use crate::stats::Count;
use units::Timestamp;

/// First in, first out; what comes to a full queue pushes out the oldest (tc's
/// `pfifo_head_drop`), so that the sender hears of it a queue's delay earlier.
#[derive(Debug)]
pub(super) struct DropHead<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
}

impl<T> DropHead<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            fifo: Fifo::default(),
            capacity,
        }
    }
}

impl<T> Discipline<T> for DropHead<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, log: &mut Log) {
        while !self.capacity.fits(self.backlog(), packet.size) {
            match self.fifo.pop() {
                Some(oldest) => log.overflow(&oldest.packet),
                None => return log.overflow(&packet),
            }
        }
        self.fifo.push(now, packet);
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
