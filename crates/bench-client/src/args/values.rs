//! Values as iperf3 and tc write them.

use crate::ab::{self, MAX_COPIES, MAX_VARIANTS};
use bench_kit::cli::values::{self, time};
use bench_kit::plan::MIN_BETWEEN_REQUESTS;
use paceline::Dscp;
use paceline::tls::Fingerprint;
use std::str::FromStr;
use std::time::Duration;
use units::{Bandwidth, Gain, ParseError};

/// A host, and a port if one is given: `HOST`, `HOST:PORT`, `[IPV6]:PORT`, `IPV6`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPort {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    /// The UDP port.
    pub(crate) port: Option<u16>,
}

impl FromStr for HostPort {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "HOST, HOST:PORT or [IPV6]:PORT");
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(error)?;
                let port = match after {
                    "" => None,
                    after => Some(after.strip_prefix(':').ok_or_else(error)?),
                };
                (host, port)
            }
            // More than one colon is an IPv6 address without brackets.
            None if text.matches(':').count() > 1 => (text, None),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(error());
        }
        let port = match port {
            None => None,
            Some(port) => Some(
                port.parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(error)?,
            ),
        };
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

/// A host with its port.
pub(super) fn relay(text: &str) -> Result<HostPort, ParseError> {
    let relay: HostPort = text.parse()?;
    if relay.port.is_none() {
        return Err(ParseError::new(text, "HOST:PORT of a relay"));
    }
    Ok(relay)
}

/// A server with its port, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedServer {
    /// As it was given; the address where no name was.
    pub(crate) name: String,
    /// `HOST:PORT`, as it was given.
    pub(crate) address: String,
    /// Its host, without brackets.
    pub(crate) host: String,
    /// Its UDP port.
    pub(crate) port: u16,
}

impl FromStr for NamedServer {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || {
            ParseError::new(
                text,
                "HOST:PORT or NAME=HOST:PORT, the name of 1 to 40 characters",
            )
        };
        let (name, address) = text.rsplit_once('=').unwrap_or((text, text));
        let HostPort { host, port } = address.parse().map_err(|_| error())?;
        let is_name = (1..=MAX_NAME).contains(&name.chars().count())
            && !name.contains(char::is_control)
            && !name.trim().is_empty();
        if !is_name && name != address {
            return Err(error());
        }
        Ok(Self {
            name: name.to_owned(),
            address: address.to_owned(),
            host,
            port: port.ok_or_else(error)?,
        })
    }
}

/// The width of an interval that says something.
pub(super) fn half_width(text: &str) -> Result<Gain, ParseError> {
    let error = || ParseError::new(text, "a percentage from 0.0001% on, such as 5%");
    let gain: Gain = text.parse().map_err(|_| error())?;
    if gain.millionths() == 0 || !text.ends_with('%') {
        return Err(error());
    }
    Ok(gain)
}

/// The place of a variant and its time: `b=30ms` is 1 and 30 ms.
pub(super) fn extra_delay(text: &str) -> Result<(usize, Duration), ParseError> {
    let of_variant = of_variant(text, |time| units::duration::parse(time).ok());
    of_variant.ok_or_else(|| ParseError::new(text, "VARIANT=TIME with a unit, such as b=30ms"))
}

/// The place of a variant: `b` is 1.
pub(super) fn variant(text: &str) -> Result<usize, ParseError> {
    let place = (0..MAX_VARIANTS).find(|place| ab::name(*place) == text);
    place.ok_or_else(|| ParseError::new(text, "a variant, such as b"))
}

/// The place of a variant and the rate of its streams: `b=1M` is 1 and 1 Mbit/s.
pub(super) fn bitrate_of(text: &str) -> Result<(usize, Bandwidth), ParseError> {
    let of_variant = of_variant(text, |rate| values::rate(rate).ok());
    of_variant.ok_or_else(|| ParseError::new(text, "VARIANT=RATE, such as b=1M"))
}

/// What is said of one variant, and the variant's place.
fn of_variant<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<(usize, T)> {
    let (name, value) = text.split_once('=')?;
    let place = (0..MAX_VARIANTS).find(|place| ab::name(*place) == name)?;
    Some((place, read(value)?))
}

