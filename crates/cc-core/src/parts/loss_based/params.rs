//! What can be tuned in every loss-based controller.

use crate::params::{ParamSpec, joined};
use crate::parts::cwnd_pacing::PARAMS as PACING;
use core::ops::RangeInclusive;
use units::Gain;

/// What the registry offers, after what the algorithm has of its `own`.
pub(crate) const fn params<const ALL: usize>(
    own: &[ParamSpec],
    slow_start: &'static str,
) -> [ParamSpec; ALL] {
    let slow_start = ParamSpec::word("slow_start", slow_start, &[HYSTARTPP, STANDARD])
        .summary("how the first slow start ends: before the queue overflows, or with loss")
        .source("RFC 9406; RFC 9438 section 4.10; RFC 9002 section 7.3.1");
    joined(own, &joined::<SHARED>(&[UNDO, PRR, slow_start], PACING))
}

/// How many parameters these are.
pub(crate) const SHARED: usize = 3 + PACING.len();

/// Of controllers whose specification does not define its own.
pub(crate) const UNDO: ParamSpec = ParamSpec::switch("undo", true)
    .summary("undo a reduction if all its lost packets arrive late")
    .source("RFC 9438 section 4.9.2");

/// Off: what pacing leaves to gain is little, and reordering costs more (docs/cubic.md).
const PRR: ParamSpec = ParamSpec::switch("prr", false)
    .summary("PRR: reduce bytes in flight to the new cwnd in step with deliveries")
    .source("RFC 9937 section 6; RFC 9002 section 7.3.2");

/// The range of the shares of the window that are left after congestion.
pub(crate) const BETAS: RangeInclusive<Gain> = Gain::new(1, 10)..=Gain::new(95, 100);

/// The words of the parameter `slow_start`.
pub(crate) const HYSTARTPP: &str = "hystartpp";
pub(crate) const STANDARD: &str = "standard";
