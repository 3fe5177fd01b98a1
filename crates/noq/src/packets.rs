//! The packets of one path, as noq numbers them.

use cc_core::{AckedPacket, LostPacket, PacketStamp};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// noq does not say in which packet number space a packet left. So during the handshake up to three
/// packets have one number; they differ in when they left, and in size.
///
/// The keys are number and position in the order of sending.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    in_flight: BTreeMap<(u64, u64), AckedPacket>,
    lost: BTreeMap<u64, LostPacket>,
}

impl Packets {
    /// A packet has left. Of those beyond [`MAX_IN_FLIGHT`] the ones with the lowest numbers are
    /// forgotten: noq has dropped them without a word, as it does with a handshake's keys.
    pub(crate) fn push(&mut self, number: u64, stamp: PacketStamp, bytes: Bytes) {
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            self.in_flight.pop_first();
        }
        let packet = AckedPacket { stamp, bytes };
        self.in_flight.insert((number, stamp.sequence), packet);
    }

    /// The packet with this number that left then and is this large leaves flight.
    pub(crate) fn take_sent_at(
        &mut self,
        number: u64,
        sent_at: Timestamp,
        bytes: Bytes,
    ) -> Option<AckedPacket> {
        let is_it = |packet: &AckedPacket| packet.stamp.sent_at == sent_at && packet.bytes == bytes;
        self.take(number, is_it)
    }

    /// The oldest packet with this number and size leaves flight.
    pub(crate) fn take_sized(&mut self, number: u64, bytes: Bytes) -> Option<AckedPacket> {
        self.take(number, |packet| packet.bytes == bytes)
    }

    fn take(&mut self, number: u64, is_it: impl Fn(&AckedPacket) -> bool) -> Option<AckedPacket> {
        let mut namesakes = self.in_flight.range((number, 0)..=(number, u64::MAX));
        let (&key, _) = namesakes.find(|(_, packet)| is_it(packet))?;
        self.in_flight.remove(&key)
    }

    /// The packet was declared lost. Of those beyond [`MAX_LOST`] the oldest is forgotten.
    pub(crate) fn remember_lost(&mut self, packet: LostPacket) {
        if self.lost.len() >= MAX_LOST {
            self.lost.pop_first();
        }
        self.lost.insert(packet.stamp.sequence, packet);
    }

    /// Forgets lost packets that left longer ago than `age`.
    pub(crate) fn forget_lost(&mut self, now: Timestamp, age: Duration) {
        while let Some(oldest) = self.lost.first_entry()
            && now.since(oldest.get().stamp.sent_at) > age
        {
            oldest.remove();
        }
    }

    /// All lost packets that are remembered, oldest first.
    pub(crate) fn take_lost(&mut self) -> impl Iterator<Item = LostPacket> + use<> {
        std::mem::take(&mut self.lost).into_values()
    }
}

/// 79 MB of data in packets of 1200 bytes: 0.6 s at 1 Gbit/s.
const MAX_IN_FLIGHT: usize = 1 << 16;
const MAX_LOST: usize = 1 << 14;
