//! Persistent congestion (RFC 9002 §7.6).

use super::sent_packets::SentPacket;
use std::time::Duration;
use units::Timestamp;

/// Watches packets as they leave flight, in the order of sending, for a run of lost ones that spans
/// several probe timeouts.
#[derive(Debug, Default)]
pub(super) struct PersistentCongestion {
    /// When the oldest ack-eliciting packet left of those lost since one was last acknowledged.
    lost_since: Option<Timestamp>,
}

impl PersistentCongestion {
    pub(super) fn on_acked(&mut self) {
        self.lost_since = None;
    }

    /// `packet` was lost, on a path whose first round-trip time was measured at `first_rtt_at`.
    /// Whether more than `threshold` lies between the first and the last of the run.
    pub(super) fn on_lost(
        &mut self,
        packet: &SentPacket,
        threshold: Duration,
        first_rtt_at: Option<Timestamp>,
    ) -> bool {
        let sent_at = packet.stamp.sent_at;
        if !packet.is_ack_eliciting || first_rtt_at.is_none_or(|first| sent_at <= first) {
            return false;
        }
        let since = *self.lost_since.get_or_insert(sent_at);
        sent_at.since(since) > threshold
    }
}
