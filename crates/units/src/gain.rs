use crate::parse::{ParseError, number_and_unit};
use core::fmt;
use core::ops::Mul;
use core::str::FromStr;

/// A dimensionless factor: a gain, a probability, a share, a threshold.
///
/// Held in millionths, so that every number a specification prints (2.77, 2 %, 0.85) is exact.
/// The range is 0 … 1.8e13.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gain(u64);

impl Gain {
    /// Nothing; a probability of never.
    pub const ZERO: Self = Self(0);
    /// One; a probability of always.
    pub const ONE: Self = Self(MILLION);

    /// `numerator ÷ denominator`, rounded down to a millionth.
    ///
    /// # Panics
    /// When `denominator` is zero or the numerator exceeds 1.8e13.
    #[inline]
    pub const fn new(numerator: u64, denominator: u64) -> Self {
        Self(numerator * MILLION / denominator)
    }

    /// `millionths` ÷ 10^6.
    #[inline]
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// `percent` %.
    #[inline]
    pub const fn percent(percent: u64) -> Self {
        Self::new(percent, 100)
    }

    /// This factor in millionths.
    #[inline]
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// `value × self`, rounded down, saturating.
    #[inline]
    pub fn of(self, value: u64) -> u64 {
        match value.checked_mul(self.0) {
            Some(product) => product / MILLION,
            None => u64::try_from(u128::from(value) * u128::from(self.0) / u128::from(MILLION))
                .unwrap_or(u64::MAX),
        }
    }

    /// `value × self`, rounded up, saturating.
    #[inline]
    pub fn of_ceil(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.0);
        u64::try_from(product.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX)
    }

    /// `1 − self`, or zero when this factor is above one.
    #[must_use]
    #[inline]
    pub const fn complement(self) -> Self {
        Self(MILLION.saturating_sub(self.0))
    }

    /// This factor as a floating-point number, for statistics and pictures.
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }
}

impl Mul for Gain {
    type Output = Self;
    /// Rounds down to a millionth.
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        Self(rhs.of(self.0))
    }
}

impl fmt::Debug for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Gain {
    /// The shortest exact decimal: `2.77`, `0.9`, `2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_millionths(f, u128::from(self.0))
    }
}

impl FromStr for Gain {
    type Err = ParseError;

    /// A decimal number, `2.77`, or a percentage, `2%`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a factor, such as 0.7, or a percentage, such as 2%");
        let (millionths, unit) = number_and_unit(text).ok_or_else(error)?;
        match unit {
            "" => Ok(Self(millionths)),
            // A millionth of a percent is below the resolution; round to the nearest.
            "%" => Ok(Self((millionths + 50) / 100)),
            _ => Err(error()),
        }
    }
}

/// Writes `value ÷ 10^6` as the shortest exact decimal.
#[inline]
pub(crate) fn write_millionths(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    let million = u128::from(MILLION);
    write!(f, "{}", value / million)?;
    let (mut fraction, mut digits) = (value % million, 6);
    if fraction == 0 {
        return Ok(());
    }
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    write!(f, ".{fraction:0digits$}")
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_numbers_of_specifications_are_exact() {
        assert_eq!("2.77".parse::<Gain>().unwrap(), Gain::new(277, 100));
        assert_eq!("2%".parse::<Gain>().unwrap(), Gain::percent(2));
        assert_eq!("0.00001%".parse::<Gain>().unwrap(), Gain::ZERO);
        assert_eq!(Gain::new(17, 10).to_string(), "1.7");
        assert_eq!(Gain::new(1, 20).to_string(), "0.05");
        assert_eq!(Gain::new(3, 1).to_string(), "3");
    }

    #[test]
    fn products_round_down_or_up_as_named_even_beyond_64_bits() {
        let two_percent = Gain::percent(2);
        assert_eq!(two_percent.of(149), 2);
        assert_eq!(two_percent.of_ceil(101), 3);
        assert_eq!(Gain::new(1, 2).of(u64::MAX), u64::MAX / 2);
        assert_eq!(Gain::new(2, 1).of(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_complement_of_more_than_one_is_zero() {
        assert_eq!(Gain::percent(15).complement(), Gain::percent(85));
        assert_eq!(Gain::new(5, 4).complement(), Gain::ZERO);
    }
}
