//! An estimate of spurious losses.

use std::time::Duration;
use units::Timestamp;

/// Counts ACKs that acknowledge nothing new shortly after a loss.
///
/// A receiver acknowledges what has just arrived. If none of that is outstanding, the sender has
/// declared it lost too early. Counted only shortly after a loss: an ACK that another one has
/// overtaken acknowledges nothing new, either.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SpuriousLosses {
    watched_until: Option<Timestamp>,
    count: u64,
}

impl SpuriousLosses {
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

    /// How many of `lost` packets were probably declared lost spuriously.
    pub(super) fn estimate(&self, lost: u64) -> u64 {
        self.count.min(lost)
    }
}

/// A packet that is later still was delayed by more than a queue.
const WATCHED_ROUNDS: u32 = 2;
