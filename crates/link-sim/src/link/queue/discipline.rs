use crate::packet::{Ecn, Packet};
use crate::spec::{Aqm, Capacity};
use crate::stats::Count;
use units::{Bandwidth, Bytes, Timestamp};

/// A queueing discipline: which packet is sent next, and which is dropped or marked.
///
/// A packet in transmission is not in the queue any more. Time does not go backwards.
pub(in crate::link) trait Discipline<T> {
    /// Takes a packet in, and counts what is dropped for it, the packet itself or others.
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents);

    /// The packet that is to be transmitted at `now`; `None` only when nothing is left, as what
    /// was there may have been dropped.
    fn dequeue(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>>;

    fn backlog(&self) -> Count;

    /// Holds so much from now on; what waits already stays.
    fn set_capacity(&mut self, capacity: Capacity);

    /// The link sends at this rate from now on. Nothing to most disciplines.
    fn set_rate(&mut self, _: Bandwidth) {}

    /// The next packet without any dropping, for another discipline that takes over.
    fn take(&mut self) -> Option<QueuedPacket<T>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::link) struct QueueConfig {
    pub(in crate::link) aqm: Aqm,
    pub(in crate::link) capacity: Capacity,
    /// The mean rate at which it is served.
    pub(in crate::link) rate: Bandwidth,
}

impl Capacity {
    /// Whether a packet of `size` fits beside `backlog`.
    pub(in crate::link) fn fits(self, backlog: Count, size: Bytes) -> bool {
        match self {
            Self::Packets(max) => backlog.packets < max,
            Self::Bytes(max) => backlog.bytes.saturating_add(size) <= max,
        }
    }

    pub(in crate::link) fn is_exceeded_by(self, backlog: Count) -> bool {
        match self {
            Self::Packets(max) => backlog.packets > max,
            Self::Bytes(max) => backlog.bytes > max,
        }
    }
}

#[derive(Debug)]
pub(in crate::link) struct QueuedPacket<T> {
    pub(in crate::link) packet: Packet<T>,
    pub(in crate::link) since: Timestamp,
}

/// Packets that a discipline dropped or marked since the link last added them to its statistics.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::link) struct QueueEvents {
    /// Dropped because the queue was full.
    pub(in crate::link) overflowed: Count,
    /// Dropped although there was room.
    pub(in crate::link) early: Count,
    /// Marked Congestion Experienced.
    pub(in crate::link) marked: Count,
}

impl QueueEvents {
    /// A packet is dropped because there is no room.
    pub(in crate::link) fn overflow<T>(&mut self, packet: &Packet<T>) {
        self.overflowed += packet.size;
    }

    /// A packet is dropped so that its sender slows down.
    pub(in crate::link) fn drop<T>(&mut self, packet: &Packet<T>) {
        self.early += packet.size;
    }

    /// Marks a packet instead, if it can be marked. One that is marked already counts once.
    pub(in crate::link) fn try_mark<T>(&mut self, packet: &mut Packet<T>) -> bool {
        if matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
            packet.ecn = Ecn::Ce;
            self.marked += packet.size;
        }
        packet.ecn == Ecn::Ce
    }
}
