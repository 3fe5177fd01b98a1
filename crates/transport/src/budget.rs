//! Memory that the connections of an endpoint share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// By how many bytes the flow-control windows of an endpoint's connections may have grown.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: AtomicU64,
    used: AtomicU64,
}

impl Budget {
    /// Reserves at most `limit` bytes from now on; what is reserved stays so.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Relaxed);
    }

    /// Bytes reserved.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    fn reserve(&self, wanted: u64) -> u64 {
        let mut granted = 0;
        let limit = self.limit.load(Relaxed);
        let reserved = self.used.fetch_update(Relaxed, Relaxed, |used| {
            granted = limit.saturating_sub(used).min(wanted);
            Some(used + granted)
        });
        reserved.expect("always some");
        granted
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            limit: AtomicU64::new(DEFAULT_LIMIT),
            used: AtomicU64::new(0),
        }
    }
}

/// A window's part of the budget, given back at the latest when its connection ends.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Reservation {
    /// None yet.
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, bytes: 0 }
    }

    /// As many of `wanted` more bytes as the budget has.
    pub(crate) fn extend(&mut self, wanted: u64) -> u64 {
        let granted = self.budget.reserve(wanted);
        self.bytes += granted;
        granted
    }

    /// Gives up to `unwanted` bytes back. How many.
    pub(crate) fn reduce(&mut self, unwanted: u64) -> u64 {
        let returned = unwanted.min(self.bytes);
        self.budget.used.fetch_sub(returned, Relaxed);
        self.bytes -= returned;
        returned
    }

    /// Gives all of it back.
    pub(crate) fn clear(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
        self.bytes = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.clear();
    }
}

/// 1 GiB: eight windows at their bound, or a thousand that have doubled.
const DEFAULT_LIMIT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_stays_within_the_limit_and_comes_back() {
        let budget = Arc::<Budget>::default();
        budget.set_limit(100);
        let mut first = Reservation::new(Arc::clone(&budget));
        let mut second = Reservation::new(Arc::clone(&budget));
        assert_eq!((first.extend(60), second.extend(60)), (60, 40));
        assert_eq!((first.extend(1), budget.used()), (0, 100));
        second.clear();
        assert_eq!((budget.used(), first.extend(10)), (60, 10));
        assert_eq!((first.reduce(10), budget.used()), (10, 60));
        assert_eq!((second.reduce(10), budget.used()), (0, 60), "has none");
        assert_eq!(first.extend(10), 10);
        budget.set_limit(50);
        assert_eq!(second.extend(1), 0, "nobody gives back what it has");
        drop((first, second));
        assert_eq!(budget.used(), 0);
    }
}
