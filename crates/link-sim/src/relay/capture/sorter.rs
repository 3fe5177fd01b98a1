//! Packets in the order of their times.
//!
//! The relay reads a datagram after the kernel received it, and may have sent others in between:
//! what it writes down goes back in time by as long as one of its turns takes.

use super::block::Side;
use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use std::collections::BinaryHeap;
use units::Timestamp;

/// Holds packets back until nothing earlier is to be expected.
#[derive(Debug)]
pub(super) struct Sorter {
    held: BinaryHeap<Reverse<PendingPacket>>,
    newest: Timestamp,
    pushed: u64,
}

#[derive(Debug)]
pub(super) struct PendingPacket {
    pub(super) at: Timestamp,
    number: u64,
    pub(super) side: Side,
    pub(super) packet: Vec<u8>,
}

impl Sorter {
    pub(super) fn new() -> Self {
        Self {
            held: BinaryHeap::new(),
            newest: Timestamp::ZERO,
            pushed: 0,
        }
    }

    pub(super) fn push(&mut self, side: Side, at: Timestamp, packet: Vec<u8>) {
        let number = self.pushed;
        self.pushed += 1;
        self.newest = self.newest.max(at);
        self.held.push(Reverse(PendingPacket {
            at,
            number,
            side,
            packet,
        }));
    }

    /// The next packet, if it was held back for long enough or too many are.
    pub(super) fn pop(&mut self) -> Option<PendingPacket> {
        let Reverse(first) = self.held.peek()?;
        let is_settled = self.newest.since(first.at) >= HORIZON || self.held.len() > MAX_HELD;
        if is_settled { self.pop_any() } else { None }
    }

    pub(super) fn pop_any(&mut self) -> Option<PendingPacket> {
        self.held.pop().map(|Reverse(held)| held)
    }
}

impl Ord for PendingPacket {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for PendingPacket {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PendingPacket {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PendingPacket {}

/// Longer than a turn of a relay that is not in trouble.
const HORIZON: Duration = Duration::from_millis(20);
/// 20 ms of 1 Gbit/s, seen on both sides, are 7,000 packets.
const MAX_HELD: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn push(sorter: &mut Sorter, millis: u64, label: u8) {
        sorter.push(Side::Client, Timestamp::from_millis(millis), vec![label]);
    }

    #[test]
    fn packets_come_out_by_time_once_nothing_earlier_is_expected() {
        let mut sorter = Sorter::new();
        for (millis, label) in [(5, 0), (3, 1), (5, 2), (24, 3)] {
            push(&mut sorter, millis, label);
        }
        assert_eq!(sorter.pop().map(|held| held.packet), Some(vec![1]));
        assert!(sorter.pop().is_none());
        push(&mut sorter, 4, 4);
        push(&mut sorter, 25, 5);
        let settled: Vec<Vec<u8>> =
            core::iter::from_fn(|| sorter.pop().map(|held| held.packet)).collect();
        assert_eq!(settled, [[4], [0], [2]]);
        let rest: Vec<Vec<u8>> =
            core::iter::from_fn(|| sorter.pop_any().map(|held| held.packet)).collect();
        assert_eq!(rest, [[3], [5]]);
    }

    #[test]
    fn it_holds_a_bounded_number() {
        let mut sorter = Sorter::new();
        for _ in 0..=MAX_HELD {
            push(&mut sorter, 1, 0);
        }
        assert!(sorter.pop().is_some());
        assert!(sorter.pop().is_none());
        assert_eq!(sorter.held.len(), MAX_HELD);
    }
}
