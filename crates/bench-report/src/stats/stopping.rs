use super::design::Design;
use super::paired::{compare_metric, pairs};
use crate::result::{Metric, Round};

/// How wide the interval of the goodput's ratio of `b` and `a` is in a test that ends by it
/// ([`Design::Sequential`]): its ends are that part above and below its middle, on the scale of the
/// logarithm. An interval from 0.95 to 1.05 has 0.051. `None` without an interval, and where a
/// goodput is zero.
pub fn goodput_half_width(a: &[Round], b: &[Round], seed: u64) -> Option<f64> {
    let metric = Metric::GoodputBitsPerSecond;
    let goodput = compare_metric(metric, &pairs(metric, a, b), seed, Design::Sequential)?;
    let (low, high) = (goodput.low?.get(), goodput.high?.get());
    Some((high / low).sqrt() - 1.0)
}

/// Whether a test with a stopping rule has an interim analysis after this many blocks.
///
/// A late first analysis and few after it leave little to chance; [`Design::Sequential`] makes up
/// for the rest. Analyses are after whole pairs of mirrored blocks.
pub fn is_interim_analysis(blocks: u32) -> bool {
    blocks >= MIN_BLOCKS && blocks.is_multiple_of(2)
}

/// With fewer, an interval of a median may be narrow by chance.
pub const MIN_BLOCKS: u32 = 8;