/// How often datagrams are on the wire, of a variant or of all: `b=2` is 1 and 2.
pub(super) fn duplicate(text: &str) -> Result<(Option<usize>, u32), ParseError> {
    let error = || ParseError::new(text, "1 or 2, or for one variant VARIANT=N, such as b=2");
    let (name, copies) = match text.split_once('=') {
        Some((name, copies)) => (Some(name), copies),
        None => (None, text),
    };
    let place = name.map(|name| {
        let mut places = 0..MAX_VARIANTS;
        places
            .find(|place| ab::name(*place) == name)
            .ok_or_else(error)
    });
    let copies = copies
        .parse()
        .ok()
        .filter(|copies| (1..=MAX_COPIES).contains(copies));
    Ok((place.transpose()?, copies.ok_or_else(error)?))
}

/// iperf3's `-i`: 0.1 to 60 seconds, or 0 for no rows.
pub(super) fn interval(text: &str) -> Result<Duration, ParseError> {
    let expected = "an interval of 0.1 to 60 seconds, or 0 for no rows";
    let time = time(text, "s", expected)?;
    let range = Duration::from_millis(100)..=Duration::from_secs(60);
    if time.is_zero() || range.contains(&time) {
        Ok(time)
    } else {
        Err(ParseError::new(text, expected))
    }
}

/// The time between two requests; a bare number is seconds.
pub(super) fn request_interval(text: &str) -> Result<Duration, ParseError> {
    let expected = "an interval of 0.01 to 60 seconds";
    let time = time(text, "s", expected)?;
    if (MIN_BETWEEN_REQUESTS..=Duration::from_secs(60)).contains(&time) {
        Ok(time)
    } else {
        Err(ParseError::new(text, expected))
    }
}

/// iperf3's `-S`: a traffic class whose ECN bits are not set, as its DSCP.
pub(super) fn traffic_class(text: &str) -> Result<Dscp, String> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    // No sign, which the standard library would take.
    let has_digits = digits.chars().all(|digit| digit.is_digit(radix));
    let class = u8::from_str_radix(digits, radix)
        .ok()
        .filter(|_| has_digits);
    let class = class.ok_or_else(|| {
        format!("`{text}` is no traffic class; expected a number from 0 to 252, such as 0xb8")
    })?;
    match Dscp::new(class >> 2) {
        Some(dscp) if dscp.traffic_class() == class => Ok(dscp),
        _ => Err(format!(
            "`{text}` has ECN's bits, the lower two, which congestion control sets; use {:#04x}, \
             or -C prague for ECT(1)",
            class & !0b11
        )),
    }
}

/// 32 bytes in hexadecimal, as `sha256sum` or, with colons, as openssl writes them.
pub(super) fn fingerprint(text: &str) -> Result<[u8; 32], ParseError> {
    text.parse()
        .map(|fingerprint: Fingerprint| fingerprint.into())
}

