use crate::bytes::Bytes;
use crate::gain::Gain;
use crate::parse::{ParseError, number_and_unit, scaled};
use core::fmt;
use core::ops::{Add, Div, Mul, Sub};
use core::str::FromStr;
use core::time::Duration;

/// A data rate, held in bytes per second.
///
/// People read and write it in bits per second with decimal prefixes: [`Display`](fmt::Display)
/// and [`FromStr`] speak tc's `100mbit`. The smallest rate above zero is 8 bit/s.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// No data at all.
    pub const ZERO: Self = Self(0);
    /// Faster than anything: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// `rate` bytes per second.
    #[inline]
    pub const fn from_bytes_per_sec(rate: u64) -> Self {
        Self(rate)
    }

    /// `rate` bits per second, rounded down to whole bytes.
    #[inline]
    pub const fn from_bits_per_sec(rate: u64) -> Self {
        Self(rate / 8)
    }

    /// `bytes` in `interval`, rounded down; [`Bandwidth::MAX`] when the interval is zero.
    #[inline]
    pub fn from_transfer(bytes: Bytes, interval: Duration) -> Self {
        Self::from_transfer_in_nanos(bytes, crate::duration::nanos(interval))
    }

    /// [`from_transfer`](Self::from_transfer) with the interval in nanoseconds.
    #[inline]
    pub fn from_transfer_in_nanos(bytes: Bytes, nanos: u64) -> Self {
        if nanos == 0 {
            return Self::MAX;
        }
        // 18.4 GB is where bytes × 10^9 leaves 64 bits; nearly every interval stays below.
        match bytes.get().checked_mul(NANOS_PER_SEC) {
            Some(product) => Self(product / nanos),
            None => Self(saturate(
                u128::from(bytes.get()) * u128::from(NANOS_PER_SEC) / u128::from(nanos),
            )),
        }
    }

    /// Bytes per second.
    #[inline]
    pub const fn bytes_per_sec(self) -> u64 {
        self.0
    }

    /// Bits per second, saturating.
    #[inline]
    pub const fn bits_per_sec(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// Whether this is no data at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// What this rate carries in `time`, rounded down, saturating.
    #[inline]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        self.bytes_in_nanos(crate::duration::nanos(time))
    }

    /// [`bytes_in`](Self::bytes_in) with the time in nanoseconds.
    #[inline]
    pub fn bytes_in_nanos(self, nanos: u64) -> Bytes {
        Bytes::new(match self.0.checked_mul(nanos) {
            Some(product) => product / NANOS_PER_SEC,
            None => saturate(u128::from(self.0) * u128::from(nanos) / u128::from(NANOS_PER_SEC)),
        })
    }

    /// How long `bytes` take at this rate, rounded up to a nanosecond; [`Duration::MAX`] at rate
    /// zero.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return if bytes.is_zero() {
                Duration::ZERO
            } else {
                Duration::MAX
            };
        }
        Duration::from_nanos(match bytes.get().checked_mul(NANOS_PER_SEC) {
            Some(product) => product.div_ceil(self.0),
            None => saturate(
                (u128::from(bytes.get()) * u128::from(NANOS_PER_SEC)).div_ceil(u128::from(self.0)),
            ),
        })
    }

    /// `self + rhs`, or [`Bandwidth::MAX`].
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Add for Bandwidth {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Sub for Bandwidth {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<Duration> for Bandwidth {
    type Output = Bytes;
    /// Rounds down.
    #[inline]
    fn mul(self, rhs: Duration) -> Bytes {
        self.bytes_in(rhs)
    }
}

impl Div<Bandwidth> for Bytes {
    type Output = Duration;
    /// The time that this amount takes at that rate, rounded up to a nanosecond;
    /// [`Duration::MAX`] at rate zero.
    #[inline]
    fn div(self, rhs: Bandwidth) -> Duration {
        rhs.time_for(self)
    }
}

impl Mul<Gain> for Bandwidth {
    type Output = Self;
    /// Rounds down.
    #[inline]
    fn mul(self, rhs: Gain) -> Self {
        Self(rhs.of(self.0))
    }
}

impl fmt::Debug for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Bandwidth {
    /// `100mbit`, `1.5gbit`, `64kbit`, `800bit`: the largest prefix, at most six decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from(self.0) * 8;
        let (unit, name) = match bits {
            0..1_000 => (1, "bit"),
            1_000..1_000_000 => (1_000, "kbit"),
            1_000_000..1_000_000_000 => (1_000_000, "mbit"),
            _ => (1_000_000_000, "gbit"),
        };
        crate::gain::write_millionths(f, bits * 1_000_000 / unit)?;
        f.write_str(name)
    }
}

impl FromStr for Bandwidth {
    type Err = ParseError;

    /// Rates as tc writes them: `bit`, `kbit`, `mbit`, `gbit`, `tbit` and, in bytes per second,
    /// `bps`, `kbps`, `mbps`, `gbps`; `kibit` and its like are powers of 1024. A bare number is
    /// bits per second, and iperf3's single letters `k`, `m`, `g` are taken as well.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a rate, such as 100mbit, 64kbit or 1gbit");
        let (millionths, unit) = number_and_unit(text).ok_or_else(error)?;
        let (scale, bits) = match unit.to_ascii_lowercase().as_str() {
            "" | "bit" => (1, 8),
            "k" | "kbit" => (1_000, 8),
            "m" | "mbit" => (1_000_000, 8),
            "g" | "gbit" => (1_000_000_000, 8),
            "tbit" => (1_000_000_000_000, 8),
            "kibit" => (1 << 10, 8),
            "mibit" => (1 << 20, 8),
            "gibit" => (1 << 30, 8),
            "bps" => (1, 1),
            "kbps" => (1_000, 1),
            "mbps" => (1_000_000, 1),
            "gbps" => (1_000_000_000, 1),
            _ => return Err(error()),
        };
        scaled(millionths, scale)
            .map(|rate| Self(rate / bits))
            .ok_or_else(error)
    }
}

