//! Which packets carried ECT(1).

use units::Timestamp;

/// Whether packets carry ECT(1), where that may change while they are in flight: a mark is answered
/// as the packet was sent, because that decided which queue marked it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ect1 {
    is_sent: bool,
    /// When `is_sent` last changed.
    changed_at: Option<Timestamp>,
}

impl Ect1 {
    pub(super) fn new(is_sent: bool) -> Self {
        Self {
            is_sent,
            changed_at: None,
        }
    }

    /// Whether what leaves now carries it.
    pub(super) fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Packets that leave at `now` or later carry it, or do not. Returns whether that is a change.
    pub(super) fn set(&mut self, now: Timestamp, is_sent: bool) -> bool {
        let changes = self.is_sent != is_sent;
        if changes {
            *self = Self {
                is_sent,
                changed_at: Some(now),
            };
        }
        changes
    }

    /// Whether a packet carried it that left at `sent_at`; only the newest change is known.
    pub(super) fn was_sent(&self, sent_at: Timestamp) -> bool {
        let is_older = self.changed_at.is_some_and(|at| sent_at < at);
        self.is_sent != is_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::controller_driver::at;

    #[test]
    fn packets_carry_what_was_in_force_when_they_left() {
        let mut ect1 = Ect1::new(true);
        assert!(ect1.was_sent(at(0)));
        assert!(!ect1.set(at(5), true));
        assert!(ect1.set(at(10), false));
        assert!(ect1.was_sent(at(9)));
        assert!(!ect1.was_sent(at(10)));
        assert!(ect1.set(at(20), true));
        assert!(!ect1.was_sent(at(19)));
        assert!(ect1.was_sent(at(20)));
    }
}
