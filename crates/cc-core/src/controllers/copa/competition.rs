//! Competitive mode: AIMD of 1 ÷ δ (§2.2).

use super::params::Tuning;
use crate::events::LostPacket;
use crate::parts::recovery_period::RecoveryPeriod;
use units::{Gain, Timestamp};

/// Additive increase and multiplicative decrease of 1 ÷ δ, as NewReno's of a window.
///
/// 1 ÷ δ is the number of packets that the flow keeps in the queue, so this is the number that a
/// loss-based sender would have there.
#[derive(Debug)]
pub(super) struct Competition {
    /// 1 ÷ δ in packets; where δ is less than ½ it may be less than in the default mode.
    inverse_delta: Gain,
    recovery: RecoveryPeriod<Gain>,
}

impl Competition {
    /// Begins with the 1 ÷ δ of the default mode.
    pub(super) fn new(tuning: &Tuning) -> Self {
        Self {
            inverse_delta: tuning.inverse_delta(),
            recovery: RecoveryPeriod::new(true),
        }
    }

    /// 1 ÷ δ in packets.
    pub(super) fn inverse_delta(&self) -> Gain {
        self.inverse_delta
    }

    /// A round trip ended in which the flow had filled its window of `packets`. More than these
    /// cannot be in the queue.
    pub(super) fn on_round(&mut self, tuning: &Tuning, packets: u64) {
        if self.recovery.is_active() {
            return;
        }
        let increased = self.inverse_delta.millionths() + tuning.competitive_increase.millionths();
        let most = packets.saturating_mul(Gain::ONE.millionths());
        let increased = Gain::from_millionths(increased.min(most));
        self.inverse_delta = self.inverse_delta.max(increased);
    }

    /// A packet was lost: the first of a recovery period reduces.
    pub(super) fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, tuning: &Tuning) {
        if self.recovery.on_lost(now, packet, self.inverse_delta) {
            self.reduce(tuning);
        }
    }

    /// A packet that left at `sent_at` was marked: a congestion signal like loss.
    pub(super) fn on_marked(&mut self, now: Timestamp, sent_at: Timestamp, tuning: &Tuning) {
        if self.recovery.on_marked(now, sent_at) {
            self.reduce(tuning);
        }
    }

    /// The newest packet of an ACK left at `sent_at`.
    pub(super) fn on_acked(&mut self, sent_at: Timestamp) {
        self.recovery.on_acked(sent_at);
    }

    /// Undoes the reduction for spurious losses.
    pub(super) fn on_spurious_loss(&mut self, packet: &LostPacket) {
        if let Some(saved) = self.recovery.on_spurious_loss(packet) {
            self.inverse_delta = self.inverse_delta.max(saved);
        }
    }

    fn reduce(&mut self, tuning: &Tuning) {
        let least = tuning.min_inverse_delta();
        self.inverse_delta = (self.inverse_delta * tuning.competitive_decrease).max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::PARAMS;
    use super::*;
    use crate::params::Params;
    use crate::tests::controller_driver::{at, lost};

    const PLENTY: u64 = u64::MAX;

    fn tuning() -> Tuning {
        Tuning::new(&Params::defaults(PARAMS))
    }

    /// After as many round trips as it takes to get there, a packet each.
    fn competing_for(packets: u64) -> Competition {
        let mut competition = Competition::new(&tuning());
        for _ in 2..packets {
            competition.on_round(&tuning(), PLENTY);
        }
        assert_eq!(competition.inverse_delta(), Gain::new(packets, 1));
        competition
    }

    #[test]
    fn it_begins_with_the_default_mode_and_gains_a_packet_a_round_trip() {
        assert_eq!(competing_for(2).inverse_delta(), Gain::new(2, 1));
        assert_eq!(competing_for(9).inverse_delta(), Gain::new(9, 1));
    }

    #[test]
    fn a_loss_halves_it_once_in_a_round_trip_and_stops_the_increase() {
        let mut competition = competing_for(20);
        competition.on_lost(at(100), &lost(60), &tuning());
        competition.on_lost(at(120), &lost(90), &tuning());
        assert_eq!(competition.inverse_delta(), Gain::new(10, 1));
        competition.on_round(&tuning(), PLENTY);
        assert_eq!(competition.inverse_delta(), Gain::new(10, 1));
        competition.on_acked(at(101));
        competition.on_round(&tuning(), PLENTY);
        assert_eq!(competition.inverse_delta(), Gain::new(11, 1));
    }

    #[test]
    fn it_is_never_below_the_default_mode_nor_beyond_what_is_of_use() {
        let mut competition = competing_for(3);
        competition.on_marked(at(100), at(60), &tuning());
        assert_eq!(competition.inverse_delta(), Gain::new(2, 1));
        let mut competition = competing_for(7);
        competition.on_round(&tuning(), 8);
        competition.on_round(&tuning(), 8);
        assert_eq!(competition.inverse_delta(), Gain::new(8, 1));
        competition.on_round(&tuning(), 3);
        assert_eq!(competition.inverse_delta(), Gain::new(8, 1));
    }

    #[test]
    fn loss_reduces_the_packets_of_a_small_delta_and_leaves_those_of_a_large_one() {
        let reduced = |delta, times: u64| {
            let mut tuning = tuning();
            tuning.delta = delta;
            let mut competition = Competition::new(&tuning);
            for number in 1..=times {
                let now = at(number * 100);
                competition.on_marked(now, now, &tuning);
            }
            competition.inverse_delta()
        };
        assert_eq!(reduced(Gain::new(1, 20), 1), Gain::new(10, 1));
        assert_eq!(reduced(Gain::new(1, 20), 9), Gain::new(2, 1));
        assert_eq!(reduced(Gain::new(2, 1), 9), Gain::new(1, 2));
    }

    #[test]
    fn a_loss_that_was_none_is_taken_back() {
        let mut competition = competing_for(20);
        competition.on_lost(at(100), &lost(60), &tuning());
        competition.on_spurious_loss(&lost(60));
        assert_eq!(competition.inverse_delta(), Gain::new(20, 1));
    }
}
