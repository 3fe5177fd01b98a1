//! Ranges of parameters, and constants, that all versions have.

use core::ops::RangeInclusive;
use core::time::Duration;
use units::Gain;

pub(super) const UPWARD: RangeInclusive<Gain> = Gain::ONE..=Gain::new(10, 1);
pub(super) const DOWNWARD: RangeInclusive<Gain> = Gain::new(1, 10)..=Gain::ONE;
pub(super) const SHARE: RangeInclusive<Gain> = Gain::ZERO..=Gain::ONE;
pub(super) const UP_TO_HALF: RangeInclusive<Gain> = Gain::ZERO..=Gain::new(1, 2);
pub(super) const COUNT: RangeInclusive<u64> = 1..=1_000;
pub(super) const TIME: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
pub(super) const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(1)..=HOUR;

const HOUR: Duration = Duration::from_secs(3_600);
