//! When so much is lost that delay alone is not enough of a signal.

use units::{Bytes, Gain};

/// The share of packets lost over some round trips.
///
/// The paper's default mode ignores loss. Where a queue is shorter than a flow's target for it, or
/// a policer has none, delay never reaches the target, so the authors' implementation cuts the
/// window when too much is lost (genericCC, `ReduceOnLoss`).
#[derive(Debug, Default)]
pub(super) struct LossRate {
    acked: Bytes,
    lost: Bytes,
    rounds: u64,
}

impl LossRate {
    /// An ACK reported so many bytes delivered and so many lost.
    pub(super) fn on_ack(&mut self, acked: Bytes, lost: Bytes) {
        self.acked = self.acked.saturating_add(acked);
        self.lost = self.lost.saturating_add(lost);
    }

    /// A loss of `bytes` was spurious.
    pub(super) fn on_spurious_loss(&mut self, bytes: Bytes) {
        self.lost = self.lost.saturating_sub(bytes);
        self.acked = self.acked.saturating_add(bytes);
    }

    /// A round trip ended. Returns whether more than `limit` was lost in the newest ones, as soon
    /// as there were enough of them; then counting begins anew.
    pub(super) fn on_round(&mut self, mss: Bytes, limit: Gain) -> bool {
        self.rounds += 1;
        let sum = self.acked.saturating_add(self.lost);
        if self.rounds < ROUNDS || sum <= mss * MIN_PACKETS {
            return false;
        }
        let is_above = self.lost > sum * limit;
        *self = Self::default();
        is_above
    }
}

/// At most one cut in two round trips, and none for a few packets: genericCC's numbers.
const ROUNDS: u64 = 2;
const MIN_PACKETS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_000);

    fn counted(acked: u64, lost: u64) -> LossRate {
        let mut rate = LossRate::default();
        rate.on_ack(MSS * acked, MSS * lost);
        rate
    }

    fn is_above(rate: &mut LossRate) -> bool {
        rate.on_round(MSS, Gain::percent(10))
    }

    #[test]
    fn more_than_the_limit_in_two_round_trips_is_too_much() {
        let mut rate = counted(89, 11);
        assert!(!is_above(&mut rate));
        assert!(is_above(&mut rate));
        let mut rate = counted(90, 10);
        assert!(!is_above(&mut rate) && !is_above(&mut rate));
    }

    #[test]
    fn twenty_packets_are_too_few_to_judge() {
        let mut rate = counted(10, 10);
        assert!(!is_above(&mut rate) && !is_above(&mut rate));
        rate.on_ack(MSS, Bytes::ZERO);
        assert!(is_above(&mut rate));
    }

    #[test]
    fn counting_begins_anew_and_late_packets_were_not_lost() {
        let mut rate = counted(50, 50);
        assert!(!is_above(&mut rate) && is_above(&mut rate));
        rate.on_ack(MSS * 89, MSS * 11);
        rate.on_spurious_loss(MSS);
        assert!(!is_above(&mut rate) && !is_above(&mut rate));
    }
}
