//! Packets on their way to the link: a kernel that keeps departure times, exactly.

use bytes::BytesMut;
use link_sim::Packet;
use std::collections::VecDeque;
use units::Timestamp;

/// What a host has sent and the link has not got yet.
pub(super) struct Outgoing {
    packets: VecDeque<(Timestamp, Packet<BytesMut>)>,
    /// When what is sent now leaves; what has passed is now.
    pub(super) departure: Timestamp,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            departure: Timestamp::ZERO,
        }
    }

    /// In the order of departures, as `fq` keeps the packets of a flow.
    pub(super) fn push(&mut self, now: Timestamp, packet: Packet<BytesMut>) {
        let leaves = self.departure.max(now);
        let place = self.packets.partition_point(|(other, _)| *other <= leaves);
        self.packets.insert(place, (leaves, packet));
    }

    /// The next packet that leaves at `now`.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Packet<BytesMut>> {
        self.packets.front().filter(|(leaves, _)| *leaves <= now)?;
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    /// When the next packet leaves; what could leave already waits for the peer's address.
    pub(super) fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let leaves = self.packets.front().map(|(leaves, _)| *leaves);
        leaves.filter(|leaves| *leaves > now)
    }
}
