//! The packets of one packet number space: in flight, by number, and for a while those that were
//! declared lost; and when those left that do not count in flight.

use crate::quinn_proto_habits::MAX_TAIL;
use cc_core::{LostPacket, PacketStamp};
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// A packet that counts in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentPacket {
    pub(super) number: u64,
    pub(super) stamp: PacketStamp,
    pub(super) bytes: u16,
    /// The network path that it left on.
    pub(super) path: u64,
    pub(super) is_ack_eliciting: bool,
    /// Its loss says that it was too large, not that the path is congested (RFC 9000 §14.4).
    pub(super) is_mtu_probe: bool,
}

/// When a packet left that does not count in flight, and on which network path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    number: u64,
    pub(super) sent_at: Timestamp,
    pub(super) path: u64,
}

/// A packet that was declared lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lost {
    pub(super) packet: SentPacket,
    declared_at: Timestamp,
    pub(super) starts_range: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    InFlight,
    Acked,
    Lost,
    /// No longer waited for: nobody has to acknowledge it.
    Forgotten,
}

/// Ordered by number, which is also the order of sending.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    /// The first one is in flight.
    packets: VecDeque<(State, SentPacket)>,
    /// How many have been removed in front of them: what is added to an index to keep it.
    removed: u64,
    /// Those in flight, or in flight until lately, of which a later one has been acknowledged.
    overtaken: VecDeque<u64>,
    /// Where those begin that have left since the last ack-eliciting one, less what was forgotten
    /// of them; an index as above.
    tail: u64,
    /// Packets that do not count in flight, sent after one that does.
    others: VecDeque<Departure>,
    largest_acked: Option<u64>,
    lost: VecDeque<Lost>,
    /// The newest time of sending of a packet declared lost, and the one before it.
    newest_lost: [Option<Timestamp>; 2],
}

impl SentPackets {
    /// A packet has left, with a greater number than any before. If it is not ack-eliciting,
    /// [`Self::forget_of_tail`] is next.
    pub(super) fn push(&mut self, packet: SentPacket) {
        let is_ack_eliciting = packet.is_ack_eliciting;
        self.packets.push_back((State::InFlight, packet));
        if is_ack_eliciting {
            self.tail = self.end();
        }
    }

    fn end(&self) -> u64 {
        self.removed + self.packets.len() as u64
    }

    /// The packet that is no longer waited for, if any.
    ///
    /// The peer need not acknowledge packets that are not ack-eliciting, so of those that follow
    /// the last ack-eliciting one only some are waited for. quinn-proto forgets as many.
    pub(super) fn forget_of_tail(&mut self) -> Option<SentPacket> {
        self.tail = self.tail.max(self.removed);
        if self.end() - self.tail <= MAX_TAIL {
            return None;
        }
        let (state, oldest) = &mut self.packets[(self.tail - self.removed) as usize];
        self.tail += 1;
        let forgotten = (*state == State::InFlight).then_some(*oldest);
        if forgotten.is_some() {
            *state = State::Forgotten;
        }
        while self
            .packets
            .front()
            .is_some_and(|(state, _)| *state == State::Forgotten)
        {
            self.packets.pop_front();
            self.removed += 1;
        }
        forgotten
    }

    /// Whether no packet is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What is in flight on a path.
    pub(super) fn in_flight(&self, path: u64) -> Bytes {
        let packets = self.packets.iter();
        let in_flight =
            packets.filter(|(state, packet)| *state == State::InFlight && packet.path == path);
        Bytes::new(in_flight.map(|(_, packet)| u64::from(packet.bytes)).sum())
    }

    /// A packet has left that does not count in flight, with a greater number than any before.
    ///
    /// Its own acknowledgement says nothing about a round trip; that of one in flight before it
    /// does (RFC 9002 §5.1).
    pub(super) fn push_other(&mut self, number: u64, sent_at: Timestamp, path: u64) {
        if self.packets.is_empty() {
            return;
        }
        if self.others.len() == MAX_OTHERS {
            self.others.pop_front();
        }
        self.others.push_back(Departure {
            number,
            sent_at,
            path,
        });
    }

    /// When the packet left that has this number and does not count in flight. Those before it are
    /// forgotten.
    pub(super) fn take_other(&mut self, number: u64) -> Option<Departure> {
        let before = self.others.partition_point(|other| other.number < number);
        self.others.drain(..before);
        let other = self.others.front().copied();
        other.filter(|other| other.number == number)
    }

    /// The largest number that the peer has acknowledged.
    pub(super) fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// The packets in flight that the peer acknowledges with these numbers are: they leave flight.
    pub(super) fn take_acked(
        &mut self,
        (smallest, largest): (u64, u64),
        mut acked: impl FnMut(SentPacket),
    ) {
        let start = self.index(smallest);
        for (state, packet) in self.packets.range_mut(start..) {
            if packet.number > largest {
                break;
            }
            if *state == State::InFlight {
                *state = State::Acked;
                acked(*packet);
            }
        }
    }

    /// Those declared lost that the peer acknowledges with these numbers: they were late.
    pub(super) fn take_late(
        &mut self,
        (smallest, largest): (u64, u64),
        mut late: impl FnMut(Lost),
    ) {
        let start = self
            .lost
            .partition_point(|lost| lost.packet.number < smallest);
        let end = self
            .lost
            .partition_point(|lost| lost.packet.number <= largest);
        self.lost.drain(start..end).for_each(&mut late);
    }

