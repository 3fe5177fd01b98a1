//! Recovery periods of the loss-based controllers (RFC 9002 §7.3.2), and their undoing.

use crate::events::LostPacket;
use units::{Bytes, Timestamp};

/// The newest recovery period: it begins with a congestion signal and is over when a packet that
/// left after its beginning is acknowledged.
///
/// One period, one reduction: whatever is lost or marked among the packets that left before it
/// began is the same congestion, in however many ranges and ACKs it is reported.
///
/// `S` is what the controller saves before it reduces. When every packet lost in the period has
/// arrived after all, there was no congestion and [`on_spurious_loss`](Self::on_spurious_loss)
/// returns it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveryPeriod<S> {
    started_at: Option<Timestamp>,
    is_over: bool,
    can_undo: bool,
    undo: Option<Undo<S>>,
}

/// What restores the state before a period.
#[derive(Debug, Clone, Copy)]
struct Undo<S> {
    saved: S,
    previous_start: Option<Timestamp>,
    /// Sequence of the packet whose loss began the period; packets before it were lost earlier.
    first_lost: u64,
    /// Bytes declared lost in the period that have not arrived.
    missing: Bytes,
}

impl<S: Copy> RecoveryPeriod<S> {
    /// No period yet; `can_undo` is whether periods may be undone.
    pub(crate) fn new(can_undo: bool) -> Self {
        Self {
            started_at: None,
            is_over: true,
            can_undo,
            undo: None,
        }
    }

    /// Whether the window does not grow now.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_over
    }

    /// A packet was lost. Returns whether that begins a period; then `saved` is how things are
    /// before the reduction.
    pub(crate) fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, saved: S) -> bool {
        if self.covers(packet.stamp.sent_at) {
            if let Some(undo) = &mut self.undo {
                undo.missing += packet.bytes;
            }
            return false;
        }
        self.undo = self.can_undo.then_some(Undo {
            saved,
            previous_start: self.started_at,
            first_lost: packet.stamp.sequence,
            missing: packet.bytes,
        });
        self.begin(now);
        true
    }

    /// A packet that left at `sent_at` was reported as marked Congestion Experienced. Returns
    /// whether that begins a period.
    ///
    /// A mark is never spurious, so the period can no longer be undone.
    pub(crate) fn on_marked(&mut self, now: Timestamp, sent_at: Timestamp) -> bool {
        self.undo = None;
        let is_new = !self.covers(sent_at);
        if is_new {
            self.begin(now);
        }
        is_new
    }

    /// The newest packet of an ACK left at `sent_at`.
    pub(crate) fn on_acked(&mut self, sent_at: Timestamp) {
        if !self.covers(sent_at) {
            self.is_over = true;
        }
    }

    /// A lost packet has arrived. Returns what was saved, once none is missing any more.
    pub(crate) fn on_spurious_loss(&mut self, packet: &LostPacket) -> Option<S> {
        let undo = self.undo.as_mut()?;
        if packet.stamp.sequence < undo.first_lost {
            return None;
        }
        undo.missing = undo.missing.saturating_sub(packet.bytes);
        if !undo.missing.is_zero() {
            return None;
        }
        let Undo {
            saved,
            previous_start,
            ..
        } = *undo;
        self.undo = None;
        self.started_at = previous_start;
        self.is_over = true;
        Some(saved)
    }

    /// The next loss begins a period whenever its packet left (RFC 9002 §7.6.2 and appendix B.8).
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.can_undo);
    }

    fn covers(&self, sent_at: Timestamp) -> bool {
        self.started_at.is_some_and(|start| sent_at <= start)
    }

    fn begin(&mut self, now: Timestamp) {
        self.started_at = Some(now);
        self.is_over = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::controller_driver::{at, lost};

    #[test]
    fn everything_sent_before_a_period_began_belongs_to_it() {
        let mut recovery = RecoveryPeriod::new(true);
        assert!(recovery.on_lost(at(100), &lost(10), 'a'));
        assert!(!recovery.on_lost(at(100), &lost(12), 'b'));
        assert!(!recovery.on_lost(at(150), &lost(90), 'b'));
        assert!(!recovery.on_marked(at(150), at(100)));
        recovery.on_acked(at(100));
        assert!(recovery.is_active());
        recovery.on_acked(at(101));
        assert!(!recovery.is_active());
        assert!(recovery.on_lost(at(200), &lost(101), 'c'));
    }

    #[test]
    fn a_period_is_undone_when_its_last_lost_packet_has_arrived() {
        let mut recovery = RecoveryPeriod::new(true);
        recovery.on_lost(at(100), &lost(10), 'a');
        recovery.on_lost(at(110), &lost(11), 'b');
        assert_eq!(recovery.on_spurious_loss(&lost(11)), None);
        // Lost in an earlier period.
        assert_eq!(recovery.on_spurious_loss(&lost(9)), None);
        assert_eq!(recovery.on_spurious_loss(&lost(10)), Some('a'));
        assert!(!recovery.is_active());
        // The state is as before the period: the same packets can begin another.
        assert!(recovery.on_lost(at(120), &lost(12), 'c'));
    }

    #[test]
    fn a_mark_or_persistent_congestion_makes_a_period_final() {
        let mut recovery = RecoveryPeriod::new(true);
        recovery.on_lost(at(100), &lost(10), 'a');
        recovery.on_marked(at(101), at(50));
        assert_eq!(recovery.on_spurious_loss(&lost(10)), None);
        recovery.on_lost(at(300), &lost(200), 'b');
        recovery.forget();
        assert_eq!(recovery.on_spurious_loss(&lost(200)), None);
        assert!(recovery.on_lost(at(301), &lost(201), 'c'));
    }

    #[test]
    fn nothing_is_undone_where_that_is_turned_off() {
        let mut recovery = RecoveryPeriod::new(false);
        recovery.on_lost(at(100), &lost(10), 'a');
        assert_eq!(recovery.on_spurious_loss(&lost(10)), None);
    }
}
