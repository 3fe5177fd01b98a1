use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A number that is neither NaN nor infinite, so that JSON can hold it.
#[derive(Copy, Clone, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Finite(f64);

impl Finite {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// One.
    pub const ONE: Self = Self(1.0);

    /// `value`, or `None` when it is NaN or infinite. A negative zero becomes zero.
    pub fn new(value: f64) -> Option<Self> {
        // The sum turns -0.0 into 0.0 and changes no other number.
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// A duration in seconds, to the nearest that 53 bits hold.
    pub fn seconds(duration: Duration) -> Self {
        Self(units::duration::nanos(duration) as f64 / 1e9)
    }

    /// A duration in milliseconds, to the nearest that 53 bits hold.
    pub fn millis(duration: Duration) -> Self {
        Self(units::duration::nanos(duration) as f64 / 1e6)
    }

    /// `numerator ÷ denominator`, or `None` when the denominator is zero.
    pub fn ratio(numerator: u64, denominator: u64) -> Option<Self> {
        Self::new(numerator as f64 / denominator as f64)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<Finite> for f64 {
    fn from(value: Finite) -> Self {
        value.0
    }
}

impl TryFrom<f64> for Finite {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        Self::new(value).ok_or(NotFinite(value))
    }
}

impl fmt::Debug for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A NaN or an infinity where a finite number was expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotFinite(f64);

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a finite number", self.0)
    }
}

impl std::error::Error for NotFinite {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_cannot_hold_is_refused() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Finite::new(value), None);
            assert!(Finite::try_from(value).is_err());
        }
        assert_eq!(Finite::ratio(1, 0), None);
        assert_eq!(Finite::ratio(0, 0), None);
        assert!(serde_json::from_str::<Finite>("null").is_err());
    }

    #[test]
    fn durations_print_as_people_write_them() {
        let text = |value: Finite| serde_json::to_string(&value).unwrap();
        assert_eq!(
            text(Finite::millis(Duration::from_micros(40_117))),
            "40.117"
        );
        assert_eq!(text(Finite::seconds(Duration::from_millis(5_100))), "5.1");
        assert_eq!(text(Finite::new(-0.0).unwrap()), "0.0");
    }
}
