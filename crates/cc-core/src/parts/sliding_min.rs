//! The minimum of recent times.

use core::time::Duration;
use units::Timestamp;

/// The minimum value in a window of time that ends with the newest value.
///
/// Values that are neither the minimum nor may become it are not kept, and of two that came within
/// a sixteenth of the window only the lesser is. So the memory is bounded, the minimum is never out
/// of date, and a value may be forgotten a sixteenth of the window too early. The newest value is
/// kept until another comes, however long that takes.
#[derive(Debug)]
pub(crate) struct SlidingMin {
    /// Later and greater, one after the other; the first `len` are in use.
    samples: [Sample; CAPACITY],
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Timestamp,
    value: Duration,
}

impl SlidingMin {
    pub(crate) fn new() -> Self {
        let unused = Sample {
            at: Timestamp::ZERO,
            value: Duration::ZERO,
        };
        Self {
            samples: [unused; CAPACITY],
            len: 0,
        }
    }

    /// A value of the present. The window may have another length each time.
    pub(crate) fn insert(&mut self, now: Timestamp, value: Duration, window: Duration) {
        while self.newest().is_some_and(|sample| sample.value >= value) {
            self.len -= 1;
        }
        let grain = window / GRAINS;
        let is_apart = self
            .newest()
            .is_none_or(|sample| now.since(sample.at) >= grain || now.since(sample.at) > window);
        if is_apart {
            // There is no room only where the window grew much. Then the newest sample is dropped,
            // which may make a later minimum too high, but never out of date.
            self.len = (self.len + 1).min(CAPACITY);
            self.samples[self.len - 1] = Sample { at: now, value };
        }
        let is_old = |sample: &&Sample| now.since(sample.at) > window;
        let old = self.samples[..self.len - 1]
            .iter()
            .take_while(is_old)
            .count();
        self.samples.copy_within(old..self.len, 0);
        self.len -= old;
    }

    /// The minimum value; `None` before the first.
    pub(crate) fn get(&self) -> Option<Duration> {
        self.samples[..self.len].first().map(|sample| sample.value)
    }

    fn newest(&self) -> Option<&Sample> {
        self.samples[..self.len].last()
    }
}

const GRAINS: u32 = 16;
/// One for each grain of the window, and one at either end.
const CAPACITY: usize = GRAINS as usize + 2;

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The answers after values at times, both in milliseconds, over a window of 160 ms.
    fn answers(values: &[(u64, u64)]) -> alloc::vec::Vec<u64> {
        let mut least = SlidingMin::new();
        assert_eq!(least.get(), None);
        let answer = |(at, value): &(u64, u64)| {
            least.insert(Timestamp::from_millis(*at), ms(*value), ms(160));
            least.get().unwrap().as_millis() as u64
        };
        values.iter().map(answer).collect()
    }

    #[test]
    fn the_least_holds_for_the_window_and_is_followed_by_the_next() {
        let values = [
            (0, 30),
            (50, 50),
            (100, 40),
            (160, 60),
            (161, 60),
            (261, 70),
        ];
        assert_eq!(answers(&values), [30, 30, 30, 30, 40, 60]);
    }

    #[test]
    fn a_lesser_value_counts_at_once() {
        assert_eq!(
            answers(&[(0, 30), (1, 29), (2, 29), (3, 8)]),
            [30, 29, 29, 8]
        );
    }

    #[test]
    fn the_last_value_survives_a_silence() {
        assert_eq!(answers(&[(0, 30), (5, 31), (10_000, 90)]), [30, 30, 90]);
    }

    #[test]
    fn an_equal_value_is_a_newer_one() {
        assert_eq!(answers(&[(0, 30), (5, 30), (163, 50)]), [30, 30, 30]);
    }

    #[test]
    fn of_values_within_a_grain_the_lesser_is_kept() {
        let values = [(0, 30), (20, 41), (29, 45), (161, 50), (181, 55)];
        assert_eq!(answers(&values), [30, 30, 30, 41, 50]);
    }

    #[test]
    fn any_number_of_rising_values_keeps_the_answer_within_the_window() {
        let mut least = SlidingMin::new();
        for at in 0..5_000 {
            // The window doubles and halves; the value is its own time.
            let window = 40 << (at / 100 % 3);
            least.insert(Timestamp::from_millis(at), ms(at), ms(window));
            let age = at - least.get().unwrap().as_millis() as u64;
            assert!(age <= window, "{at}: {age} of {window}");
        }
    }
}
