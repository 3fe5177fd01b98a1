//! Loss detection that follows reordering, in front of quinn-proto's.

use super::reordering::Overdue;
use super::state::ConnectionDriver;
use crate::clock;
use units::Timestamp;

impl ConnectionDriver {
    /// Has quinn-proto declare lost what is overdue by the thresholds in force, and says when the
    /// next packet will be.
    ///
    /// Its own thresholds are the most lenient ones, and cannot be changed; but what is lost
    /// depends on the time. So its loss timer is made to expire with the time at which the newest
    /// overdue packet, and nothing newer, is overdue by its own threshold: at most one and a
    /// quarter round trips from now. Other timers that expire until then do so early: a delayed
    /// ACK, a PING. None of them may end anything so soon after an ACK has come.
    pub(super) fn detect_losses(&mut self, now: Timestamp) {
        let losses = &mut self.loss_state;
        losses.loss_time = None;
        if !losses.reordering.is_adaptive() || !self.is_confirmed || self.conn.is_closed() {
            return;
        }
        let mut congestion = self.congestion.lock();
        if losses.is_handshake(congestion.useful_acks()) {
            return;
        }
        let rtt = congestion.conservative_rtt(self.conn.rtt());
        if let Some(took) = congestion.take_latest_late() {
            let lateness = took.saturating_sub(rtt);
            losses.reordering.on_late(now, lateness, rtt);
        }
        let Overdue {
            packets,
            age,
            max_age,
        } = losses.reordering.overdue(now, rtt);
        let sent_until = Timestamp::ZERO + now.since(Timestamp::ZERO + age);
        let missing_since = congestion.missing_since();
        let overdue = missing_since
            .filter(|&sent_at| losses.is_outstanding(sent_at))
            .and_then(|_| congestion.overdue(packets, sent_until));
        drop(congestion);
        if let Some(sent_at) = overdue {
            losses.newest_lost = Some(sent_at);
            self.expire_loss_timer(now, sent_at + max_age);
        }
        let missing_since = self.congestion.lock().missing_since();
        let losses = &mut self.loss_state;
        losses.loss_time = missing_since
            .filter(|&sent_at| losses.is_outstanding(sent_at))
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
