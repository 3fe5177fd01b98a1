//! What metrics have not been told yet.

use crate::connection::Shared;
use crate::totals::Groups;
use std::array;

/// An endpoint's part of the next report.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// What connections have counted that have ended since the last report.
    pub(super) ended: Groups,
    /// The endpoint's own counters as they were at the last report.
    reported: [u64; COUNTERS],
}

impl Unreported {
    pub(super) fn count_ended(&mut self, connection: &Shared) {
        let mut state = connection.lock();
        let (group, _) = state.count_into(&mut self.ended);
        if !state.is_connected {
            self.ended.entry(group).or_default().failed_handshakes += 1;
        }
    }

    /// What has come to the endpoint's own counters since this was last called.
    pub(super) fn advance(&mut self, now: [u64; COUNTERS]) -> [u64; COUNTERS] {
        let before = std::mem::replace(&mut self.reported, now);
        array::from_fn(|index| now[index].saturating_sub(before[index]))
    }
}

/// How many counters an endpoint has of its own.
pub(super) const COUNTERS: usize = 11;
