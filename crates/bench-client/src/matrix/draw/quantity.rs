use std::fmt;
use std::str::FromStr;
use units::{Bandwidth, Bytes, ParseError, duration};

/// A number with its unit, as a variable draws it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) kind: Kind,
    /// In seconds, bits per second, bytes, or as a plain ratio.
    pub(super) value: f64,
}

/// What a quantity is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Time,
    Rate,
    Size,
    /// Written in percent.
    Share,
    Number,
}

impl Quantity {
    /// The product; a rate times a time is a size. `None` where the product has no meaning here.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        let value = self.value * other.value;
        let (kind, value) = match (self.kind, other.kind) {
            (Kind::Rate, Kind::Time) | (Kind::Time, Kind::Rate) => (Kind::Size, value / 8.0),
            (Kind::Number | Kind::Share, kind) | (kind, Kind::Number | Kind::Share) => {
                (kind, value)
            }
            _ => return None,
        };
        Some(Self { kind, value })
    }

    /// The sum of two quantities of one kind.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        (self.kind == other.kind).then_some(Self {
            value: self.value + other.value,
            ..self
        })
    }
}

impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, EXPECTED);
        let plain = |text: &str| {
            let number = text.parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number >= 0.0)
        };
        let (kind, value) = if let Some(number) = plain(text) {
            (Kind::Number, Some(number))
        } else if let Some(percent) = text.strip_suffix('%') {
            (Kind::Share, plain(percent).map(|percent| percent / 100.0))
        } else if text.ends_with("bit") {
            let rate = text.parse::<Bandwidth>().ok();
            (Kind::Rate, rate.map(|rate| rate.bits_per_sec() as f64))
        } else if text.ends_with('b') {
            let size = text.parse::<Bytes>().ok();
            (Kind::Size, size.map(|size| size.get() as f64))
        } else {
            let time = duration::parse(text).ok();
            (
                Kind::Time,
                time.map(|time| duration::nanos(time) as f64 / 1e9),
            )
        };
        let value = value.ok_or_else(error)?;
        Ok(Self { kind, value })
    }
}

/// In three significant digits, which the grammar of links and [`Quantity::from_str`] read.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: &[(f64, &str)] = match self.kind {
            Kind::Time => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")],
            Kind::Rate => &[(1e9, "gbit"), (1e6, "mbit"), (1e3, "kbit"), (1.0, "bit")],
            Kind::Size => &[(1.0, "b")],
            Kind::Share => &[(1e-2, "%")],
            Kind::Number => &[(1.0, "")],
        };
        let rounded = three_digits(self.value);
        // The largest unit that leaves one before the point.
        let fits = |(unit, _): &&(f64, &str)| rounded >= *unit * (1.0 - SLACK);
        let unit = units.iter().find(fits).or_else(|| units.last());
        let (unit, name) = *unit.expect("every kind has a unit");
        let number = if self.kind == Kind::Size {
            rounded.round().max(1.0)
        } else {
            // The division leaves an error in the last of 53 bits.
            three_digits(rounded / unit)
        };
        write!(f, "{number}{name}")
    }
}

/// `value` in three significant digits, halves to the nearest of `f64`.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

const EXPECTED: &str = "a number, or one with a unit, such as 20ms, 1.5mbit, 64kb or 2%";
/// More than the error of a product of a few numbers.
const SLACK: f64 = 1e-9;
