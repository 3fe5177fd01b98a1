//! The Differentiated Services codepoint of a connection's packets.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A Differentiated Services codepoint, the upper six bits of the traffic class (RFC 2474 §3). The
/// lower two are those of ECN, which congestion control sets.
///
/// A name of the registry, or its number from 0 to 63, decimal, hexadecimal with `0x` or octal with
/// a leading `0`, as iperf3 reads it.
///
/// ```
/// use paceline::Dscp;
///
/// let dscp: Dscp = "af41".parse()?;
/// assert_eq!(dscp.value(), 34);
/// assert_eq!("0x22".parse::<Dscp>()?.to_string(), "af41");
/// # Ok::<(), paceline::ParseDscpError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// 0, best effort: packets are forwarded as usual.
    pub const DEFAULT: Self = Self(0);

    /// The codepoint of this number, if it is one: 63 at most.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// Its number, 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The traffic class, IPv4's type of service, with this codepoint and not ECN-capable.
    pub const fn traffic_class(self) -> u8 {
        self.0 << 2
    }

    /// Whether packets are forwarded as usual.
    pub(crate) fn is_default(self) -> bool {
        self == Self::DEFAULT
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Dscp {
    type Err = ParseDscpError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase();
        let named = NAMES.iter().find(|(known, _)| *known == name);
        let value = match named {
            Some((_, value)) => Some(*value),
            None => number(&name),
        };
        let error = || ParseDscpError(text.to_owned());
        value.and_then(Self::new).ok_or_else(error)
    }
}

/// A text that is no codepoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no DSCP; expected a number from 0 to 63, or a name: ef, va, nqb, le, cs0 to cs7, or \
     af11 to af43"
)]
pub struct ParseDscpError(String);

/// As strtol reads it.
fn number(text: &str) -> Option<u8> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let is_digit = |digit: char| digit.is_digit(radix);
    let is_number = !digits.is_empty() && digits.chars().all(is_digit);
    is_number.then(|| u8::from_str_radix(digits, radix).ok())?
}

/// IANA's registry "Differentiated Services Field Codepoints"; the first name of a number is the
/// one that is shown.
const NAMES: [(&str, u8); 28] = [
    ("cs0", 0),
    ("df", 0),
    ("be", 0),
    ("default", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("voice-admit", 44),
    ("nqb", 45),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_the_registrys() {
        for (text, value) in [
            ("ef", 46),
            ("EF", 46),
            ("af21", 18),
            ("cs7", 56),
            ("le", 1),
            ("46", 46),
            ("0x2e", 46),
            ("056", 46),
            ("0", 0),
        ] {
            let dscp: Dscp = text.parse().unwrap();
            assert_eq!(dscp.value(), value, "{text}");
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(dscp.traffic_class(), value * 4);
        }
        assert_eq!(Dscp::new(46).unwrap().to_string(), "ef");
        assert_eq!(Dscp::new(47).unwrap().to_string(), "47");
        assert_eq!(Dscp::new(64), None);
    }

    #[test]
    fn what_is_no_codepoint_is_refused_by_name() {
        for wrong in [
            "", "64", "0x40", "-1", "+1", "af44", "cs8", "0x", "08", "1e1", "300",
        ] {
            let error = wrong.parse::<Dscp>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{wrong}` is no DSCP")),
                "{error}"
            );
        }
    }
}
