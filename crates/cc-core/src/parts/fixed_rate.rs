//! The rate of controllers that hold what the user fixes.

use core::ops::RangeInclusive;
use units::Bandwidth;

/// A default that is only a placeholder: the user chooses the rate.
pub(crate) const RATE: Bandwidth = Bandwidth::from_bits_per_sec(10_000_000);

pub(crate) const RATES: RangeInclusive<Bandwidth> =
    Bandwidth::from_bits_per_sec(8_000)..=Bandwidth::from_bits_per_sec(100_000_000_000);