    /// All ranges of an ACK have been taken whose largest number this is. Whether it is larger than
    /// any before.
    pub(super) fn on_largest_acked(&mut self, largest: u64) -> bool {
        let former = self.largest_acked;
        if former >= Some(largest) {
            return false;
        }
        // The former largest one is in flight still if there was no room for its range.
        let start = former.map_or(0, |former| self.index(former));
        let end = self.index(largest);
        let passed = self.packets.range(start..end).zip(start as u64..);
        let overtaken = passed.filter(|((state, _), _)| *state == State::InFlight);
        let removed = self.removed;
        self.overtaken
            .extend(overtaken.map(|(_, index)| removed + index));
        self.largest_acked = Some(largest);
        true
    }

    /// The oldest packet in flight of which a later one has been acknowledged.
    pub(super) fn oldest_overtaken(&mut self) -> Option<&SentPacket> {
        while let Some(&index) = self.overtaken.front() {
            let index = index.checked_sub(self.removed).map(|index| index as usize);
            if let Some(index) = index
                && self.packets[index].0 == State::InFlight
            {
                return Some(&self.packets[index].1);
            }
            self.overtaken.pop_front();
        }
        None
    }

    /// Declares lost those at the front of the overtaken that are, in the order of sending.
    pub(super) fn take_lost(
        &mut self,
        now: Timestamp,
        is_lost: impl Fn(&SentPacket) -> bool,
        mut lost: impl FnMut(Lost),
    ) {
        let mut previous = None;
        while self.oldest_overtaken().is_some_and(&is_lost) {
            let index = self.overtaken.pop_front().expect("one was looked at");
            let (state, packet) = &mut self.packets[(index - self.removed) as usize];
            *state = State::Lost;
            let entry = Lost {
                packet: *packet,
                declared_at: now,
                starts_range: previous.is_none_or(|previous| previous + 1 != index),
            };
            previous = Some(index);
            let sent_at = Some(packet.stamp.sent_at);
            if self.newest_lost[0] != sent_at {
                self.newest_lost = [sent_at, self.newest_lost[0]];
            }
            lost(entry);
            if self.lost.len() == MAX_LOST {
                self.lost.pop_front();
            }
            self.lost.push_back(entry);
        }
    }

    /// The newest time of sending up to which all packets that were overtaken have been
    /// acknowledged or declared lost.
    pub(super) fn lost_until(&mut self) -> Option<Timestamp> {
        let [newest, before] = self.newest_lost;
        let oldest = self.oldest_overtaken().map(|packet| packet.stamp.sent_at);
        if oldest.is_some() && oldest == newest {
            before
        } else {
            newest
        }
    }

    /// Drops what has left flight in front of all that has not. `each` gets it in order.
    pub(super) fn drop_front(&mut self, mut each: impl FnMut(State, &SentPacket)) {
        while let Some((state, packet)) = self.packets.front()
            && *state != State::InFlight
        {
            each(*state, packet);
            self.packets.pop_front();
            self.removed += 1;
        }
        if self.packets.is_empty() {
            // Most connections are idle most of the time.
            self.packets = VecDeque::new();
            self.overtaken = VecDeque::new();
            self.others = VecDeque::new();
        }
    }

    /// Forgets packets that were declared lost before `time`.
    pub(super) fn forget_lost(&mut self, time: Timestamp) {
        while let Some(lost) = self.lost.front()
            && lost.declared_at < time
        {
            self.lost.pop_front();
        }
        if self.lost.is_empty() {
            self.lost = VecDeque::new();
        }
    }

    /// Forgets all packets. `discarded` gets those that were in flight.
    pub(super) fn clear(&mut self, mut discarded: impl FnMut(&SentPacket)) {
        for (state, packet) in &self.packets {
            if *state == State::InFlight {
                discarded(packet);
            }
        }
        *self = Self::default();
    }

    /// Of the first packet with this number or a greater one.
    fn index(&self, number: u64) -> usize {
        let first = self.packets.front().map_or(0, |(_, first)| first.number);
        // Numbers rise by at least one, and in a transfer by just that.
        let most = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let most = most.min(self.packets.len());
        let is_before = |index: &usize| self.packets[*index].1.number < number;
        let near = most.saturating_sub(NEAR)..most;
        match near.clone().rev().find(is_before) {
            Some(index) => index + 1,
            None if near.start == 0 => 0,
            None => self
                .packets
                .partition_point(|(_, packet)| packet.number < number),
        }
    }
}

impl Lost {
    /// In cc-core's words.
    pub(super) fn report(&self) -> LostPacket {
        LostPacket {
            stamp: self.packet.stamp,
            bytes: self.packet.bytes(),
            starts_range: self.starts_range,
        }
    }
}

impl SentPacket {
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes.into())
    }

    pub(super) fn departure(&self) -> Departure {
        Departure {
            number: self.number,
            sent_at: self.stamp.sent_at,
            path: self.path,
        }
    }
}

/// Lost packets that are remembered: of those beyond it the oldest are forgotten.
const MAX_LOST: usize = 16_384;

/// Packets that are tried before a binary search, which misses the cache at each step.
const NEAR: usize = 4;

/// ACK-only packets that are remembered until a later packet is acknowledged: those of 95 ms at 1
/// Gbit/s, 96 KiB. Of those beyond it the oldest are forgotten, and a sample with each.
const MAX_OTHERS: usize = 4_096;

#[cfg(test)]
mod tests;
