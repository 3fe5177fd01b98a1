use crate::spec::{Changes, Clauses, LinkSpec};
use core::time::Duration;
use std::collections::VecDeque;
use units::Timestamp;

#[derive(Debug)]
pub(super) struct Schedule {
    base: Clauses,
    changes: Changes,
    /// The times of all changes count from here.
    begin: Timestamp,
    /// What is still to come, in order.
    ahead: VecDeque<Duration>,
}

impl Schedule {
    pub(super) fn new(spec: &LinkSpec, begin: Timestamp) -> Self {
        Self {
            base: spec.clauses.clone(),
            changes: spec.changes.clone(),
            begin,
            ahead: spec.changes.times().into_iter().collect(),
        }
    }

    pub(super) fn next_change(&self) -> Option<Timestamp> {
        self.ahead.front().map(|after| self.begin + *after)
    }

    pub(super) fn advance(&mut self) -> Option<Clauses> {
        let after = self.ahead.pop_front()?;
        Some(self.changes.clauses_at(&self.base, after))
    }
}
