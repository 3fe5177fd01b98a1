use super::{compare_metric, pairs};
use crate::result::{Metric, Round};

/// How wide the interval of the goodput's ratio of `b` and `a` is: its ends are that part above
/// and below its middle, on the scale of the logarithm. An interval from 0.95 to 1.05 has 0.051.
/// `None` without an interval, and where a goodput is zero.
pub fn goodput_half_width(a: &[Round], b: &[Round], seed: u64) -> Option<f64> {
    let metric = Metric::GoodputBitsPerSecond;
    let goodput = compare_metric(metric, &pairs(metric, a, b), seed)?;
    let (low, high) = (goodput.low?.get(), goodput.high?.get());
    Some((high / low).sqrt() - 1.0)
}

/// Whether a test that goes on until its intervals are narrow looks at them after this many blocks.
///
/// Whoever looks often, and stops when a width happens to be small, stops when the scatter happens
/// to be underestimated: the interval then contains the truth less often than it says. A first look
/// that is late and few looks after it keep that small; `docs/measuring.md` has the measured
/// levels. Looks are after whole couples of mirrored blocks.
pub fn is_a_look(blocks: u32) -> bool {
    blocks >= LEAST_BLOCKS && blocks.is_multiple_of(2)
}

/// With fewer, an interval of a median may be narrow by chance.
pub const LEAST_BLOCKS: u32 = 8;
