//! Values as iperf3 and tc write them.

pub use link_sim::program::whole;

use crate::plan::{MAX_PATIENCE, MAX_WINDOW, MIN_RATE, MIN_WINDOW, bit_rate};
use std::fmt;
use std::time::Duration;
use units::{Bandwidth, Bytes, ParseError};

/// A time above zero; a bare number is seconds, as in iperf3.
pub fn seconds(text: &str) -> Result<Duration, ParseError> {
    let expected = "a time of 1ns or more, in seconds or with a unit, such as 500ms";
    time(text, "s", expected).and_then(|time| {
        if time.is_zero() {
            Err(ParseError::new(text, expected))
        } else {
            Ok(time)
        }
    })
}

/// A time or zero; a bare number is seconds, as in iperf3.
pub fn seconds_or_none(text: &str) -> Result<Duration, ParseError> {
    time(text, "s", "a time in seconds or with a unit, such as 500ms")
}

/// When a frame of a video is late.
pub fn late(text: &str) -> Result<Duration, ParseError> {
    let expected = "a time from 1ms to 10s";
    time(text, "ms", expected).and_then(|time| {
        let bounds = Duration::from_millis(1)..=Duration::from_secs(10);
        let is_between = bounds.contains(&time);
        is_between
            .then_some(time)
            .ok_or_else(|| ParseError::new(text, expected))
    })
}

/// A time; a bare number is milliseconds, as in iperf3's `--connect-timeout`.
pub fn millis(text: &str) -> Result<Duration, ParseError> {
    time(
        text,
        "ms",
        "a time in milliseconds or with a unit, such as 5s",
    )
}

/// A time; a bare number has this `unit`. What is neither is answered by what was `expected`.
///
/// # Errors
/// Names the text and what was expected.
pub fn time(text: &str, unit: &str, expected: &'static str) -> Result<Duration, ParseError> {
    let is_bare = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let parsed = if is_bare {
        units::duration::parse(&format!("{text}{unit}"))
    } else {
        units::duration::parse(text)
    };
    parsed.map_err(|_| ParseError::new(text, expected))
}

/// A rate that the programs can keep, in iperf3's letters; 0 is unlimited, as in iperf3.
pub fn rate(text: &str) -> Result<Bandwidth, ParseError> {
    let rate = bit_rate(text)?;
    // A few bits are less than a byte a second, and not unlimited.
    let is_unlimited = rate.is_zero() && !text.contains(|digit| ('1'..='9').contains(&digit));
    if is_unlimited || (MIN_RATE..=MAX_RATE).contains(&rate.bits_per_sec()) {
        return Ok(rate);
    }
    Err(ParseError::new(
        text,
        "a rate from 1kbit to 1tbit, or 0 for unlimited",
    ))
}

/// No host sends more, and in virtual time a round of a second at ten times that takes ten seconds.
const MAX_RATE: u64 = 1_000_000_000_000;

/// How long a run waits for its turn.
pub fn patience(text: &str) -> Result<Duration, ParseError> {
    let expected = "a time of 1ns to 1h, in seconds or with a unit, such as 5min";
    let time = time(text, "s", expected)?;
    let is_between = !time.is_zero() && time <= MAX_PATIENCE;
    is_between
        .then_some(time)
        .ok_or_else(|| ParseError::new(text, expected))
}

/// A core of `-A`. iperf3's `-A 1,2` sets the server's as well.
pub fn core(text: &str) -> Result<u16, String> {
    if let Some((own, servers)) = text.split_once(',') {
        return Err(format!(
            "`{text}` is more than one core; give -A {own} here and -A {servers} to bench-server"
        ));
    }
    let core = text.parse().ok().filter(|core| *core <= LAST_CORE);
    core.filter(|_| !text.starts_with('+'))
        .ok_or_else(|| format!("`{text}` is no core; expected a number from 0 to {LAST_CORE}"))
}

/// The last one that Linux has a place for in the usual set.
const LAST_CORE: u16 = 1_023;

/// A size in `MIN..=MAX` bytes.
pub fn size_up_to<const MIN: u64, const MAX: u64>(text: &str) -> Result<Bytes, Error> {
    let size: Bytes = text.parse().map_err(Error::NotASize)?;
    if (MIN..=MAX).contains(&size.get()) {
        return Ok(size);
    }
    Err(Error::OutOfBounds {
        text: text.to_owned(),
        min: MIN,
        max: MAX,
    })
}

