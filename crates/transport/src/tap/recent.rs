//! Which of the last packets have come.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Those of the last 128 numbers that have come, the newest in the lowest bit. Of older ones
/// quinn-proto takes the next alone ([`MAX_LATE`](crate::quinn_proto_habits::MAX_LATE)).
///
/// The thread that holds the connection reads and writes it, nobody else.
#[derive(Debug, Default)]
pub(super) struct Recent([AtomicU64; 2]);

impl Recent {
    fn load(&self) -> u128 {
        let [low, high] = &self.0;
        u128::from(high.load(Relaxed)) << 64 | u128::from(low.load(Relaxed))
    }

    /// This one has come, and `newest` was the newest before, or none with the number 0.
    pub(super) fn on_number(&self, number: u64, newest: u64) {
        let seen = self.load();
        let seen = match number.checked_sub(newest) {
            Some(ahead) => shifted(seen, ahead) | 1,
            None if newest - number < BITS => seen | 1 << (newest - number),
            None => return,
        };
        let [low, high] = &self.0;
        low.store(seen as u64, Relaxed);
        high.store((seen >> 64) as u64, Relaxed);
    }

    /// How many of them have not come.
    pub(super) fn missing(&self, newest: u64) -> u32 {
        let all = !shifted(u128::MAX, newest.saturating_add(1));
        (all & !self.load()).count_ones()
    }

    /// Whether one of them has not come.
    pub(super) fn has_gaps(&self, newest: u64) -> bool {
        self.missing(newest) > 0
    }
}

fn shifted(bits: u128, by: u64) -> u128 {
    match by {
        0..BITS => bits << by,
        _ => 0,
    }
}

const BITS: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there are gaps once these have come.
    fn has_gaps(numbers: impl IntoIterator<Item = u64>) -> bool {
        let (recent, mut newest) = (Recent::default(), 0);
        for number in numbers {
            recent.on_number(number, newest);
            newest = newest.max(number);
        }
        recent.has_gaps(newest)
    }

    #[test]
    fn missing_numbers_are_counted_among_the_last_128() {
        let (recent, mut newest) = (Recent::default(), 0);
        let mut count = |numbers: &mut dyn Iterator<Item = u64>| {
            for number in numbers {
                recent.on_number(number, newest);
                newest = newest.max(number);
            }
            recent.missing(newest)
        };
        assert_eq!(count(&mut (0..100).step_by(2)), 49);
        assert_eq!(count(&mut (1..100).step_by(4)), 24, "they were late");
        assert_eq!(count(&mut (100..164)), 16);
        assert_eq!(count(&mut (164..300)), 0);
        assert_eq!(count(&mut (1_000..1_001)), 127);
    }

    #[test]
    fn a_number_is_missing_until_it_has_come_or_would_be_dropped() {
        for last in [0, 1, 126, 127, 128, 129, 1_000] {
            assert!(!has_gaps(0..=last), "{last}");
        }
        assert!(has_gaps([1]) && has_gaps([0, 2]) && has_gaps([0, u64::MAX]));
        assert!(!has_gaps([0, 2, 1]) && !has_gaps([2, 1, 0]));
        assert!(has_gaps((0..100).chain(101..=227)));
        assert!(!has_gaps((0..100).chain(101..=228)));
        assert!(!has_gaps((0..100).chain(101..=227).chain([100])));
        assert!(has_gaps((1_000..1_127).chain([0])) && !has_gaps(1_000..1_128));
    }
}
