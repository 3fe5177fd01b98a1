//! Guessing at losses that were none.

use std::time::Duration;
use units::Timestamp;

/// Counts ACKs that acknowledge nothing new shortly after a loss.
///
/// A receiver acknowledges what has just arrived. If the sender expects none of it any more, it
/// has given it up too early. Only shortly after a loss: an ACK that another one has overtaken
/// has nothing new to tell, either.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LateAcks {
    watched_until: Option<Timestamp>,
    count: u64,
}

impl LateAcks {
    /// Packets were declared lost.
    pub(super) fn on_loss(&mut self, now: Timestamp, smoothed_rtt: Duration) {
        self.watched_until = Some(now + WATCHED_ROUNDS * smoothed_rtt);
    }

    pub(super) fn is_watching(&self, now: Timestamp) -> bool {
        self.watched_until.is_some_and(|until| now <= until)
    }

    /// While it is watching, `acks` have come, of which `useful` acknowledged something new.
    pub(super) fn on_acks(&mut self, acks: u64, useful: u64) {
        self.count += acks.saturating_sub(useful);
    }

    /// Losses that seem to have been none, of `lost` packets.
    pub(super) fn spurious_losses(&self, lost: u64) -> u64 {
        self.count.min(lost)
    }
}

/// A packet that is later still was held up by more than a queue.
const WATCHED_ROUNDS: u32 = 2;