/// A flow-control window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its size, or the most that it may grow to.
    pub most: Bytes,
    /// Whether it follows the path, as the transport's own does.
    pub follows: bool,
}

/// A window of fixed size, or `auto`: what applications get that leave it to the transport.
pub fn window(text: &str) -> Result<Window, String> {
    if text == "auto" {
        return Ok(Window {
            most: AUTO_WINDOW,
            follows: true,
        });
    }
    let most = size_up_to::<MIN_WINDOW, MAX_WINDOW>(text)
        .map_err(|error| format!("{error}, or `auto`"))?;
    Ok(Window {
        most,
        follows: false,
    })
}

/// What the transport's windows may grow to.
const AUTO_WINDOW: Bytes = Bytes::new(128 << 20);

/// Why a text is not a size within bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It is no size at all.
    NotASize(ParseError),
    /// It is too small or too large.
    OutOfBounds {
        /// What was given.
        text: String,
        /// The smallest size that is accepted, in bytes.
        min: u64,
        /// The largest, in bytes.
        max: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASize(error) => error.fmt(f),
            Self::OutOfBounds { text, min, max } => {
                let min = written(*min);
                match *max {
                    u64::MAX => write!(f, "`{text}` is not a size of {min} or more"),
                    max => write!(f, "`{text}` is not a size from {min} to {}", written(max)),
                }
            }
        }
    }
}

/// As such a size is typed: with the largest unit that divides it.
fn written(bytes: u64) -> String {
    let units = [("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
    let unit = units.iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
    match unit {
        Some((letter, unit)) => format!("{}{letter}", bytes / unit),
        None => bytes.to_string(),
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_times_are_iperf3s() {
        assert_eq!(seconds("10"), Ok(Duration::from_secs(10)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(millis("3000"), Ok(Duration::from_secs(3)));
        assert_eq!(millis("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(seconds_or_none("0"), Ok(Duration::ZERO));
        for wrong in ["0", "-1", "5x", ""] {
            assert_eq!(seconds(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn a_rate_is_named_with_its_bounds() {
        assert_eq!(rate("0"), Ok(Bandwidth::ZERO));
        assert!(rate("1k").is_ok() && rate("1tbit").is_ok());
        // Less than a byte a second is not nothing, which would be no limit.
        for wrong in ["999", "1", "0.5", "2tbit", "200000tbit"] {
            let error = rate(wrong).unwrap_err().to_string();
            assert!(error.contains("from 1kbit to 1tbit"), "{error}");
        }
    }

    #[test]
    fn sizes_have_bounds() {
        assert_eq!(size_up_to::<1, 2048>("2K"), Ok(Bytes::new(2048)));
        let error = size_up_to::<1, 2048>("3K").unwrap_err();
        assert_eq!(error.to_string(), "`3K` is not a size from 1 to 2K");
        // The largest number there is would be no bound to anybody.
        let error = size_up_to::<1, { u64::MAX }>("0").unwrap_err();
        assert_eq!(error.to_string(), "`0` is not a size of 1 or more");
        assert!(size_up_to::<1, 2048>("x").is_err());
    }

    #[test]
    fn a_core_is_one_number_and_the_servers_is_its_own_business() {
        assert_eq!((core("0"), core("1023")), (Ok(0), Ok(1_023)));
        let error = core("1,2").unwrap_err();
        assert!(
            error.contains("-A 1 here and -A 2 to bench-server"),
            "{error}"
        );
        for wrong in ["", "-1", "+1", "1024", "0-1", "all"] {
            assert!(core(wrong).unwrap_err().contains("is no core"), "{wrong}");
        }
    }

    #[test]
    fn a_window_has_a_size_or_follows_the_path() {
        let fixed = window("6M").unwrap();
        assert_eq!((fixed.most, fixed.follows), (Bytes::new(6 << 20), false));
        let auto = window("auto").unwrap();
        assert_eq!((auto.most, auto.follows), (Bytes::new(128 << 20), true));
        let error = window("2G").unwrap_err();
        assert_eq!(error, "`2G` is not a size from 4K to 1G, or `auto`");
        let error = window("Auto").unwrap_err();
        assert!(error.contains("`Auto`"), "{error}");
    }
}
