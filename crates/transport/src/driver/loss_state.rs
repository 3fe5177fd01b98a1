//! What loss detection remembers.

use super::reordering::{LossThresholds, Reordering};
use std::time::Duration;
use units::Timestamp;

/// Which packets were declared lost, and when the next one is.
#[derive(Debug)]
pub(super) struct LossState {
    pub(super) reordering: Reordering,
    /// When the newest packet was sent that was declared lost before quinn-proto would have.
    pub(super) newest_lost: Option<Timestamp>,
    /// When the next packet will be overdue, if no ACK comes for it (`loss_time`, RFC 9002 A.3).
    pub(super) loss_time: Option<Timestamp>,
    /// ACKs until the handshake was confirmed. Packets of the handshake left flight with it, which
    /// is noticed with the next ACK: none of them is lost.
    pub(super) acks_at_confirmation: Option<u64>,
}

impl LossState {
    pub(super) fn new(thresholds: LossThresholds) -> Self {
        Self {
            reordering: Reordering::new(thresholds),
            newest_lost: None,
            loss_time: None,
            acks_at_confirmation: None,
        }
    }

    /// A packet has arrived after it was declared lost.
    pub(super) fn on_spurious_loss(&mut self, now: Timestamp, rtt: Duration) {
        self.reordering.on_spurious_loss(now, rtt);
    }

    /// Whether what was sent at `sent_at` has not been declared lost. What is still missing
    /// although it was has left flight unreported.
    pub(super) fn is_outstanding(&self, sent_at: Timestamp) -> bool {
        Some(sent_at) > self.newest_lost
    }

    /// Whether all of so many ACKs are of the handshake, which ended with the first of them at the
    /// latest.
    pub(super) fn is_handshake(&mut self, acks: u64) -> bool {
        *self.acks_at_confirmation.get_or_insert(acks) == acks
    }
}