/// The longest name of a server: what a table of several has room for.
const MAX_NAME: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_a_comparison_has_a_port_and_may_have_a_name() {
        let read = |text: &str| {
            let server: NamedServer = text.parse().unwrap();
            (server.name, server.host, server.port)
        };
        let own = |name: &str, host: &str, port| (name.to_owned(), host.to_owned(), port);
        assert_eq!(read("localhost:1"), own("localhost:1", "localhost", 1));
        assert_eq!(read("[::1]:4433"), own("[::1]:4433", "::1", 4433));
        assert_eq!(read("new=h:4433"), own("new", "h", 4433));
        assert_eq!(read("a=1=[::1]:2"), own("a=1", "::1", 2));
        let long = format!("{}=h:1", "x".repeat(41));
        for wrong in [
            "", "host", "new=host", "=h:1", " =h:1", "a\n=h:1", "n=h:0", &long,
        ] {
            assert_eq!(wrong.parse::<NamedServer>().unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn hosts_have_a_port_or_not() {
        let read = |text: &str| {
            let host_port: HostPort = text.parse().unwrap();
            (host_port.host, host_port.port)
        };
        assert_eq!(read("localhost"), ("localhost".to_owned(), None));
        assert_eq!(read("10.0.0.1:5201"), ("10.0.0.1".to_owned(), Some(5201)));
        assert_eq!(read("[::1]:5201"), ("::1".to_owned(), Some(5201)));
        assert_eq!(read("[::1]"), ("::1".to_owned(), None));
        assert_eq!(read("fe80::1"), ("fe80::1".to_owned(), None));
        for wrong in [
            "",
            ":80",
            "host:",
            "host:0",
            "host:70000",
            "[::1",
            "[::1]80",
            "a b",
        ] {
            let error = wrong.parse::<HostPort>().unwrap_err();
            assert_eq!(error.input(), wrong);
        }
    }

    #[test]
    fn copies_are_of_all_variants_or_of_one() {
        assert_eq!(duplicate("2"), Ok((None, 2)));
        assert_eq!(duplicate("1"), Ok((None, 1)));
        assert_eq!(duplicate("b=2"), Ok((Some(1), 2)));
        for wrong in ["0", "3", "b", "b=", "b=3", "z=2", "", "-1"] {
            assert_eq!(duplicate(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn a_traffic_class_is_read_as_iperf3_reads_it_and_leaves_ecn_alone() {
        let ef: Dscp = "ef".parse().unwrap();
        for text in ["184", "0xb8", "0270"] {
            assert_eq!(traffic_class(text), Ok(ef), "{text}");
        }
        assert_eq!(traffic_class("0"), Ok(Dscp::DEFAULT));
        let error = traffic_class("0xb9").unwrap_err();
        assert!(error.contains("use 0xb8"), "{error}");
        for wrong in ["", "ef", "256", "-1", "+4", "0x", "0x+4", "08"] {
            let error = traffic_class(wrong).unwrap_err();
            assert!(error.contains("is no traffic class"), "{error}");
        }
    }

    #[test]
    fn an_interval_is_iperf3s_or_none() {
        assert_eq!(interval("0"), Ok(Duration::ZERO));
        assert_eq!(interval("0.1"), Ok(Duration::from_millis(100)));
        assert!(interval("0.05").is_err());
        assert!(interval("61").is_err());
    }

    #[test]
    fn a_variant_is_a_letter() {
        assert_eq!((variant("a"), variant("h")), (Ok(0), Ok(7)));
        for wrong in ["", "i", "B", "1", "ab"] {
            assert_eq!(variant(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn an_extra_delay_names_its_variant() {
        assert_eq!(extra_delay("b=30ms"), Ok((1, Duration::from_millis(30))));
        assert_eq!(extra_delay("h=1s"), Ok((7, Duration::from_secs(1))));
        for wrong in ["b", "b=", "b=30", "i=1s", "=1s", "ab=1s"] {
            assert_eq!(extra_delay(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn a_rate_of_one_names_its_variant() {
        let rate = Bandwidth::from_bits_per_sec(1_500_000);
        assert_eq!(bitrate_of("a=1.5M"), Ok((0, rate)));
        for wrong in ["b", "b=", "b=fast", "i=1M", "=1M"] {
            assert_eq!(bitrate_of(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn a_relay_has_a_port_and_a_width_is_a_percentage() {
        assert_eq!(relay("[::1]:5201").unwrap().port, Some(5201));
        assert_eq!(relay("host").unwrap_err().input(), "host");
        assert_eq!(half_width("2.5%").unwrap().as_f64(), 0.025);
        for wrong in ["0%", "5", "five%", "-5%", ""] {
            assert_eq!(half_width(wrong).unwrap_err().input(), wrong);
        }
    }

    #[test]
    fn a_fingerprint_is_read_with_and_without_colons() {
        let plain = format!("ab{}", "01".repeat(31));
        let colons = format!("AB{}", ":01".repeat(31));
        let bytes = fingerprint(&plain).unwrap();
        assert_eq!(bytes[..2], [0xab, 0x01]);
        assert_eq!(fingerprint(&colons), Ok(bytes));
        for wrong in [
            "",
            "ab",
            &plain[1..],
            &format!("{plain}00"),
            &plain.replace('b', "g"),
        ] {
            assert!(fingerprint(wrong).is_err(), "{wrong}");
        }
    }
}
