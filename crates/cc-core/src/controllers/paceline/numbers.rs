//! Seconds, bytes and factors as `f64`, and back.

use core::time::Duration;
use units::duration::nanos;
use units::{Bytes, Gain};

pub(super) fn to_f64(bytes: Bytes) -> f64 {
    bytes.get() as f64
}

pub(super) fn seconds(time: Duration) -> f64 {
    nanos(time) as f64 / SECOND
}

pub(super) fn duration(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * SECOND) as u64)
}

pub(super) fn to_gain(factor: f64) -> Gain {
    Gain::from_millionths((factor * 1e6) as u64)
}

/// A shorter round trip has too few packets to tell a rate from.
pub(super) const LEAST_TIME: Duration = Duration::from_millis(2);
/// ns.
pub(super) const SECOND: f64 = 1e9;
/// s; no RTT and no round trip is taken for less.
pub(super) const MICROSECOND: f64 = 1e-6;
