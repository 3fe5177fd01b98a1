use crate::Packet;
use crate::stats::Count;
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// A first-in first-out queue that refuses what does not fit.
///
/// A packet in transmission is not in the queue any more.
#[derive(Debug)]
pub(super) struct DropTail<T> {
    capacity: Capacity,
    waiting: VecDeque<Waiting<T>>,
    bytes: Bytes,
}

/// What a queue holds at most.
#[derive(Debug, Clone, Copy)]
pub(super) enum Capacity {
    Packets(u64),
    Bytes(Bytes),
}

/// A packet in the queue.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) packet: Packet<T>,
    /// When it came.
    pub(super) since: Timestamp,
}

impl<T> DropTail<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    pub(super) fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    /// Takes the packet and answers what waits now, or gives it back.
    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<T>,
    ) -> Result<Count, Packet<T>> {
        let fits = match self.capacity {
            Capacity::Packets(most) => self.backlog().packets < most,
            Capacity::Bytes(most) => self.bytes.saturating_add(packet.size) <= most,
        };
        if !fits {
            return Err(packet);
        }
        self.bytes += packet.size;
        self.waiting.push_back(Waiting { packet, since: now });
        Ok(self.backlog())
    }

    /// The packet that is next to be transmitted.
    pub(super) fn dequeue(&mut self) -> Option<Waiting<T>> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.size;
        Some(next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What waits.
    pub(super) fn backlog(&self) -> Count {
        Count {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }
}
