//! Packet-timed round trips (draft-ietf-ccwg-bbr-06 §5.5.1).

use units::Bytes;

/// Counts round trips: one ends when a packet is acknowledged that left after it began.
#[derive(Debug, Default)]
pub(crate) struct RoundCounter {
    /// Round trips elapsed: `round_count`.
    pub(crate) count: u64,
    /// Whether the ACK at hand ended one: `round_start`.
    pub(crate) is_start: bool,
    /// A packet that left after this much had been delivered ends the round:
    /// `next_round_delivered`.
    end: Bytes,
}

impl RoundCounter {
    /// UpdateRound: an ACK whose newest packet left after `prior_delivered` bytes were delivered.
    pub(crate) fn on_ack(&mut self, prior_delivered: Bytes, delivered: Bytes) {
        self.is_start = prior_delivered >= self.end;
        if self.is_start {
            self.restart(delivered);
            self.count += 1;
        }
    }

    /// StartRound: a new round begins with the next packet that leaves.
    pub(crate) fn restart(&mut self, delivered: Bytes) {
        self.end = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_a_packet_sent_after_it_began() {
        let mut round = RoundCounter::default();
        round.on_ack(Bytes::ZERO, Bytes::new(1_000));
        assert!(round.is_start);
        round.on_ack(Bytes::new(999), Bytes::new(5_000));
        assert!(!round.is_start);
        round.on_ack(Bytes::new(1_000), Bytes::new(6_000));
        assert!(round.is_start);
        assert_eq!(round.count, 2);
    }

    #[test]
    fn a_restart_makes_the_round_last_a_full_trip_from_now() {
        let mut round = RoundCounter::default();
        round.on_ack(Bytes::ZERO, Bytes::new(1_000));
        round.restart(Bytes::new(4_000));
        round.on_ack(Bytes::new(3_000), Bytes::new(5_000));
        assert!(!round.is_start);
        round.on_ack(Bytes::new(4_000), Bytes::new(6_000));
        assert!(round.is_start);
    }
}
