//! How quantities are written and read by serde, in any of its formats. Feature `serde`.
//!
//! | quantity | is |
//! |---|---|
//! | [`Bandwidth`] | a whole number of bits per second; 2⁶⁴ − 1 is [`Bandwidth::MAX`], no limit |
//! | [`Bytes`] | a whole number of bytes; 2⁶⁴ − 1 is [`Bytes::MAX`], no limit |
//! | [`Gain`] | a number: 1.25 is 125 % |
//! | a `Duration`, by [`seconds`] and [`seconds_if_known`] | a number of seconds, with a fraction |
//!
//! What is written is read back as the same quantity, but for factors above 10⁹ and rates above 2⁶⁴
//! bit/s that are not [`Bandwidth::MAX`]. A rate is rounded down to whole bytes, a factor to the
//! nearest millionth.
//!
//! ```
//! use units::{Bandwidth, Bytes, Gain};
//!
//! let rate: Bandwidth = "100mbit".parse()?;
//! let written = serde_json::to_string(&(rate, Bytes::new(1_200), Gain::percent(125)))?;
//! assert_eq!(written, "[100000000,1200,1.25]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Bandwidth, Bytes, Gain};
use core::time::Duration;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Bandwidth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.bits_per_sec().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match u64::deserialize(deserializer)? {
            u64::MAX => Self::MAX,
            bits => Self::from_bits_per_sec(bits),
        })
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for Gain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_f64().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Gain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let factor = f64::deserialize(deserializer)?;
        if !(0.0..=MAX_GAIN).contains(&factor) {
            let expected = &"a factor from 0 to 1.8e13";
            return Err(D::Error::invalid_value(Unexpected::Float(factor), expected));
        }
        // The half has the conversion, which rounds down, round to the nearest.
        Ok(Self::from_millionths((factor * 1e6 + 0.5) as u64))
    }
}

/// Writes `time` as a number of seconds: `#[serde(serialize_with = "units::encoding::seconds")]`.
///
/// # Errors
/// Those of `serializer`.
pub fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(serializer)
}

/// The same of a time that may be unknown, which is `null` in JSON.
///
/// # Errors
/// Those of `serializer`.
pub fn seconds_if_known<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// What millionths in 64 bits hold, rounded down.
const MAX_GAIN: f64 = 1.8e13;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[track_caller]
    fn is_written_as<T>(value: T, expected: &str)
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + core::fmt::Debug,
    {
        assert_eq!(serde_json::to_string(&value).unwrap(), expected);
        assert_eq!(serde_json::from_str::<T>(expected).unwrap(), value);
    }

    #[test]
    fn a_rate_is_in_bits_per_second() {
        is_written_as(Bandwidth::from_bytes_per_sec(12_500_000), "100000000");
        is_written_as(Bandwidth::MAX, "18446744073709551615");
    }

    #[test]
    fn an_amount_is_in_bytes() {
        is_written_as(Bytes::new(1_200), "1200");
        is_written_as(Bytes::MAX, "18446744073709551615");
    }

    #[test]
    fn a_factor_is_a_number() {
        is_written_as(Gain::from_millionths(2_773_000), "2.773");
        is_written_as(Gain::from_millionths(1), "1e-6");
        is_written_as(Gain::from_millionths(700_001), "0.700001");
    }

    #[test]
    fn what_is_no_factor_is_refused() {
        for text in ["-0.5", "1e14"] {
            let error = serde_json::from_str::<Gain>(text).unwrap_err().to_string();
            assert!(error.contains("a factor from 0 to 1.8e13"), "{error}");
        }
    }

    #[test]
    fn times_are_in_seconds() {
        let time = Duration::from_micros(41_500);
        let json = seconds(&time, serde_json::value::Serializer).unwrap();
        assert_eq!(json, 0.0415);
        let json = seconds_if_known(&None, serde_json::value::Serializer).unwrap();
        assert!(json.is_null());
    }
}
