//! Log-linear buckets of histograms, each at most a fixed share of its values wide.

/// Numbers the buckets of values: 2^`SUB_BITS` equal ones to each factor of two. Values below
/// 2^`SUB_BITS` have a bucket each. Above, a bucket is at most 1/2^`SUB_BITS` of its values wide.
///
/// ```
/// use units::histogram::Buckets;
///
/// type Eighths = Buckets<3>;
/// assert_eq!(Eighths::highest(Eighths::index(1_000)), 1_023);
/// assert_eq!(Eighths::index(u64::MAX), Eighths::COUNT - 1);
/// ```
#[derive(Debug)]
pub enum Buckets<const SUB_BITS: u32> {}

impl<const SUB_BITS: u32> Buckets<SUB_BITS> {
    /// How many buckets hold all values.
    pub const COUNT: usize = (65 - SUB_BITS as usize) << SUB_BITS;

    const SUB_BUCKETS: u64 = 1 << SUB_BITS;

    /// The number of the bucket into which `value` falls. Numbers start at 0 and rise with the
    /// value.
    #[inline]
    pub const fn index(value: u64) -> usize {
        if value < Self::SUB_BUCKETS {
            return value as usize;
        }
        let octave = value.ilog2() - SUB_BITS;
        // The first bucket of an octave is the one that the leading bit alone selects.
        ((octave as usize) << SUB_BITS) + (value >> octave) as usize
    }

    /// The largest value that falls into the bucket `index`, which is below
    /// [`COUNT`](Self::COUNT).
    #[inline]
    pub const fn highest(index: usize) -> u64 {
        let index = index as u64;
        if index < Self::SUB_BUCKETS {
            return index;
        }
        let octave = index / Self::SUB_BUCKETS - 1;
        let lowest = (index % Self::SUB_BUCKETS + Self::SUB_BUCKETS) << octave;
        lowest + ((1 << octave) - 1)
    }
}

/// The index of the bucket that holds the value of this rank, counted from 1 in ascending order;
/// `None` if the buckets hold fewer values.
#[inline]
pub fn index_of_rank(counts: impl IntoIterator<Item = u64>, rank: u64) -> Option<usize> {
    let mut seen = 0;
    counts.into_iter().position(|count| {
        seen += count;
        seen >= rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const SUB_BITS: u32>() {
        for index in 0..Buckets::<SUB_BITS>::COUNT {
            let highest = Buckets::<SUB_BITS>::highest(index);
            assert_eq!(Buckets::<SUB_BITS>::index(highest), index);
            match highest.checked_add(1) {
                Some(next) => assert_eq!(Buckets::<SUB_BITS>::index(next), index + 1),
                None => assert_eq!(index + 1, Buckets::<SUB_BITS>::COUNT),
            }
        }
        for value in (0..2_000).chain([u64::MAX, u64::MAX / 3, 1 << 40]) {
            let highest = Buckets::<SUB_BITS>::highest(Buckets::<SUB_BITS>::index(value));
            assert!(
                highest >= value && highest - value <= value >> SUB_BITS,
                "{value}"
            );
        }
    }

    #[test]
    fn buckets_are_narrow_and_each_begins_where_the_one_before_ends() {
        check::<2>();
        check::<3>();
        check::<5>();
    }

    #[test]
    fn a_rank_is_found_in_the_bucket_that_reaches_it() {
        let counts = [0, 2, 0, 3];
        assert_eq!(index_of_rank(counts, 1), Some(1));
        assert_eq!(index_of_rank(counts, 2), Some(1));
        assert_eq!(index_of_rank(counts, 3), Some(3));
        assert_eq!(index_of_rank(counts, 5), Some(3));
        assert_eq!(index_of_rank(counts, 6), None);
    }
}
