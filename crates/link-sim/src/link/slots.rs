use super::delay::deviation;
use super::label;
use crate::spec::{Slot, SlotInterval};
use core::time::Duration;
use units::{Bytes, Rng, Timestamp, duration};

/// netem's slots: packets leave in bursts, as behind a network that sends only now and then.
///
/// A packet leaves at the first slot after it is ready, with those before it as long as the slot
/// takes packets and bytes. Whenever netem looks at the packet that leaves next and the slot opens
/// before that is ready, it takes another, counted from that moment (`netem_dequeue`).
#[derive(Debug)]
pub(super) struct Slots {
    slot: Option<Slot>,
    /// When the slot in use opened, or the next one will.
    opens: Timestamp,
    packets: u64,
    bytes: u64,
    rng: Rng,
}

impl Slots {
    pub(super) fn new(slot: Option<Slot>, seed: u64) -> Self {
        let mut slots = Self {
            slot: None,
            opens: Timestamp::ZERO,
            packets: 0,
            bytes: 0,
            rng: Rng::derive(seed, label::SLOT),
        };
        slots.set(Timestamp::ZERO, slot);
        slots
    }

    /// Other slots from `now` on, the first of which opens at once.
    pub(super) fn set(&mut self, now: Timestamp, slot: Option<Slot>) {
        if slot != self.slot {
            self.slot = slot;
            self.open(now);
        }
    }

    /// When a packet leaves that is ready at `due`, before it does.
    pub(super) fn departure(&self, due: Timestamp) -> Timestamp {
        self.opens.max(due)
    }

    /// netem looks, at `now`, at the packet that leaves next, which is ready at `due`.
    pub(super) fn prepare(&mut self, due: Timestamp, now: Timestamp) {
        if let Some(slot) = self.slot
            && self.opens < due
        {
            self.open_after(now, slot);
        }
    }

    /// A packet of this size leaves at `at`.
    pub(super) fn leave(&mut self, at: Timestamp, size: Bytes) {
        let Some(slot) = self.slot else { return };
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size.get());
        if self.packets == 0 || self.bytes == 0 {
            self.open_after(at, slot);
        }
    }

    fn open_after(&mut self, now: Timestamp, slot: Slot) {
        let distance = match slot.interval {
            SlotInterval::Between(min, max) => self.rng.duration_between(min, max),
            SlotInterval::Distributed(distribution, mean, jitter) => {
                let jitter = i128::from(duration::nanos(jitter));
                let off = match jitter {
                    0 => 0,
                    jitter => deviation(distribution, jitter, |span| self.rng.below(span)),
                };
                let nanos = i128::from(duration::nanos(mean)) + off;
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
            }
        };
        self.open(now + distance);
    }

    fn open(&mut self, at: Timestamp) {
        let packets = self.slot.and_then(|slot| slot.packets);
        let bytes = self.slot.and_then(|slot| slot.bytes);
        self.opens = at;
        self.packets = packets.map_or(u64::MAX, u64::from);
        self.bytes = bytes.map_or(u64::MAX, Bytes::get);
    }
}
