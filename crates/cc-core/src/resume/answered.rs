//! What a Safe Retreat has answered: the losses of all that left before it.

use crate::events::LostPacket;
use crate::sampler::RateSample;
use units::Bytes;

/// The losses that controllers are not to answer as well: one reduction per recovery period
/// (RFC 9002 §7.3.2).
#[derive(Debug)]
pub(super) struct Answered {
    /// The newest packet that left before the retreat.
    newest: u64,
    /// The newest packet that had left when the loss of one of those was declared: samples of
    /// packets up to it have that loss in them.
    until: u64,
    /// Lost since the newest sample, of what was answered.
    newly_lost: Bytes,
    /// Lost of what left after the retreat.
    others_lost: Bytes,
}

impl Answered {
    /// A retreat, before which packet `newest` has left.
    pub(super) fn new(newest: u64) -> Self {
        Self {
            newest,
            until: newest,
            newly_lost: Bytes::ZERO,
            others_lost: Bytes::ZERO,
        }
    }

    pub(super) fn has(&self, sequence: u64) -> bool {
        sequence <= self.newest
    }

    /// `packet` was declared lost, when `sent` was the newest that had left.
    pub(super) fn on_lost(&mut self, packet: &LostPacket, sent: u64) {
        if self.has(packet.stamp.sequence) {
            self.until = sent;
            self.newly_lost += packet.bytes;
        } else {
            self.others_lost += packet.bytes;
        }
    }

    /// Takes answered losses and marks out of the sample of packet `newest` and others before it.
    ///
    /// A sample has the bytes that were lost since its newest packet was sent. Of those no more
    /// than `others_lost` were not answered.
    pub(super) fn remove_from(&self, newest: u64, sample: &mut RateSample) {
        if self.has(newest) {
            (sample.newly_lost, sample.lost, sample.ce_marked) = (Bytes::ZERO, Bytes::ZERO, 0);
        } else {
            sample.newly_lost = sample.newly_lost.saturating_sub(self.newly_lost);
            sample.lost = sample.lost.min(self.others_lost);
        }
    }

    /// The sample of packet `newest` has been made. Whether later ones may have answered losses.
    pub(super) fn goes_on_after(&mut self, newest: u64) -> bool {
        self.newly_lost = Bytes::ZERO;
        newest <= self.until
    }
}
