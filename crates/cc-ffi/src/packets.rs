//! The packets of one path: those in flight, and for a while those that were declared lost.

use crate::status::PacelineCcStatus as Status;
use cc_core::{AckedPacket, LostPacket, PacketStamp};
use std::collections::{BTreeMap, VecDeque};
use units::Bytes;

/// The most packets that a handle has in flight, 315 MB of data in packets of 1200 bytes: 2.5 s at
/// 1 Gbit/s. They take up to 24 MiB of memory. To send more is an error.
pub const MAX_IN_FLIGHT: usize = 1 << 18;

/// The most lost packets that a handle remembers in case they arrive after all. Of those beyond it
/// the oldest are forgotten.
pub const MAX_LOST: usize = 1 << 14;

/// Ordered by number, which is also the order of sending.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    /// The first one is in flight.
    sent: VecDeque<Sent>,
    lost: BTreeMap<u64, LostPacket>,
    newest: Option<u64>,
    /// Packets up to this one left on an earlier path.
    left_behind: Option<u64>,
}

#[derive(Debug)]
struct Sent {
    number: u64,
    packet: AckedPacket,
    is_in_flight: bool,
}

impl Packets {
    /// Whether a packet of this number may leave next.
    pub(crate) fn check_new(&self, number: u64) -> Result<(), Status> {
        if Some(number) <= self.newest {
            return Err(Status::NumberNotNew);
        }
        if self.sent.len() >= MAX_IN_FLIGHT {
            return Err(Status::TooManyPackets);
        }
        Ok(())
    }

    /// A packet that was [checked](Self::check_new) has left.
    pub(crate) fn push(&mut self, number: u64, stamp: PacketStamp, bytes: Bytes) {
        self.newest = Some(number);
        self.sent.push_back(Sent {
            number,
            packet: AckedPacket { stamp, bytes },
            is_in_flight: true,
        });
    }

    /// The packet leaves flight. `None` if it left on an earlier path.
    pub(crate) fn take(&mut self, number: u64) -> Result<Option<AckedPacket>, Status> {
        if Some(number) <= self.left_behind {
            return Ok(None);
        }
        let index = self
            .sent
            .binary_search_by_key(&number, |sent| sent.number)
            .map_err(|_| Status::UnknownPacket)?;
        let sent = &mut self.sent[index];
        if !sent.is_in_flight {
            return Err(Status::UnknownPacket);
        }
        sent.is_in_flight = false;
        let packet = sent.packet;
        while self.sent.front().is_some_and(|sent| !sent.is_in_flight) {
            self.sent.pop_front();
        }
        if self.sent.is_empty() {
            // Most connections are idle most of the time.
            self.sent.shrink_to(IDLE_CAPACITY);
        }
        Ok(Some(packet))
    }

    /// The packet was declared lost.
    pub(crate) fn remember_lost(&mut self, number: u64, packet: LostPacket) {
        if self.lost.len() >= MAX_LOST {
            self.lost.pop_first();
        }
        self.lost.insert(number, packet);
    }

    /// The lost packet has arrived. `None` if it left on an earlier path.
    pub(crate) fn take_late(&mut self, number: u64) -> Result<Option<LostPacket>, Status> {
        if Some(number) <= self.left_behind {
            return Ok(None);
        }
        let late = self.lost.remove(&number);
        late.map(Some).ok_or(Status::UnknownPacket)
    }

    /// Packets for which memory is held.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.sent.capacity()
    }

    /// Another path begins, on which nothing is in flight.
    pub(crate) fn leave_path(&mut self) {
        *self = Self {
            newest: self.newest,
            left_behind: self.newest,
            ..Self::default()
        };
    }
}

/// Packets for which an idle handle keeps room.
const IDLE_CAPACITY: usize = 64;
