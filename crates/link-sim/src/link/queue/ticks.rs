use core::time::Duration;
use units::{Timestamp, duration};

/// A timer that fires at every multiple of its period, and is asked about it later.
#[derive(Debug)]
pub(super) struct Ticks {
    every: Duration,
    next: Timestamp,
}

impl Ticks {
    /// # Panics
    /// When the period is zero.
    pub(super) fn new(every: Duration) -> Self {
        assert!(!every.is_zero(), "a timer has a period");
        Self {
            every,
            next: Timestamp::ZERO + every,
        }
    }

    /// How often it fired up to and including `now` since this was asked last, and when first.
    pub(super) fn elapsed(&mut self, now: Timestamp) -> Option<(u64, Timestamp)> {
        if now < self.next {
            return None;
        }
        let first = self.next;
        let every = duration::nanos(self.every);
        let count = duration::nanos(now.since(first)) / every + 1;
        self.next = first + Duration::from_nanos(every.saturating_mul(count));
        Some((count, first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_is_counted_once_with_the_time_of_the_first() {
        let mut ticks = Ticks::new(Duration::from_millis(10));
        let mut at = |millis| ticks.elapsed(Timestamp::from_millis(millis));
        assert_eq!(at(9), None);
        assert_eq!(at(10), Some((1, Timestamp::from_millis(10))));
        assert_eq!(at(10), None);
        assert_eq!(at(49), Some((3, Timestamp::from_millis(20))));
        assert_eq!(at(50), Some((1, Timestamp::from_millis(50))));
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let mut ticks = Ticks::new(Duration::from_nanos(1));
        assert_eq!(ticks.elapsed(Timestamp::MAX).unwrap().0, u64::MAX);
        assert!(ticks.elapsed(Timestamp::MAX).is_some());
        let mut ticks = Ticks::new(Duration::MAX);
        assert_eq!(ticks.elapsed(Timestamp::from_millis(1)), None);
    }
}
