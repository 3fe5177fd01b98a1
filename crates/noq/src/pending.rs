//! What noq has reported of one ACK, or of one expiry of the loss timer.

use cc_core::{AckedPacket, Feedback, LostPacket};
use std::time::Duration;
use units::{Bytes, Timestamp};

/// It is complete when the next thing happens: noq says when the acknowledgements of an ACK end,
/// but not when the losses do.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Set once something was reported.
    pub(crate) now: Option<Timestamp>,
    pub(crate) acked: Vec<AckedPacket>,
    pub(crate) lost: Vec<LostPacket>,
    pub(crate) rtt: Option<Duration>,
    pub(crate) ce_marked: u64,
    pub(crate) is_persistent_congestion: bool,
    /// In noq's count, before what is declared lost.
    pub(crate) in_flight: Option<Bytes>,
    /// Whether nothing more will be acknowledged by this ACK.
    pub(crate) has_ended_acks: bool,
    pub(crate) is_app_limited: bool,
}

impl Pending {
    /// Puts the lost packets in the order of sending, and notes which of them start a range.
    pub(crate) fn mark_ranges(&mut self) {
        self.lost
            .sort_unstable_by_key(|packet| packet.stamp.sequence);
        let mut previous = None;
        for packet in &mut self.lost {
            let sequence = packet.stamp.sequence;
            packet.starts_range = previous.is_none_or(|previous| previous + 1 != sequence);
            previous = Some(sequence);
        }
    }

    /// In cc-core's words.
    pub(crate) fn feedback(&self, now: Timestamp) -> Feedback<'_> {
        let lost = self.lost.iter().map(|packet| packet.bytes.get()).sum();
        Feedback {
            acked: &self.acked,
            lost: &self.lost,
            rtt: self.rtt,
            ce_marked: self.ce_marked,
            is_persistent_congestion: self.is_persistent_congestion,
            inflight: self
                .in_flight
                .map(|bytes| bytes.saturating_sub(Bytes::new(lost))),
            ..Feedback::at(now)
        }
    }
}
