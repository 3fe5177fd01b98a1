//! The parameter of controllers that hold a rate which the user fixes.

use crate::registry::{ParamSpec, Range, Value};
use units::Bandwidth;

/// A rate that has to be chosen: the default is only there so that there is one.
pub(crate) const RATE: ParamSpec = ParamSpec {
    name: "rate",
    default: Value::Bandwidth(Bandwidth::from_bits_per_sec(10_000_000)),
    range: Range::Between(
        Value::Bandwidth(Bandwidth::from_bits_per_sec(8_000)),
        Value::Bandwidth(Bandwidth::from_bits_per_sec(100_000_000_000)),
    ),
    summary: "rate to send at, UDP payload",
    source: "none: the user has to know what is measured",
};
