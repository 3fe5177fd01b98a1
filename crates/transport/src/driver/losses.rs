//! Giving up packets before quinn-proto would.

use super::ConnectionDriver;
use super::reordering::{LossThresholds, Overdue, Reordering};
use crate::clock;
use std::time::Duration;
use units::Timestamp;

/// Which packets were given up, and when the next one is.
#[derive(Debug)]
pub(super) struct Losses {
    reordering: Reordering,
    /// When the newest packet left that was given up before quinn-proto would have.
    given_up: Option<Timestamp>,
    give_up_at: Option<Timestamp>,
    /// ACKs until the handshake was confirmed. Packets of the handshake left flight with it, which
    /// is noticed with the next ACK: none of them is lost.
    acks_of_handshake: Option<u64>,
}

impl Losses {
    pub(super) fn new(thresholds: LossThresholds) -> Self {
        Self {
            reordering: Reordering::new(thresholds),
            given_up: None,
            give_up_at: None,
            acks_of_handshake: None,
        }
    }

    /// A packet has arrived after it was given up.
    pub(super) fn on_spurious_loss(&mut self, now: Timestamp, rtt: Duration) {
        self.reordering.on_spurious_loss(now, rtt);
    }

    /// When the next packet will be overdue, if no ACK comes for it.
    pub(super) fn give_up_at(&self) -> Option<Timestamp> {
        self.give_up_at
    }

    /// Whether what left at `sent_at` has not been given up. What is missing still although it was
    /// left flight unnoticed.
    fn is_awaited(&self, sent_at: Timestamp) -> bool {
        Some(sent_at) > self.given_up
    }

    /// Whether all of so many ACKs are of the handshake, which ended with the first of them at the
    /// latest.
    fn is_handshake(&mut self, acks: u64) -> bool {
        *self.acks_of_handshake.get_or_insert(acks) == acks
    }
}

impl ConnectionDriver {
    /// Has quinn-proto declare lost what is overdue by the thresholds in force, and says when the
    /// next packet will be.
    ///
    /// Its own thresholds are the most lenient ones, and it cannot be told of others; but what is
    /// lost depends on what time it is. So it is told of its loss timer at the time at which the
    /// newest overdue packet, and nothing newer, is overdue by its own threshold: at most one and a
    /// quarter round trips from now. Other timers that expire until then do so early: a delayed
    /// ACK, a PING. None of them may end anything so soon after an ACK has come.
    pub(super) fn give_up_overdue(&mut self, now: Timestamp) {
        let losses = &mut self.losses;
        losses.give_up_at = None;
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
            most_age,
        } = losses.reordering.overdue(now, rtt);
        let sent_until = Timestamp::ZERO + now.since(Timestamp::ZERO + age);
        let missing_since = congestion.missing_since();
        let overdue = missing_since
            .filter(|&sent_at| losses.is_awaited(sent_at))
            .and_then(|_| congestion.overdue(packets, sent_until));
        drop(congestion);
        if let Some(sent_at) = overdue {
            losses.given_up = Some(sent_at);
            self.expire_loss_timer(now, sent_at + most_age);
        }
        let missing_since = self.congestion.lock().missing_since();
        let losses = &mut self.losses;
        losses.give_up_at = missing_since
            .filter(|&sent_at| losses.is_awaited(sent_at))
            .map(|sent_at| sent_at + age);
    }

    /// Tells quinn-proto at `now` that it is `then`. Its loss timer is set to no later than that if
    /// it misses a packet as well.
    fn expire_loss_timer(&mut self, now: Timestamp, then: Timestamp) {
        let then = clock::instant(then);
        if self.conn.poll_timeout().is_some_and(|timer| timer <= then) {
            self.conn.handle_timeout(then);
            self.congestion.lock().correct_time(now);
        }
    }
}
