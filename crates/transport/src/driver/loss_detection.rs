//! Loss detection that follows reordering, in front of quinn-proto's.

use super::ConnectionDriver;
use super::reordering::{LossThresholds, Overdue, Reordering};
use crate::clock;
use std::time::Duration;
use units::Timestamp;

/// Which packets were declared lost, and when the next one is.
#[derive(Debug)]
pub(super) struct LossDetection {
    reordering: Reordering,
    /// When the newest packet was sent that was declared lost before quinn-proto would have.
    newest_lost: Option<Timestamp>,
    loss_time: Option<Timestamp>,
    /// ACKs until the handshake was confirmed. Packets of the handshake left flight with it, which
    /// is noticed with the next ACK: none of them is lost.
    acks_at_confirmation: Option<u64>,
}

impl LossDetection {
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

    /// When the next packet will be overdue, if no ACK comes for it (`loss_time`, RFC 9002 A.3).
    pub(super) fn loss_time(&self) -> Option<Timestamp> {
        self.loss_time
    }

    /// Whether what was sent at `sent_at` has not been declared lost. What is still missing although
    /// it was has left flight unreported.
    fn is_outstanding(&self, sent_at: Timestamp) -> bool {
        Some(sent_at) > self.newest_lost
    }

    /// Whether all of so many ACKs are of the handshake, which ended with the first of them at the
    /// latest.
    fn is_handshake(&mut self, acks: u64) -> bool {
        *self.acks_at_confirmation.get_or_insert(acks) == acks
    }
}

impl ConnectionDriver {
    /// Has quinn-proto declare lost what is overdue by the thresholds in force, and says when the
    /// next packet will be.
    ///
    /// Its own thresholds are the most lenient ones, and cannot be changed; but what is lost depends
    /// on the time. So its loss timer is made to expire with the time at which the
    /// newest overdue packet, and nothing newer, is overdue by its own threshold: at most one and a
    /// quarter round trips from now. Other timers that expire until then do so early: a delayed
    /// ACK, a PING. None of them may end anything so soon after an ACK has come.
    pub(super) fn detect_losses(&mut self, now: Timestamp) {
        let detection = &mut self.loss_detection;
        detection.loss_time = None;
        if !detection.reordering.is_adaptive() || !self.is_confirmed || self.conn.is_closed() {
            return;
        }
        let mut congestion = self.congestion.lock();
        if detection.is_handshake(congestion.useful_acks()) {
            return;
        }
        let rtt = congestion.conservative_rtt(self.conn.rtt());
        if let Some(took) = congestion.take_latest_late() {
            let lateness = took.saturating_sub(rtt);
            detection.reordering.on_late(now, lateness, rtt);
        }
        let Overdue {
            packets,
            age,
            max_age,
        } = detection.reordering.overdue(now, rtt);
        let sent_until = Timestamp::ZERO + now.since(Timestamp::ZERO + age);
        let missing_since = congestion.missing_since();
        let overdue = missing_since
            .filter(|&sent_at| detection.is_outstanding(sent_at))
            .and_then(|_| congestion.overdue(packets, sent_until));
        drop(congestion);
        if let Some(sent_at) = overdue {
            detection.newest_lost = Some(sent_at);
            self.expire_loss_timer(now, sent_at + max_age);
        }
        let missing_since = self.congestion.lock().missing_since();
        let detection = &mut self.loss_detection;
        detection.loss_time = missing_since
            .filter(|&sent_at| detection.is_outstanding(sent_at))
            .map(|sent_at| sent_at + age);
    }

    /// Has quinn-proto handle its timers at `now` as if it were `then`. Its loss timer is set to no
    /// later than that if quinn-proto misses a packet as well.
    fn expire_loss_timer(&mut self, now: Timestamp, then: Timestamp) {
        let then = clock::instant(then);
        if self.conn.poll_timeout().is_some_and(|timer| timer <= then) {
            self.conn.handle_timeout(then);
            self.congestion.lock().correct_time(now);
        }
    }
}
