use super::discipline::QueuedPacket;
use crate::packet::Packet;
use crate::stats::Count;
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// Packets in the order in which they came, and how many bytes they are.
///
/// Its memory is at most four times what it holds, and [`KEPT`] packets: a fair queue has many of
/// these, and in time each may have been long.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    waiting: VecDeque<QueuedPacket<T>>,
    bytes: Bytes,
}

impl<T> Fifo<T> {
    pub(super) fn push(&mut self, now: Timestamp, packet: Packet<T>) {
        self.bytes += packet.size;
        self.waiting.push_back(QueuedPacket { packet, since: now });
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket<T>> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.size;
        self.give_back();
        Some(next)
    }

    /// The oldest.
    pub(super) fn front(&self) -> Option<&QueuedPacket<T>> {
        self.waiting.front()
    }

    pub(super) fn backlog(&self) -> Count {
        Count {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }

    /// Frees half of the memory when three quarters are not in use.
    fn give_back(&mut self) {
        let capacity = self.waiting.capacity();
        if capacity > KEPT && self.waiting.len() < capacity / 4 {
            self.waiting.shrink_to(capacity / 2);
        }
    }
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
}

/// What a discipline does whose packets all wait in `self.fifo`, up to `self.capacity`.
macro_rules! one_fifo {
    () => {
        fn backlog(&self) -> $crate::Count {
            self.fifo.backlog()
        }

        fn set_capacity(&mut self, capacity: $crate::spec::Capacity) {
            self.capacity = capacity;
        }

        fn take(&mut self) -> Option<QueuedPacket<T>> {
            self.fifo.pop()
        }
    };
}
pub(super) use one_fifo;

/// Memory for so many packets is not worth giving back.
const KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_back_when_the_queue_drains() {
        let mut fifo = Fifo::default();
        for number in 0..10_000 {
            fifo.push(Timestamp::ZERO, Packet::new(Bytes::new(1), number));
        }
        for number in 0..10_000 {
            assert_eq!(fifo.pop().map(|next| next.packet.payload), Some(number));
            let held = fifo.waiting.len();
            assert!(fifo.waiting.capacity() <= KEPT.max(4 * held + 4));
        }
        assert!(fifo.pop().is_none());
        assert_eq!(fifo.backlog(), Count::default());
    }
}
