//! Sets of integers as sorted ranges.

use core::ops::Range;

/// Disjoint, not touching ranges in ascending order. Fast where numbers arrive nearly in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; answers how many of its numbers are new.
    pub(crate) fn insert(&mut self, new: Range<u64>) -> u64 {
        if new.is_empty() {
            return 0;
        }
        if let Some(last) = self.ranges.last_mut()
            && last.start <= new.start
            && new.start <= last.end
        {
            let grown = new.end.saturating_sub(last.end);
            last.end += grown;
            return grown;
        }
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let past = self.ranges.partition_point(|range| range.start <= new.end);
        let known: u64 = self.ranges[first..past]
            .iter()
            .map(|r| overlap(r, &new))
            .sum();
        let merged = self.ranges[first..past].iter().fold(new.clone(), |sum, r| {
            sum.start.min(r.start)..sum.end.max(r.end)
        });
        self.ranges.splice(first..past, [merged]);
        new.end - new.start - known
    }

    /// Whether all of `wanted`, which is not empty, is in the set.
    pub(crate) fn contains(&self, wanted: &Range<u64>) -> bool {
        let index = self
            .ranges
            .partition_point(|range| range.end <= wanted.start);
        let found = self.ranges.get(index);
        found.is_some_and(|range| range.start <= wanted.start && wanted.end <= range.end)
    }

    /// The end of the range that starts at zero: everything below it is in the set.
    pub(crate) fn contiguous_end(&self) -> u64 {
        match self.ranges.first() {
            Some(range) if range.start == 0 => range.end,
            _ => 0,
        }
    }

    /// The highest `count` ranges, in ascending order.
    pub(crate) fn newest(&self, count: usize) -> &[Range<u64>] {
        &self.ranges[self.ranges.len().saturating_sub(count)..]
    }

    /// Forgets all but the highest `count` ranges.
    pub(crate) fn keep_newest(&mut self, count: usize) {
        let excess = self.ranges.len().saturating_sub(count);
        self.ranges.drain(..excess);
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> u64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut set = RangeSet::default();
        assert_eq!(set.insert(0..3), 3);
        assert_eq!(set.insert(5..8), 3);
        assert_eq!(set.contiguous_end(), 3);
        assert_eq!(set.insert(2..6), 2);
        assert_eq!(set.newest(9).to_vec(), vec![Range { start: 0, end: 8 }]);
        assert_eq!(set.contiguous_end(), 8);
    }

    #[test]
    fn any_order_of_insertion_gives_the_set_of_numbers() {
        let mut rng = Rng::new(5);
        let (mut set, mut numbers) = (RangeSet::default(), [false; 300]);
        for _ in 0..400 {
            let start = rng.below(290);
            let range = start..start + rng.below(10);
            let new = range.clone().filter(|n| !numbers[*n as usize]).count();
            assert_eq!(set.insert(range.clone()), new as u64);
            range.for_each(|n| numbers[n as usize] = true);
            let is_equal = (0..300).all(|n| set.contains(&(n..n + 1)) == numbers[n as usize]);
            assert!(is_equal, "{set:?}");
        }
    }
}
