//! The size of a flow-control window, whose growth the endpoint's budget pays.

use crate::budget::{Budget, Reservation};
use std::sync::Arc;

/// From what a window began with, or was set to, up to the most that it may have.
#[derive(Debug)]
pub(super) struct WindowSize {
    size: u64,
    least: u64,
    most: u64,
    reservation: Reservation,
}

impl WindowSize {
    pub(super) fn new((size, most): (u64, u64), budget: &Arc<Budget>) -> Self {
        Self {
            size,
            least: size,
            most: most.max(size),
            reservation: Reservation::new(Arc::clone(budget)),
        }
    }

    pub(super) fn get(&self) -> u64 {
        self.size
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Whether it may change at all.
    pub(super) fn is_open(&self) -> bool {
        self.least < self.most
    }

    /// Whether it is more than it began with, or was set to.
    pub(super) fn has_grown(&self) -> bool {
        self.size > self.least
    }

    /// `wanted`, as far as that is allowed.
    pub(super) fn clamp(&self, wanted: u64) -> u64 {
        wanted.clamp(self.least, self.most)
    }

    /// Stays at `size` from now on.
    pub(super) fn fix(&mut self, size: u64) {
        (self.size, self.least, self.most) = (size, size, size);
        self.reservation.clear();
    }

    /// Grows to `most` from now on, and never shrinks below what it is where it is fixed.
    pub(super) fn set_most(&mut self, most: u64) {
        self.most = most.max(self.least);
        self.shrink(self.size.saturating_sub(self.most));
    }

    /// Grows to `size`, as far as that is allowed and the budget has it. By how much.
    pub(super) fn grow_to(&mut self, size: u64) -> u64 {
        let wanted = size.min(self.most).saturating_sub(self.size);
        let growth = self.reservation.extend(wanted);
        self.size += growth;
        growth
    }

    /// Gives back as much of what it has grown by.
    pub(super) fn shrink(&mut self, by: u64) {
        self.size -= self.reservation.reduce(by);
    }
}
