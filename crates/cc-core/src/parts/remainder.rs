//! Division whose remainders are not lost over many small steps.

/// The remainder of one division, added to the next.
///
/// A window grows by a fraction of a byte per ACK; rounded down each time it would not grow. A
/// remainder of a larger denominator, as that of a window that has shrunk since, counts as less
/// than one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Remainder(u64);

impl Remainder {
    /// The whole part of `numerator / denominator` plus what earlier calls left; saturates.
    ///
    /// # Panics
    /// When `denominator` is zero.
    pub(crate) fn divide(&mut self, numerator: u128, denominator: u64) -> u64 {
        let rest = self.0.min(denominator - 1);
        let sum = numerator.saturating_add(u128::from(rest));
        let (quotient, remainder) = match u64::try_from(sum) {
            Ok(sum) => (sum / denominator, sum % denominator),
            Err(_) => divide_wide(sum, denominator),
        };
        self.0 = remainder;
        quotient
    }
}

fn divide_wide(sum: u128, denominator: u64) -> (u64, u64) {
    let denominator = u128::from(denominator);
    let remainder = u64::try_from(sum % denominator).expect("a remainder is below its divisor");
    (
        u64::try_from(sum / denominator).unwrap_or(u64::MAX),
        remainder,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_thirds_are_333() {
        let mut carry = Remainder::default();
        assert_eq!((0..1_000).map(|_| carry.divide(1, 3)).sum::<u64>(), 333);
    }

    #[test]
    fn what_a_larger_denominator_left_is_less_than_one() {
        let mut carry = Remainder::default();
        assert_eq!(carry.divide(999_999, 1_000_000), 0);
        assert_eq!(carry.divide(3, 3), 1);
        assert_eq!(carry.divide(1, 3), 1);
    }

    #[test]
    fn wide_numerators_are_exact_and_the_rest_saturates() {
        let mut carry = Remainder::default();
        let numerator = u128::from(u64::MAX) * 7 + 5;
        assert_eq!(carry.divide(numerator, 7), u64::MAX);
        assert_eq!(carry.divide(2, 7), 1);
        assert_eq!(carry.divide(u128::MAX, 1), u64::MAX);
    }
}
