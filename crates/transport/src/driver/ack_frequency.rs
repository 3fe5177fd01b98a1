//! How many packets the peer is to acknowledge with one ACK (draft-ietf-quic-ack-frequency-11).
//!
//! An ACK for each two packets (RFC 9000 §13.2.2) takes 3 % of the bytes that it acknowledges. A
//! return path with less than that is the bottleneck: ACKs wait in its queue or are lost there, and
//! the sender is held to their rate. With fewer ACKs it is not. But a sender whose window holds no
//! more than the path waits for each ACK that is not sent. So no more packets share an ACK than are
//! queued somewhere on the path by the round-trip time: without a queue there is no bottleneck, and
//! with one the window can spare them.

use crate::tap::{AckRequest, Received, Space};
use std::time::Duration;
use units::{Bytes, Timestamp, duration};

/// What the peer has been asked for, and what it should be asked for.
#[derive(Debug)]
pub(super) struct AckFrequency {
    /// Most packets for one ACK, if configured.
    configured: Option<u32>,
    /// Whether the peer's packets get lost, and the controller wants fewer.
    are_acks_lost: bool,
    /// Most packets for one ACK that the window bears.
    bearable: u32,
    /// As many as are queued, within these bounds.
    wanted: u32,
    /// Asked for last, or what peers do without being asked.
    asked: u32,
    /// Of the next request.
    sequence: u64,
    /// The packet with the last request until it is acknowledged, and when it counts as lost.
    unanswered: Option<(u64, Timestamp)>,
    /// When fewer packets may share an ACK.
    lowered_from: Timestamp,
}

impl AckFrequency {
    /// At most `most` packets for one ACK. No more than two: the peer is not asked. `None`: as many
    /// as are good for most paths, once they are [needed](Self::need).
    pub(super) fn new(most: Option<u32>) -> Self {
        Self {
            configured: most,
            are_acks_lost: false,
            bearable: UNASKED,
            wanted: UNASKED,
            asked: UNASKED,
            sequence: 0,
            unanswered: None,
            lowered_from: Timestamp::ZERO,
        }
    }

    /// Packets for one ACK that the peer was asked for last.
    pub(super) fn packets(&self) -> u32 {
        self.asked
    }

    /// Whether more than two packets for an ACK may be asked for.
    pub(super) fn is_needed(&self) -> bool {
        self.configured.is_some() || self.are_acks_lost
    }

    /// Most packets for one ACK, as configured or as is good for most paths.
    fn most(&self) -> u32 {
        self.configured.unwrap_or(UNCONFIGURED)
    }

    /// ACKs get lost, and fewer would serve the controller better.
    pub(super) fn need(&mut self) {
        self.are_acks_lost = true;
    }

    /// Another controller, which may have a use for each ACK: more than two packets for one have to
    /// be needed anew, if none were configured.
    pub(super) fn on_new_controller(&mut self) {
        self.are_acks_lost = false;
        if !self.is_needed() {
            (self.bearable, self.wanted) = (UNASKED, UNASKED);
        }
    }

    /// The window is now `cwnd`, and a round trip takes `srtt`, `min_rtt` at least.
    pub(super) fn on_path(&mut self, cwnd: Bytes, mss: Bytes, srtt: Duration, min_rtt: Duration) {
        if self.most() <= UNASKED || !self.is_needed() {
            return;
        }
        let window = u32::try_from(cwnd.packets_floor(mss)).unwrap_or(u32::MAX);
        let queueing = u128::from(duration::nanos(srtt.saturating_sub(min_rtt)));
        let queued = queueing * u128::from(window) / u128::from(duration::nanos(srtt).max(1));
        self.bearable = self.borne_by(window).min(self.most()).max(UNASKED);
        self.wanted = u32::try_from(queued)
            .unwrap_or(u32::MAX)
            .clamp(UNASKED, self.bearable);
    }

    /// Packets for one ACK that a window of so many bears.
    fn borne_by(&self, window: u32) -> u32 {
        let most = window / ACKS_PER_WINDOW;
        if self.configured.is_some() {
            return most;
        }
        most.min(FEW).max(window / MORE_ACKS_PER_WINDOW)
    }

    /// What to ask for at `now`, if anything; `max_delay` is the peer's, if it can be asked.
    ///
    /// More packets for one ACK when it is half as many again, which keeps requests few. Fewer in
    /// steps of a quarter: when all are dropped at once, a fast sender fills a long return queue
    /// before it knows. What the window no longer bears goes at once.
    #[inline]
    pub(super) fn request(
        &self,
        now: Timestamp,
        max_delay: impl FnOnce() -> Option<Duration>,
    ) -> Option<AckRequest> {
        let Self { wanted, asked, .. } = *self;
        let lower = asked - asked.div_ceil(4);
        let packets = if self.bearable <= lower {
            self.bearable
        } else if wanted <= lower && now >= self.lowered_from {
            lower.max(UNASKED)
        } else if self.unanswered.is_some_and(|(_, until)| now < until) {
            return None;
        } else if wanted >= asked + asked.div_ceil(2) || asked < wanted && wanted == self.most() {
            wanted
        } else if self.unanswered.is_some() {
            asked
        } else {
            return None;
        };
        Some(AckRequest {
            sequence: self.sequence,
            packets,
            max_delay: max_delay()?,
        })
    }

    /// Packet `number` leaves with `request`; the round-trip time is `rtt`.
    pub(super) fn on_sent(
        &mut self,
        now: Timestamp,
        request: AckRequest,
        number: u64,
        rtt: Duration,
    ) {
        self.asked = request.packets;
        self.sequence = request.sequence + 1;
        self.lowered_from = now + rtt * 2;
        self.unanswered = Some((number, now + (rtt + request.max_delay) * 2));
    }

    /// ACKs have come.
    #[inline]
    pub(super) fn on_received(&mut self, received: &Received) {
        let Some((number, _)) = self.unanswered else {
            return;
        };
        let mut ranges = &received.ranges[..];
        for ack in &received.acks {
            let (own, others) = ranges.split_at(ack.ranges);
            let is_answer = |&(smallest, largest): &(u64, u64)| {
                ack.space == Space::Data && (smallest..=largest).contains(&number)
            };
            if own.iter().any(is_answer) {
                self.unanswered = None;
            }
            ranges = others;
        }
    }
}

/// Packets for one ACK of a peer that was not asked (RFC 9000 §13.2.2).
pub(crate) const UNASKED: u32 = 2;

/// Most packets for one ACK where no number is configured.
const UNCONFIGURED: u32 = 10;

/// ACKs of a window at least: with fewer, a window of a few packets waits for the peer's delay.
const ACKS_PER_WINDOW: u32 = 4;
/// The same where no number is configured, beyond [`FEW`] packets for an ACK: a window of 70
/// packets with ten for an ACK is empty in between.
const MORE_ACKS_PER_WINDOW: u32 = 16;
/// Twice what peers acknowledge by themselves (RFC 9000 §13.2.2): with no more than that a quarter
/// of the window is enough in between.
const FEW: u32 = 4;

#[cfg(test)]
mod tests;
