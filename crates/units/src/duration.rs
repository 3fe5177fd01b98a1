//! `core::time::Duration` in the units of `tc(8)`.

use crate::gain::Gain;
use crate::parse::{ParseError, number_and_unit, scaled};
use core::fmt;
use core::time::Duration;

/// Whole nanoseconds, saturating at 584 years.
#[inline]
pub fn nanos(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(duration.subsec_nanos()))
}

/// `duration × gain`, rounded down to a nanosecond.
#[inline]
pub fn scale(duration: Duration, gain: Gain) -> Duration {
    Duration::from_nanos(gain.of(nanos(duration)))
}

/// Reads a time with its unit: `2s`, `50ms`, `100us`, `7ns`, `1.5ms`; also `sec`, `msec`, `usec`,
/// `nsec` and their plurals, as tc does.
///
/// # Errors
/// Anything else, a bare number included: tc reads one as microseconds and iperf3 as seconds.
#[inline]
pub fn parse(text: &str) -> Result<Duration, ParseError> {
    let expected = "a time with its unit, such as 50ms, 2s or 100us";
    let error = || ParseError::new(text, expected);
    let (millionths, unit) = number_and_unit(text).ok_or_else(error)?;
    let unit_nanos = match unit {
        "s" | "sec" | "secs" => 1_000_000_000,
        "ms" | "msec" | "msecs" => 1_000_000,
        "us" | "usec" | "usecs" => 1_000,
        "ns" | "nsec" | "nsecs" => 1,
        _ => return Err(error()),
    };
    scaled(millionths, unit_nanos)
        .map(Duration::from_nanos)
        .ok_or_else(error)
}

/// Writes a duration so that [`parse`] reads the same one back: `50ms`, `1.5s`, `117us`.
#[inline]
pub fn display(duration: Duration) -> impl fmt::Display {
    Text(nanos(duration))
}

struct Text(u64);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest unit that needs at most six decimals, which is what `parse` accepts.
        let (unit_nanos, unit) = match self.0 {
            0 => return f.write_str("0s"),
            n if n >= 1_000_000_000 && n % 1_000 == 0 => (1_000_000_000, "s"),
            n if n >= 1_000_000 => (1_000_000, "ms"),
            n if n >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        let millionths = u128::from(self.0) * 1_000_000 / unit_nanos;
        crate::gain::write_millionths(f, millionths)?;
        f.write_str(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_unit_of_tc_is_read() {
        assert_eq!(parse("50ms").unwrap(), Duration::from_millis(50));
        assert_eq!(parse("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse("100usecs").unwrap(), Duration::from_micros(100));
        assert_eq!(parse("7ns").unwrap(), Duration::from_nanos(7));
    }

    #[test]
    fn a_bare_number_and_a_strange_unit_are_refused_by_name() {
        for text in ["50", "50m", "ms", "", "1.2.3s", "99999999999s"] {
            assert_eq!(parse(text).unwrap_err().input(), text);
        }
    }

    #[test]
    fn display_is_read_back_as_the_same_duration() {
        for n in [
            0,
            1,
            999,
            1_000,
            117_001,
            50_000_000,
            1_500_000_000,
            1_000_000_001,
            u64::MAX,
        ] {
            let duration = Duration::from_nanos(n);
            let text = display(duration).to_string();
            assert_eq!(parse(&text).unwrap(), duration, "{text}");
        }
    }
}
