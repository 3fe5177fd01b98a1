/// The level of every confidence interval.
pub const CONFIDENCE: f64 = 0.95;

/// The fewest pairs from which a difference is concluded. From two, any difference of one sign
/// has an interval, but nothing speaks for its width.
pub const MIN_PAIRS: usize = 3;

/// From as many rounds on, the interval is no longer half as wide again as that of many.
pub(crate) const FEW: usize = 6;

/// How far from one an interval may reach that says "the same": 5 %.
pub const EQUAL: f64 = 0.05;

/// An interval that reaches no farther than this from one says "the same" even where it leaves
/// one out: 1 %. Such a difference is certain, and no reason to choose.
pub const NEGLIGIBLE: f64 = 0.01;
