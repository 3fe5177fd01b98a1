use std::str::FromStr;
use units::ParseError;

/// The unit of the bitrate column: iperf3's `-f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// The largest decimal prefix of bits that leaves at least one before the point; the default.
    #[default]
    Adaptive,
    /// `k`, `m`, `g`, `t`: bits with this power of 1000.
    Bits(u8),
    /// `K`, `M`, `G`, `T`: bytes with this power of 1024.
    Bytes(u8),
}

impl Unit {
    /// A rate with its unit, as iperf3 prints it: `94.0 Mbits/sec`.
    pub fn rate(self, bits_per_second: f64) -> String {
        let (prefix, value, name) = match self {
            Self::Adaptive => {
                let (power, value) = adapt(bits_per_second, 1000.0);
                (power, value, "bits")
            }
            Self::Bits(power) => (
                usize::from(power),
                bits_per_second / 1000_f64.powi(i32::from(power)),
                "bits",
            ),
            Self::Bytes(power) => (
                usize::from(power),
                bits_per_second / 8.0 / 1024_f64.powi(i32::from(power)),
                "Bytes",
            ),
        };
        format!("{} {}{name}/sec", three_digits(value), PREFIXES[prefix])
    }
}

impl FromStr for Unit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Ok(match text {
            "k" => Self::Bits(1),
            "m" => Self::Bits(2),
            "g" => Self::Bits(3),
            "t" => Self::Bits(4),
            "K" => Self::Bytes(1),
            "M" => Self::Bytes(2),
            "G" => Self::Bytes(3),
            "T" => Self::Bytes(4),
            _ => return Err(ParseError::new(text, "one of the letters k m g t K M G T")),
        })
    }
}

/// An amount of data with its unit, as iperf3 prints it: powers of 1024, `11.2 MBytes`.
pub fn amount(bytes: u64) -> String {
    let (power, value) = adapt(bytes as f64, 1024.0);
    format!("{} {}Bytes", three_digits(value), PREFIXES[power])
}

/// A rate without room for its unit: `94.0M` bits per second.
pub(crate) fn short_rate(bits_per_second: u64) -> String {
    let (power, value) = adapt(bits_per_second as f64, 1000.0);
    format!("{}{}", three_digits(value), PREFIXES[power])
}

fn adapt(mut value: f64, step: f64) -> (usize, f64) {
    let mut power = 0;
    // What would print as four digits takes the next prefix.
    while value >= step - 0.5 && power + 1 < PREFIXES.len() {
        value /= step;
        power += 1;
    }
    (power, value)
}

/// Three significant digits where the number is below a thousand, iperf3's rule.
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];
