use super::Waiting;
use crate::Packet;
use crate::stats::Count;
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// Packets in the order in which they came, and how many bytes they are.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: Bytes,
}

impl<T> Fifo<T> {
    pub(super) fn push(&mut self, now: Timestamp, packet: Packet<T>) {
        self.bytes += packet.size;
        self.waiting.push_back(Waiting { packet, since: now });
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.size;
        Some(next)
    }

    /// The oldest.
    pub(super) fn front(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
    }

    pub(super) fn backlog(&self) -> Count {
        Count {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
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
