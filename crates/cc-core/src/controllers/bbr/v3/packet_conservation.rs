//! Packet conservation (draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.4).

use super::recovery::{RecoveryPolicy, Undo, UndoBounds, UndoState};
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::fast_recovery::{Change, FastRecovery};
use crate::parts::round::RoundCounter;
use crate::sampler::RateSample;
use units::Timestamp;

/// Fast recovery whose first round trip lets no more leave than is delivered. An undo restores the
/// window alone; the model stays as loss has left it until the next probe.
#[derive(Debug)]
pub(crate) struct PacketConservation {
    recovery: FastRecovery,
    /// Round trips since the recovery began; the model's go on as they were.
    round: RoundCounter,
}

impl RecoveryPolicy for PacketConservation {
    fn new(now: Timestamp) -> Self {
        Self {
            recovery: FastRecovery::new(now),
            round: RoundCounter::default(),
        }
    }

    fn is_active(&self) -> bool {
        self.recovery.is_active()
    }

    fn begins_with(&self, _packet: &LostPacket) -> bool {
        !self.recovery.is_active()
    }

    fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, _bounds: UndoBounds) {
        self.recovery.on_lost(now, packet);
    }

    fn on_exit(&mut self, _state: UndoState) {}

    fn on_ack(&mut self, path: &PathState, sample: &RateSample) -> Option<Change> {
        self.round.on_ack(sample.prior_delivered, path.delivered);
        if self.round.is_start {
            self.recovery.on_round();
        }
        let change = self.recovery.on_ack(sample.newest_sent_at);
        if change == Some(Change::Entered) {
            self.round.restart(path.delivered);
        }
        change
    }

    fn conserves(&self) -> bool {
        self.recovery.conserves()
    }

    fn has_seen_a_round(&self) -> bool {
        self.recovery.grows()
    }

    fn on_late_arrival(&mut self, packet: &LostPacket) -> Option<Undo> {
        self.recovery.on_spurious_loss(packet);
        None
    }

    fn on_persistent_congestion(&mut self, now: Timestamp) {
        self.recovery.on_persistent_congestion(now);
    }
}