#[inline]
fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

const NANOS_PER_SEC: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn rates_are_read_as_tc_reads_them() {
        let rate = |text: &str| text.parse::<Bandwidth>().unwrap().bytes_per_sec();
        assert_eq!(rate("100mbit"), 12_500_000);
        assert_eq!(rate("100Mbit"), 12_500_000);
        assert_eq!(rate("1mbps"), 1_000_000);
        assert_eq!(rate("64kbit"), 8_000);
        assert_eq!(rate("8"), 1);
        assert_eq!(rate("1.5g"), 187_500_000);
    }

    #[test]
    fn display_is_read_back() {
        for text in [
            "100mbit",
            "1.5gbit",
            "64kbit",
            "800bit",
            "0bit",
            "12.345mbit",
        ] {
            assert_eq!(text.parse::<Bandwidth>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_rate_is_named() {
        assert_eq!(
            "10mbitt".parse::<Bandwidth>().unwrap_err().input(),
            "10mbitt"
        );
    }

    #[test]
    fn bytes_and_times_round_in_the_stated_direction() {
        let rate = Bandwidth::from_bytes_per_sec(3);
        assert_eq!(rate * Duration::from_millis(999), Bytes::new(2));
        assert_eq!(Bytes::new(1) / rate, Duration::from_nanos(333_333_334));
        assert_eq!(
            Bandwidth::from_transfer(Bytes::new(10), Duration::from_secs(3)).bytes_per_sec(),
            3
        );
    }

    #[test]
    fn large_products_do_not_overflow() {
        let rate = Bandwidth::from_bits_per_sec(1_000_000_000_000);
        assert_eq!(
            rate * Duration::from_secs(3600),
            Bytes::new(450_000_000_000_000)
        );
        assert_eq!(
            Bytes::new(450_000_000_000_000) / rate,
            Duration::from_secs(3600)
        );
        assert_eq!(
            Bandwidth::from_transfer(Bytes::new(450_000_000_000_000), Duration::from_secs(3600)),
            rate
        );
    }

    #[test]
    fn the_edges_of_time_and_rate_saturate() {
        assert_eq!(
            Bandwidth::from_transfer(Bytes::new(1), Duration::ZERO),
            Bandwidth::MAX
        );
        assert_eq!(Bytes::new(1) / Bandwidth::ZERO, Duration::MAX);
        assert_eq!(Bandwidth::MAX * Duration::MAX, Bytes::MAX);
    }

    #[test]
    fn short_products_and_long_ones_give_the_same_as_128_bits() {
        let mut rng = crate::Rng::new(11);
        let mut any = || {
            let bits = rng.below(64) as u32;
            rng.below(u64::MAX) >> bits
        };
        let billion = u128::from(NANOS_PER_SEC);
        for _ in 0..20_000 {
            let (rate, bytes, nanos) = (any().max(1), any(), any().max(1));
            let bandwidth = Bandwidth(rate);
            let time = Duration::from_nanos(nanos);
            let (wide_rate, wide_bytes) = (u128::from(rate), u128::from(bytes));
            let transfer = Bandwidth::from_transfer(Bytes::new(bytes), time);
            assert_eq!(
                transfer.0,
                saturate(wide_bytes * billion / u128::from(nanos))
            );
            let carried = saturate(wide_rate * u128::from(nanos) / billion);
            assert_eq!(bandwidth.bytes_in(time), Bytes::new(carried));
            let taken = saturate((wide_bytes * billion).div_ceil(wide_rate));
            let expected = Duration::from_nanos(taken);
            assert_eq!(bandwidth.time_for(Bytes::new(bytes)), expected);
            let gain = Gain::from_millionths(nanos);
            let product = wide_rate * u128::from(nanos);
            assert_eq!(gain.of(rate), saturate(product / 1_000_000));
            assert_eq!(gain.of_ceil(rate), saturate(product.div_ceil(1_000_000)));
        }
    }
}
