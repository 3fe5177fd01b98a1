use crate::gain::Gain;
use crate::parse::{ParseError, number_and_unit, scaled};
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};
use core::str::FromStr;

/// An amount of data in bytes.
///
/// `+` and `-` are those of `u64`: an overflow is a bug and panics where overflow checks are on.
/// Where the peer or the order of events can make a difference negative, use
/// [`saturating_sub`](Self::saturating_sub).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// `bytes` bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether this is nothing.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self − rhs`, or zero where that would be negative.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }

    /// `self + rhs`, or [`Bytes::MAX`].
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }

    /// How many packets of `size` hold this amount, rounded up.
    ///
    /// # Panics
    /// When `size` is zero.
    #[inline]
    pub const fn packets_ceil(self, size: Self) -> u64 {
        self.0.div_ceil(size.0)
    }

    /// How many whole packets of `size` fit into this amount.
    ///
    /// # Panics
    /// When `size` is zero.
    #[inline]
    pub const fn packets_floor(self, size: Self) -> u64 {
        self.0 / size.0
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, rhs: Self) {
        self.0 -= rhs.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    /// Saturates.
    #[inline]
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Mul<Gain> for Bytes {
    type Output = Self;
    /// Rounds down.
    #[inline]
    fn mul(self, rhs: Gain) -> Self {
        Self(rhs.of(self.0))
    }
}

impl Div<u64> for Bytes {
    type Output = Self;
    /// Rounds down.
    #[inline]
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Rem for Bytes {
    type Output = Self;
    #[inline]
    fn rem(self, rhs: Self) -> Self {
        Self(self.0 % rhs.0)
    }
}

impl Sum for Bytes {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl fmt::Display for Bytes {
    /// The plain number of bytes with `b` behind it, as tc prints sizes: `1500b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}b", self.0)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    /// Sizes as tc and iperf3 write them, in powers of 1024: `1500`, `1500b`, `64k`, `64kb`,
    /// `10m`, `1g`; also bits as tc: `12kbit`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a size, such as 1500, 64k or 10m (powers of 1024)");
        let (millionths, unit) = number_and_unit(text).ok_or_else(error)?;
        let (scale, divisor) = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => (1, 1),
            "k" | "kb" => (1 << 10, 1),
            "m" | "mb" => (1 << 20, 1),
            "g" | "gb" => (1 << 30, 1),
            "t" | "tb" => (1 << 40, 1),
            "kbit" => (1 << 10, 8),
            "mbit" => (1 << 20, 8),
            "gbit" => (1 << 30, 8),
            _ => return Err(error()),
        };
        scaled(millionths, scale)
            .map(|bytes| Self(bytes / divisor))
            .ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn sizes_are_powers_of_1024() {
        let size = |text: &str| text.parse::<Bytes>().unwrap().get();
        assert_eq!(size("1500"), 1500);
        assert_eq!(size("64k"), 65_536);
        assert_eq!(size("1.5M"), 1_572_864);
        assert_eq!(size("8kbit"), 1024);
        assert_eq!(size("2gb"), 2 << 30);
    }

    #[test]
    fn a_wrong_size_is_named() {
        let error = "64q".parse::<Bytes>().unwrap_err();
        assert!(
            error.to_string().starts_with("`64q` is not a size"),
            "{error}"
        );
    }

    #[test]
    fn packets_round_as_named() {
        assert_eq!(Bytes::new(3001).packets_ceil(Bytes::new(1500)), 3);
        assert_eq!(Bytes::new(3001).packets_floor(Bytes::new(1500)), 2);
    }
}
