//! Which connection's timeout comes first.

use quinn_proto::ConnectionHandle;
use std::collections::BTreeSet;
use std::time::Instant;

/// One deadline for each connection at most, in order of time.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    ordered: BTreeSet<(Instant, usize)>,
    /// What `ordered` has for a connection, by its handle.
    known: Vec<Option<Instant>>,
}

impl Deadlines {
    /// Sets, moves or removes a connection's deadline.
    pub(super) fn set(&mut self, handle: ConnectionHandle, deadline: Option<Instant>) {
        let index = handle.0;
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        if self.known[index] == deadline {
            return;
        }
        if let Some(before) = self.known[index] {
            self.ordered.remove(&(before, index));
        }
        if let Some(deadline) = deadline {
            self.ordered.insert((deadline, index));
        }
        self.known[index] = deadline;
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.ordered.first().map(|(deadline, _)| *deadline)
    }

    /// Removes and gives a connection whose deadline has passed.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnectionHandle> {
        let (deadline, index) = *self.ordered.first()?;
        if deadline > now {
            return None;
        }
        self.ordered.pop_first();
        self.known[index] = None;
        Some(ConnectionHandle(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn connections_come_due_in_order_and_once() {
        let start = crate::clock::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut deadlines = Deadlines::default();
        deadlines.set(ConnectionHandle(7), Some(at(30)));
        deadlines.set(ConnectionHandle(0), Some(at(20)));
        deadlines.set(ConnectionHandle(3), Some(at(10)));
        deadlines.set(ConnectionHandle(3), Some(at(25)));
        deadlines.set(ConnectionHandle(0), None);
        assert_eq!(deadlines.next(), Some(at(25)));
        assert_eq!(deadlines.pop_due(at(24)), None);
        assert_eq!(deadlines.pop_due(at(40)), Some(ConnectionHandle(3)));
        assert_eq!(deadlines.pop_due(at(40)), Some(ConnectionHandle(7)));
        assert_eq!(deadlines.pop_due(at(40)), None);
        assert_eq!(deadlines.next(), None);
    }
}
