//! ACKs that the peer asks for on a path that is silent.
//!
//! While quinn-proto has data to send, it sends no ACK alone: the ACK waits until the window lets a
//! packet with data leave, and is lost with it if that is too large for the path. If both sides
//! send and the path becomes narrower, each waits for the other's ACK until its own probe timeout,
//! and that grows: by backoff, and because an ACK that has waited counts as a round trip. Loss
//! probes alone are neither large nor held back by the window. So where the window is full and
//! nothing has been acknowledged for two of the shortest round trips and the peer's ACK delay, loss
//! probes answer a packet that asks for its ACK (IMMEDIATE_ACK, draft-ietf-quic-ack-frequency), as
//! quinn-proto's loss probes do. Probes of the MTU ask, too; but then ACKs come.

use quinn_proto::ConnectionStats;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// Whether the peer waits for an ACK that it has asked for, and whether the path is silent.
#[derive(Debug, Default)]
pub(super) struct AskedAcks {
    /// IMMEDIATE_ACK frames that had come, and ACK frames that had left, the last time.
    asked: u64,
    sent: u64,
    /// When one was last answered with loss probes.
    answered: Option<Timestamp>,
    delivered: Bytes,
    /// Whether the window was full when sending ended last.
    was_full: bool,
    /// When something was last acknowledged, and after how long.
    acknowledged: Option<Timestamp>,
    silence: Duration,
}

impl AskedAcks {
    /// So much has been acknowledged so far.
    pub(super) fn on_delivered(&mut self, now: Timestamp, delivered: Bytes) {
        if delivered > self.delivered {
            self.delivered = delivered;
            self.silence = self.since_acknowledged(now);
            self.acknowledged = Some(now);
        }
    }

    /// Sending has ended for now, because the window is full or not.
    pub(super) fn on_end(&mut self, is_full: bool) {
        self.was_full = is_full;
    }

    /// A packet that asked was answered with loss probes.
    pub(super) fn on_answered(&mut self, now: Timestamp) {
        self.answered = Some(now);
    }

    pub(super) fn is_full(&self) -> bool {
        self.was_full
    }

    fn since_acknowledged(&self, now: Timestamp) -> Duration {
        self.acknowledged
            .map_or(Duration::ZERO, |last| now.since(last))
    }

    /// Whether the peer has asked since the last call, and no ACK has left since.
    pub(super) fn is_owed(&mut self, stats: &ConnectionStats) -> bool {
        let (asked, sent) = (stats.frame_rx.immediate_ack, stats.frame_tx.acks);
        let is_owed = asked > self.asked && sent == self.sent;
        (self.asked, self.sent) = (asked, sent);
        is_owed
    }

    /// Whether nothing has been acknowledged for `least`, or had been until now, and the last
    /// answer is as old as a round trip.
    pub(super) fn is_due(&self, now: Timestamp, rtt: Duration, least: Duration) -> bool {
        let silence = match self.acknowledged == Some(now) {
            true => self.silence,
            false => self.since_acknowledged(now),
        };
        silence >= least && self.answered.is_none_or(|last| now >= last + rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(80);
    const TIMEOUT: Duration = Duration::from_millis(200);

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn only_a_silent_path_is_probed() {
        let mut acks = AskedAcks::default();
        assert!(!acks.is_due(at(500), RTT, TIMEOUT));
        acks.on_delivered(at(1_000), Bytes::new(1));
        assert!(!acks.is_due(at(1_199), RTT, TIMEOUT));
        assert!(acks.is_due(at(1_200), RTT, TIMEOUT));
        // The packet that asks has an ACK itself.
        acks.on_delivered(at(1_300), Bytes::new(2));
        assert!(acks.is_due(at(1_300), RTT, TIMEOUT));
        assert!(!acks.is_due(at(1_301), RTT, TIMEOUT));
        // Nothing new.
        acks.on_delivered(at(1_400), Bytes::new(2));
        assert!(acks.is_due(at(1_500), RTT, TIMEOUT));
    }

    #[test]
    fn a_peer_that_asks_without_end_has_a_probe_in_a_round_trip() {
        let mut acks = AskedAcks::default();
        acks.on_delivered(at(0), Bytes::new(1));
        let mut stats = ConnectionStats::default();
        let mut answers = 0;
        for millis in 1_000..2_000 {
            stats.frame_rx.immediate_ack += 1;
            if acks.is_owed(&stats) && acks.is_due(at(millis), RTT, TIMEOUT) {
                acks.on_answered(at(millis));
                answers += 1;
            }
        }
        assert_eq!(answers, 13);
    }

    #[test]
    fn an_ack_that_has_left_is_not_owed() {
        let mut acks = AskedAcks::default();
        let mut stats = ConnectionStats::default();
        assert!(!acks.is_owed(&stats));
        stats.frame_rx.immediate_ack = 1;
        assert!(acks.is_owed(&stats));
        assert!(!acks.is_owed(&stats));
        stats.frame_rx.immediate_ack = 2;
        stats.frame_tx.acks = 1;
        assert!(!acks.is_owed(&stats));
    }
}
