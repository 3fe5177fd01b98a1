//! The greatest of recent values.

/// The greatest value seen in the newest periods of a virtual time.
///
/// Time is whatever the owner counts: round trips, probing cycles. One maximum is kept for each of
/// the `PERIODS` newest periods, so the answer is exact for any window up to that long and the
/// memory does not depend on how many values come in a period. A period without a value is known
/// as such; it is not a period with the value zero.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMax<T, const PERIODS: usize> {
    /// Maximum of each period; period `p` is at `p % PERIODS`.
    maxima: [Option<T>; PERIODS],
    now: u64,
}

impl<T: Copy + Ord, const PERIODS: usize> WindowedMax<T, PERIODS> {
    pub(crate) fn new() -> Self {
        Self {
            maxima: [None; PERIODS],
            now: 0,
        }
    }

    /// Moves on to period `now`; an earlier one changes nothing.
    pub(crate) fn advance_to(&mut self, now: u64) {
        let passed = now.saturating_sub(self.now).min(PERIODS as u64);
        self.now = self.now.max(now);
        for back in 0..passed {
            self.maxima[Self::index(self.now - back)] = None;
        }
    }

    /// A value of the present period.
    pub(crate) fn insert(&mut self, value: T) {
        let present = &mut self.maxima[Self::index(self.now)];
        *present = (*present).max(Some(value));
    }

    /// The greatest value of the present period, if it had one.
    pub(crate) fn present(&self) -> Option<T> {
        self.maxima[Self::index(self.now)]
    }

    /// The greatest value of the newest `periods` periods, the present one among them; at most
    /// `PERIODS` are remembered.
    pub(crate) fn max_of(&self, periods: u64) -> Option<T> {
        (0..periods.min(PERIODS as u64).min(self.now + 1))
            .filter_map(|back| self.maxima[Self::index(self.now - back)])
            .max()
    }

    fn index(period: u64) -> usize {
        (period % PERIODS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_leaves_with_its_period() {
        let mut filter = WindowedMax::<u64, 2>::new();
        filter.insert(9);
        filter.advance_to(1);
        filter.insert(5);
        filter.insert(3);
        assert_eq!(filter.max_of(2), Some(9));
        filter.advance_to(2);
        assert_eq!(filter.max_of(2), Some(5));
        filter.advance_to(3);
        assert_eq!(filter.max_of(2), None);
    }

    #[test]
    fn a_shorter_window_sees_only_the_newest_periods() {
        let mut filter = WindowedMax::<u64, 10>::new();
        for (period, value) in [7, 4, 6, 1].into_iter().enumerate() {
            filter.advance_to(period as u64);
            filter.insert(value);
        }
        assert_eq!(filter.max_of(1), Some(1));
        assert_eq!(filter.max_of(2), Some(6));
        assert_eq!(filter.max_of(10), Some(7));
    }

    #[test]
    fn a_long_silence_forgets_everything_and_an_earlier_time_nothing() {
        let mut filter = WindowedMax::<u64, 4>::new();
        filter.insert(7);
        filter.advance_to(3);
        filter.advance_to(1);
        assert_eq!(filter.max_of(4), Some(7));
        filter.advance_to(1_000_000);
        assert_eq!(filter.max_of(4), None);
        assert_eq!(filter.present(), None);
    }
}
