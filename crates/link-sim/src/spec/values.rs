//! Values that several clauses read, each with the words that say what was expected.

use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, duration};

pub(super) fn time(text: &str) -> Option<Duration> {
    duration::parse(text).ok().filter(|time| *time <= MAX_TIME)
}

pub(super) fn positive_time(text: &str) -> Option<Duration> {
    time(text).filter(|time| !time.is_zero())
}

/// A probability from 0% to 100%; one that would round to zero is refused.
pub(super) fn percent(text: &str) -> Option<Gain> {
    let number = text.strip_suffix('%')?;
    let value: Gain = text.parse().ok()?;
    let lost = value == Gain::ZERO && number.contains(|digit| matches!(digit, '1'..='9'));
    (value <= Gain::ONE && !lost).then_some(value)
}

pub(super) fn rate(text: &str) -> Option<Bandwidth> {
    let rate: Bandwidth = text.parse().ok()?;
    (!rate.is_zero() && rate <= MAX_RATE).then_some(rate)
}

pub(super) fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// Bytes with a unit: a bare number could be packets (netem's `limit`) as well (tbf's).
pub(super) fn size(text: &str) -> Option<Bytes> {
    let bytes: Bytes = text.parse().ok()?;
    let with_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    (with_unit && !bytes.is_zero() && bytes <= MAX_BYTES).then_some(bytes)
}

pub(super) struct Percent(pub(super) Gain);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", Gain::from_millionths(self.0.millionths() * 100))
    }
}

/// A rate in the largest unit that is exact with six decimals.
pub(super) struct RateText(pub(super) Bandwidth);

impl fmt::Display for RateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bits_per_sec() {
            bits if bits >= 1_000_000_000 && bits % 1_000 != 0 => write!(f, "{bits}bit"),
            _ => self.0.fmt(f),
        }
    }
}

pub(super) const TIME: &str = "a time up to 1 hour, such as 50ms, 2s or 100us,";
pub(super) const POSITIVE_TIME: &str = "a time from 1ns to 1 hour, such as 50ms or 2s,";
pub(super) const PERCENT: &str = "a percentage from 0% to 100%, such as 2.5%,";
pub(super) const RATE: &str = "a rate from 8bit to 10tbit, such as 100mbit or 64kbit,";
pub(super) const PACKETS: &str = "a number of packets from 1, such as 1000,";
pub(super) const SIZE: &str = "a size in bytes with its unit, such as 15kb or 1500b,";

/// Longer than any transport waits for a packet.
const MAX_TIME: Duration = Duration::from_secs(3_600);
/// 10 Tbit/s, where a byte takes less than a picosecond.
const MAX_RATE: Bandwidth = Bandwidth::from_bits_per_sec(10_000_000_000_000);
const MAX_BYTES: Bytes = Bytes::new(1 << 40);
