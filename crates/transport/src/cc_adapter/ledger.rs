//! Which bytes left when: gives each acknowledged or lost byte its send-time stamp back.

use cc_core::{AckedPacket, LostPacket, PacketStamp};
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// Bytes in flight by batch, oldest first.
///
/// quinn-proto reports one sum per batch of datagrams, the send time and size of each acknowledged
/// packet, and losses as one sum, always of the oldest packets that have not been acknowledged.
/// Send times thus identify batches. Two batches of one send time are distinguished by their order
/// alone.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    batches: VecDeque<Batch>,
    outstanding: Bytes,
}

#[derive(Debug, Clone, Copy)]
struct Batch {
    stamp: PacketStamp,
    /// When its newest packet left; later than the stamp's time only in merged batches.
    last_sent_at: Timestamp,
    /// The number of its newest packet; of an MTU probe, that of the batch after it.
    last_number: u64,
    outstanding: Bytes,
    /// Whether a part of it has been acknowledged.
    has_hole: bool,
}

impl Ledger {
    /// `bytes` left with `stamp`, the last packet of them with this number, if that is known. Times
    /// and numbers never decrease.
    pub(crate) fn push(&mut self, stamp: PacketStamp, bytes: Bytes, last_number: Option<u64>) {
        let last_number = last_number.unwrap_or(UNKNOWN);
        if let Some(before) = self.batches.back_mut() {
            before.last_number = before.last_number.min(last_number);
        }
        self.outstanding += bytes;
        let is_full = self.batches.len() >= CAPACITY;
        if let Some(last) = self.batches.back_mut().filter(|_| is_full) {
            last.outstanding += bytes;
            last.last_sent_at = stamp.sent_at;
            last.last_number = last_number;
            return;
        }
        self.batches.push_back(Batch {
            stamp,
            last_sent_at: stamp.sent_at,
            last_number,
            outstanding: bytes,
            has_hole: false,
        });
    }

    /// Up to `bytes` that left at `sent_at` were acknowledged. Bytes that are not in the ledger,
    /// such as those of MTU probes, give nothing.
    pub(crate) fn take_acked(
        &mut self,
        sent_at: Timestamp,
        mut bytes: Bytes,
        mut acked: impl FnMut(AckedPacket),
    ) {
        let first = self
            .batches
            .partition_point(|batch| batch.last_sent_at < sent_at);
        for batch in self.batches.range_mut(first..) {
            if batch.stamp.sent_at > sent_at || bytes.is_zero() {
                break;
            }
            let taken = batch.outstanding.min(bytes);
            batch.outstanding -= taken;
            batch.has_hole = true;
            bytes -= taken;
            self.outstanding -= taken;
            if !taken.is_zero() {
                acked(AckedPacket {
                    stamp: batch.stamp,
                    bytes: taken,
                });
            }
        }
        self.drop_finished();
    }

    /// `bytes` were lost: the oldest outstanding ones that left until `newest`. Told in packets of
    /// at most `mss`.
    ///
    /// quinn-proto does not report which packets they were. Where they make ranges is a guess: each
    /// report starts one, and so does each batch after one of which a part has arrived.
    pub(crate) fn take_lost(
        &mut self,
        newest: Timestamp,
        mut bytes: Bytes,
        mss: Bytes,
        mut lost: impl FnMut(LostPacket),
    ) {
        let mut starts_range = true;
        for batch in &mut self.batches {
            if batch.stamp.sent_at > newest || bytes.is_zero() {
                break;
            }
            let taken = batch.outstanding.min(bytes);
            batch.outstanding -= taken;
            bytes -= taken;
            self.outstanding -= taken;
            let mut rest = taken;
            while !rest.is_zero() {
                let packet = rest.min(mss);
                rest -= packet;
                lost(LostPacket {
                    stamp: batch.stamp,
                    bytes: packet,
                    starts_range,
                });
                starts_range = false;
            }
            starts_range |= batch.has_hole;
        }
        self.drop_finished();
    }

    /// quinn-proto counts only `in_flight`: what the ledger has beyond that left flight without
    /// a report. The oldest bytes go.
    pub(crate) fn reconcile(&mut self, in_flight: Bytes) {
        let mut excess = self.outstanding.saturating_sub(in_flight);
        for batch in &mut self.batches {
            if excess.is_zero() {
                break;
            }
            let taken = batch.outstanding.min(excess);
            batch.outstanding -= taken;
            excess -= taken;
            self.outstanding -= taken;
        }
        self.drop_finished();
    }

    /// When the oldest packet left that is missing although packet `largest` has arrived. Packets
    /// have `mss` bytes at most.
    ///
    /// Of a batch that `largest` is in the middle of, it is missing if more is outstanding than
    /// what left after `largest`.
    pub(crate) fn missing_since(&self, largest: u64, mss: Bytes) -> Option<Timestamp> {
        let oldest = self.batches.front()?;
        let later = oldest.last_number.saturating_sub(largest);
        (oldest.outstanding > mss * later).then_some(oldest.last_sent_at)
    }

    /// Packet `largest` has arrived: what left until when is lost, if anything is missing at all.
    ///
    /// That is what `packets` numbers or more are behind, and what left until `sent_until`. Batches
    /// of one send time are lost together, by the numbers of the last one.
    pub(crate) fn overdue(
        &self,
        largest: u64,
        mss: Bytes,
        packets: Option<u64>,
        sent_until: Timestamp,
    ) -> Option<Timestamp> {
        let missing_since = self.missing_since(largest, mss)?;
        let newest_by_number = packets.and_then(|packets| {
            let newest = largest.checked_sub(packets)?;
            let mut end = self
                .batches
                .partition_point(|batch| batch.last_number <= newest);
            let after = self.batches.get(end).map(|batch| batch.stamp.sent_at);
            while end > 0 && after.is_some_and(|after| self.batches[end - 1].last_sent_at >= after)
            {
                end -= 1;
            }
            Some(self.batches[end.checked_sub(1)?].last_sent_at)
        });
        let newest_by_time = (missing_since <= sent_until).then_some(sent_until);
        newest_by_number.max(newest_by_time)
    }

    fn drop_finished(&mut self) {
        while self
            .batches
            .front()
            .is_some_and(|batch| batch.outstanding.is_zero())
        {
            self.batches.pop_front();
        }
    }
}

/// Most batches that are kept apart. Beyond, the newest absorbs what leaves, and those bytes share
/// its stamp. At 2 µs a batch, about the cost of a system call, it spans 65 ms.
const CAPACITY: usize = 32_768;

/// Of the last batch alone.
const UNKNOWN: u64 = u64::MAX;

#[cfg(test)]
mod tests;
