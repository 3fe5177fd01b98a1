//! Delivery-rate sampler: how fast the network delivers, from the times of sends and ACKs.
//!
//! For each ACK the newest packet it covers spans an interval: from the send, or the delivery,
//! that was newest when that packet left, until now. What was delivered meanwhile, divided by the
//! longer of the two spans, never exceeds the bottleneck's rate, however ACKs are bunched
//! (draft-ietf-ccwg-bbr-06 §4.1).

use crate::events::{AckedPacket, LostPacket, PacketStamp};
use core::mem;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// One delivery-rate sample ("RS.…" in the draft).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered bytes over `interval`; `None` where the interval was too short to trust.
    pub delivery_rate: Option<Bandwidth>,
    /// Bytes delivered over the interval.
    pub delivered: Bytes,
    /// Length of the interval.
    pub interval: Duration,
    /// Whether the application limited the rate in the interval: the sample is a lower bound.
    pub is_app_limited: bool,
    /// Bytes newly acknowledged by this ACK.
    pub newly_acked: Bytes,
    /// Bytes newly declared lost since the sample before this one.
    pub newly_lost: Bytes,
    /// Bytes declared lost since the newest acknowledged packet left.
    pub lost: Bytes,
    /// Bytes in flight when the newest acknowledged packet had left.
    pub tx_in_flight: Bytes,
    /// Bytes delivered over the connection's life until the newest acknowledged packet left.
    pub prior_delivered: Bytes,
    /// When the newest acknowledged packet left.
    pub newest_sent_at: Timestamp,
    /// Round-trip time, if this ACK gave one.
    pub rtt: Option<Duration>,
    /// Packets reported as marked Congestion Experienced since the sample before this one. Most are
    /// of this ACK; one that covers nothing but packets declared lost gives no sample, and its
    /// marks come with the next.
    pub ce_marked: u64,
}

/// Connection-wide counters that stamps are copied from ("C.…" in the draft).
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    sequence: u64,
    delivered: Bytes,
    delivered_at: Timestamp,
    first_sent_at: Timestamp,
    lost: Bytes,
    /// Value of `lost` at the newest sample.
    lost_when_sampled: Bytes,
    /// Packets reported as marked since the newest sample.
    ce_marked: u64,
    /// While `delivered` has not passed this, samples are application-limited.
    app_limited_until: Option<Bytes>,
}

impl Sampler {
    #[inline]
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            sequence: 0,
            delivered: Bytes::ZERO,
            delivered_at: now,
            first_sent_at: now,
            lost: Bytes::ZERO,
            lost_when_sampled: Bytes::ZERO,
            ce_marked: 0,
            app_limited_until: None,
        }
    }

    /// Position of the newest packet in the order of sending; zero before the first.
    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    #[inline]
    pub(crate) fn delivered(&self) -> Bytes {
        self.delivered
    }

    #[inline]
    pub(crate) fn lost(&self) -> Bytes {
        self.lost
    }

    #[inline]
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// The stamp of a packet that leaves now, not back to back, while `inflight` bytes, it not
    /// included, are out.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Timestamp, bytes: Bytes, inflight: Bytes) -> PacketStamp {
        if inflight.is_zero() {
            // A new flight: without this the idle time would count as sending time.
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.sequence += 1;
        PacketStamp {
            sequence: self.sequence,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            tx_in_flight: inflight + bytes,
            is_app_limited: self.is_app_limited(),
            is_back_to_back: false,
        }
    }

    /// MarkConnectionAppLimited: samples measure the network again once more than what is in flight
    /// now was delivered.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, inflight: Bytes) {
        self.app_limited_until = Some(self.delivered + inflight);
    }

    #[inline]
    pub(crate) fn on_lost(&mut self, packet: &LostPacket) {
        self.lost += packet.bytes;
    }

    #[inline]
    pub(crate) fn on_marked(&mut self, packets: u64) {
        self.ce_marked = self.ce_marked.saturating_add(packets);
    }

    /// The packet was not lost but late: delivered now. It is older than what has been sampled, so
    /// it gives no sample of its own.
    #[inline]
    pub(crate) fn on_spurious_loss(&mut self, now: Timestamp, packet: &LostPacket) {
        self.lost = self.lost.saturating_sub(packet.bytes);
        self.lost_when_sampled = self.lost_when_sampled.min(self.lost);
        self.delivered += packet.bytes;
        self.delivered_at = now;
    }

    /// Counts the acknowledged packets as delivered; the stamp of the newest of them, for
    /// [`Self::sample`], and the sum of their bytes.
    #[inline]
    pub(crate) fn on_acked<'a>(
        &mut self,
        now: Timestamp,
        acked: &'a [AckedPacket],
    ) -> Option<(&'a PacketStamp, Bytes)> {
        let (first, others) = acked.split_first()?;
        let (mut newest, mut newly_acked) = (&first.stamp, first.bytes);
        for packet in others {
            newly_acked += packet.bytes;
            if packet.stamp.sequence >= newest.sequence {
                newest = &packet.stamp;
            }
        }
        self.delivered += newly_acked;
        self.delivered_at = now;
        // May go back where packets were reordered: then the flight that is now sampled began
        // earlier, and its rate is rather under- than overestimated.
        self.first_sent_at = newest.sent_at;
        Some((newest, newly_acked))
    }

    /// The sample that the newest packet of this ACK gives.
    ///
    /// An interval below the minimum round-trip time, `min_rtt` nanoseconds, is impossible on this
    /// path: it comes from a packet that was acknowledged after it had been declared lost and sent
    /// again, so it carries no rate.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        newest: &PacketStamp,
        newly_acked: Bytes,
        min_rtt: u64,
        rtt: Option<Duration>,
    ) -> RateSample {
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
        let send_elapsed = newest.sent_at.nanos_since(newest.first_sent_at);
        let ack_elapsed = self.delivered_at.nanos_since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered.saturating_sub(newest.delivered);
        let is_possible = interval > 0 && interval >= min_rtt;
        let newly_lost = self.lost.saturating_sub(self.lost_when_sampled);
        self.lost_when_sampled = self.lost;
        RateSample {
            delivery_rate: is_possible
                .then(|| Bandwidth::from_transfer_in_nanos(delivered, interval)),
            delivered,
            interval: Duration::from_nanos(interval),
            is_app_limited: newest.is_app_limited,
            newly_acked,
            newly_lost,
            lost: self.lost.saturating_sub(newest.lost),
            tx_in_flight: newest.tx_in_flight,
            prior_delivered: newest.delivered,
            newest_sent_at: newest.sent_at,
            rtt,
            ce_marked: mem::take(&mut self.ce_marked),
        }
    }
}

#[cfg(test)]
mod tests;
