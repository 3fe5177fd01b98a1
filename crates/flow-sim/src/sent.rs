//! Packets that have left: which are in flight, which were declared lost.

use cc_core::{LostPacket, PacketStamp};
use core::ops::Range;
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Timestamp};

/// A packet in flight.
#[derive(Debug, Clone)]
pub(crate) struct SentPacket {
    pub(crate) stamp: PacketStamp,
    pub(crate) bytes: Bytes,
    pub(crate) span: Range<u64>,
}

/// Packets in flight by number, and for a while those that were declared lost.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    /// Number of the first entry of `flying`.
    first: u64,
    /// `None` where a packet is no longer in flight; the first entry always is.
    flying: VecDeque<Option<SentPacket>>,
    lost: BTreeMap<u64, (LostPacket, Range<u64>)>,
    count: u64,
    bytes: Bytes,
}

impl SentPackets {
    /// The number that the next packet gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.first + self.flying.len() as u64
    }

    /// Packets in flight.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Their bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn push(&mut self, packet: SentPacket) {
        self.bytes += packet.bytes;
        self.flying.push_back(Some(packet));
        self.count += 1;
    }

    /// The oldest packet in flight.
    pub(crate) fn oldest(&self) -> Option<&SentPacket> {
        self.flying.front()?.as_ref()
    }

    /// Numbers and packets in flight up to and including `largest`, oldest first.
    pub(crate) fn up_to(&self, largest: u64) -> impl Iterator<Item = (u64, &SentPacket)> {
        let numbered = (self.first..=largest).zip(&self.flying);
        numbered.filter_map(|(number, packet)| Some((number, packet.as_ref()?)))
    }

    /// Takes out the packets in flight whose numbers lie in `range`.
    pub(crate) fn take(&mut self, range: &Range<u64>, mut each: impl FnMut(u64, SentPacket)) {
        let end = range.end.min(self.next_number());
        for number in range.start.max(self.first)..end {
            if let Some(packet) = self.flying[(number - self.first) as usize].take() {
                self.count -= 1;
                self.bytes -= packet.bytes;
                each(number, packet);
            }
        }
        while let Some(None) = self.flying.front() {
            self.flying.pop_front();
            self.first += 1;
        }
    }

    /// Remembers a packet that [`take`](Self::take) gave out as lost.
    pub(crate) fn remember_lost(&mut self, number: u64, packet: LostPacket, span: Range<u64>) {
        self.lost.insert(number, (packet, span));
    }

    /// Takes out the lost packets whose numbers lie in `range`: they arrived after all.
    pub(crate) fn take_late(
        &mut self,
        range: &Range<u64>,
        mut each: impl FnMut(LostPacket, Range<u64>),
    ) {
        while let Some((number, _)) = self.lost.range(range.clone()).next() {
            let number = *number;
            if let Some((packet, span)) = self.lost.remove(&number) {
                each(packet, span);
            }
        }
    }

    /// Forgets lost packets that left before `time`.
    pub(crate) fn forget_lost(&mut self, time: Timestamp) {
        while let Some(entry) = self.lost.first_entry()
            && entry.get().0.stamp.sent_at < time
        {
            entry.remove();
        }
    }
}
