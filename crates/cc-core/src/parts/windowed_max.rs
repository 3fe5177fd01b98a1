//! The greatest of recent values.

/// The maximum value seen in the newest periods of a virtual time.
///
/// Time is whatever the owner counts: round trips, probing cycles. At most one maximum is kept for
/// each of the `PERIODS` newest periods, so the answer is exact for any window up to that long and
/// the memory does not depend on how many values come in a period. A period without a value is
/// known as such; it is not a period with the value zero.
///
/// The maximum is read several times per ACK. So what a later period has matched, which can never
/// be the greatest again, is not kept, and the greatest of all is the oldest.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMax<T, const PERIODS: usize> {
    /// Maxima with their periods, from `first` on around: periods rise, values fall.
    maxima: [Option<(u64, T)>; PERIODS],
    first: usize,
    len: usize,
    now: u64,
}

impl<T: Copy + Ord, const PERIODS: usize> WindowedMax<T, PERIODS> {
    pub(crate) fn new() -> Self {
        Self {
            maxima: [None; PERIODS],
            first: 0,
            len: 0,
            now: 0,
        }
    }

    /// Moves on to period `now`; an earlier one changes nothing.
    pub(crate) fn advance_to(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// A value of the present period.
    pub(crate) fn insert(&mut self, value: T) {
        while let Some((period, newest)) = self.newest() {
            if period == self.now && newest >= value {
                return;
            }
            if newest > value {
                break;
            }
            self.len -= 1;
        }
        while self
            .oldest()
            .is_some_and(|oldest| !self.is_within(oldest.0, PERIODS as u64))
        {
            self.first = self.index(1);
            self.len -= 1;
        }
        self.maxima[self.index(self.len)] = Some((self.now, value));
        self.len += 1;
    }

    /// The maximum value of the present period, if it had one.
    pub(crate) fn present(&self) -> Option<T> {
        let (period, newest) = self.newest()?;
        (period == self.now).then_some(newest)
    }

    /// The maximum value of the newest `periods` periods, the present one among them; at most
    /// `PERIODS` are remembered.
    pub(crate) fn max_of(&self, periods: u64) -> Option<T> {
        let periods = periods.min(PERIODS as u64);
        let mut maxima = (0..self.len).filter_map(|place| self.at(place));
        let (_, greatest) = maxima.find(|(period, _)| self.is_within(*period, periods))?;
        Some(greatest)
    }

    fn is_within(&self, period: u64, periods: u64) -> bool {
        self.now - period < periods
    }

    fn oldest(&self) -> Option<(u64, T)> {
        self.at(0).filter(|_| self.len > 0)
    }

    fn newest(&self) -> Option<(u64, T)> {
        self.at(self.len.checked_sub(1)?)
    }

    fn at(&self, place: usize) -> Option<(u64, T)> {
        self.maxima[self.index(place)]
    }

    /// Where the maximum is that comes `place` after the first, at most once around.
    fn index(&self, place: usize) -> usize {
        let index = self.first + place;
        if index < PERIODS {
            index
        } else {
            index - PERIODS
        }
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

    /// One maximum for each period.
    struct Plain {
        maxima: alloc::vec::Vec<Option<u64>>,
    }

    impl Plain {
        fn insert(&mut self, value: u64) {
            let present = self.maxima.last_mut().unwrap();
            *present = (*present).max(Some(value));
        }

        fn max_of(&self, periods: u64) -> Option<u64> {
            let newest = self.maxima.iter().rev().take(periods as usize);
            newest.copied().max().flatten()
        }
    }

    #[test]
    fn it_answers_what_a_list_of_all_periods_answers() {
        let mut rng = units::Rng::new(3);
        let mut filter = WindowedMax::<u64, 7>::new();
        let mut plain = Plain {
            maxima: alloc::vec![None],
        };
        for _ in 0..20_000 {
            if rng.below(4) == 0 {
                let passed = if rng.below(20) == 0 { 12 } else { 1 };
                let periods = plain.maxima.len() + passed;
                plain.maxima.resize(periods, None);
                filter.advance_to(periods as u64 - 1);
            }
            if rng.below(3) > 0 {
                // Few different values, so that many are equal.
                let value = rng.below(12);
                plain.insert(value);
                filter.insert(value);
            }
            assert_eq!(filter.present(), plain.max_of(1));
            for periods in 1..=7 {
                assert_eq!(filter.max_of(periods), plain.max_of(periods));
            }
            assert_eq!(filter.max_of(u64::MAX), plain.max_of(7));
        }
    }
}
