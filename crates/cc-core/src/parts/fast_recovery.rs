//! Fast recovery as TCP's BBR uses it (Linux 5.x `bbr_set_cwnd_to_recover_or_restore`, and the part
//! of `tcp_fastretrans_alert` that it depends on; draft-cardwell-iccrg-bbr-congestion-control-02
//! §4.6.4.4).

use crate::events::LostPacket;
use units::{Bytes, Timestamp};

/// One loss recovery: it begins with a loss, and is over when nothing that was declared lost is
/// missing any more.
///
/// TCP stays in recovery while lost segments are not acknowledged. QUIC repeats data, not packets,
/// so the end is inferred: a packet is acknowledged that left after the newest loss was noticed,
/// and what the loss made the sender repeat left before that packet. A path that loses packets in
/// every round trip therefore makes one long recovery.
#[derive(Debug)]
pub(crate) struct FastRecovery {
    phase: Phase,
    /// When the newest loss was noticed.
    newest_loss_at: Timestamp,
    /// Sequence of the packet whose loss began the recovery; packets before it were lost earlier.
    first_lost: u64,
    /// Bytes declared lost since it began that have not arrived.
    missing: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is lost.
    Open,
    /// A loss was noticed since the last ACK.
    Entered,
    /// The first round trip: as much leaves as is delivered.
    Conserving,
    /// Later ones: the window grows as in slow start.
    Growing,
    /// All that was lost has arrived; the next ACK ends it.
    Undone,
}

/// What an ACK changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is the first of a recovery.
    Entered,
    /// It ended the recovery.
    Left,
}

impl FastRecovery {
    /// Nothing is lost yet.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            phase: Phase::Open,
            newest_loss_at: now,
            first_lost: 0,
            missing: Bytes::ZERO,
        }
    }

    /// Whether the window may be reduced because of loss.
    pub(crate) fn is_active(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Whether the window follows what is delivered: `packet_conservation`.
    pub(crate) fn conserves(&self) -> bool {
        self.phase == Phase::Conserving
    }

    /// Whether the first round trip is over, and the window may grow: recovery goes on.
    pub(crate) fn grows(&self) -> bool {
        self.phase == Phase::Growing
    }

    pub(crate) fn on_lost(&mut self, now: Timestamp, packet: &LostPacket) {
        if matches!(self.phase, Phase::Open | Phase::Undone) {
            self.phase = Phase::Entered;
            self.first_lost = packet.stamp.sequence;
            self.missing = Bytes::ZERO;
        }
        self.missing += packet.bytes;
        self.newest_loss_at = now;
    }

    /// A round trip has ended.
    pub(crate) fn on_round(&mut self) {
        if self.phase == Phase::Conserving {
            self.phase = Phase::Growing;
        }
    }

    /// An ACK whose newest packet left at `newest_sent_at`.
    pub(crate) fn on_ack(&mut self, newest_sent_at: Timestamp) -> Option<Change> {
        match self.phase {
            Phase::Open => None,
            Phase::Entered => {
                self.phase = Phase::Conserving;
                Some(Change::Entered)
            }
            Phase::Conserving | Phase::Growing if newest_sent_at <= self.newest_loss_at => None,
            Phase::Conserving | Phase::Growing | Phase::Undone => {
                self.phase = Phase::Open;
                Some(Change::Left)
            }
        }
    }

    /// A lost packet has arrived. Returns whether it was the last that the recovery missed.
    pub(crate) fn on_spurious_loss(&mut self, packet: &LostPacket) -> bool {
        if packet.stamp.sequence < self.first_lost || self.missing.is_zero() {
            return false;
        }
        self.missing = self.missing.saturating_sub(packet.bytes);
        let is_undone = self.missing.is_zero();
        if is_undone && self.is_active() {
            self.phase = Phase::Undone;
        }
        is_undone
    }

    /// Everything in flight was lost: the window grows from the bottom, without a round of
    /// conservation (`TCP_CA_Loss`).
    pub(crate) fn on_persistent_congestion(&mut self, now: Timestamp) {
        self.phase = Phase::Growing;
        self.newest_loss_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::controller_driver::{at, lost};

    #[test]
    fn a_recovery_conserves_for_a_round_grows_and_ends_behind_its_newest_loss() {
        let mut recovery = FastRecovery::new(at(0));
        recovery.on_lost(at(100), &lost(10));
        assert_eq!(recovery.on_ack(at(13)), Some(Change::Entered));
        assert!(recovery.conserves());
        recovery.on_round();
        assert!(!recovery.conserves());
        // A second loss, of a packet that left since: still the same recovery.
        recovery.on_lost(at(180), &lost(130));
        assert_eq!(recovery.on_ack(at(150)), None);
        assert_eq!(recovery.on_ack(at(180)), None);
        assert_eq!(recovery.on_ack(at(181)), Some(Change::Left));
        assert!(!recovery.is_active());
    }

    #[test]
    fn it_is_undone_when_all_that_was_lost_has_arrived() {
        let mut recovery = FastRecovery::new(at(0));
        recovery.on_lost(at(100), &lost(10));
        recovery.on_lost(at(100), &lost(11));
        recovery.on_ack(at(14));
        assert!(!recovery.on_spurious_loss(&lost(9)));
        assert!(!recovery.on_spurious_loss(&lost(10)));
        assert!(recovery.on_spurious_loss(&lost(11)));
        assert_eq!(recovery.on_ack(at(15)), Some(Change::Left));
        // Nothing is missing, so nothing more can be undone.
        assert!(!recovery.on_spurious_loss(&lost(12)));
    }

    #[test]
    fn what_an_earlier_recovery_misses_is_not_missing_in_the_next() {
        let mut recovery = FastRecovery::new(at(0));
        recovery.on_lost(at(100), &lost(10));
        recovery.on_ack(at(14));
        assert_eq!(recovery.on_ack(at(101)), Some(Change::Left));
        recovery.on_lost(at(200), &lost(110));
        assert!(recovery.on_spurious_loss(&lost(110)));
    }

    #[test]
    fn persistent_congestion_does_not_conserve() {
        let mut recovery = FastRecovery::new(at(0));
        recovery.on_lost(at(100), &lost(10));
        recovery.on_persistent_congestion(at(100));
        assert!(recovery.is_active() && !recovery.conserves());
        assert_eq!(recovery.on_ack(at(90)), None);
        assert_eq!(recovery.on_ack(at(101)), Some(Change::Left));
    }
}
