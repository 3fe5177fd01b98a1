use super::Finite;
use serde::{Deserialize, Serialize};

/// One metric of one variant over its rounds, in the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle round; the mean of the two middle ones when their number is even.
    pub median: Finite,
    /// The mean.
    pub mean: Finite,
    /// Lower end of the confidence interval of the median; `null` with fewer than two rounds.
    pub low: Option<Finite>,
    /// Upper end of the same interval.
    pub high: Option<Finite>,
    /// How many rounds had this metric.
    #[serde(default)]
    pub rounds: u32,
}

/// One metric of `b` against the same metric of `a`, paired by block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The median of the paired ratios; `null` when a value is zero.
    pub ratio_b_over_a: Option<Finite>,
    /// Lower end of the ratio's confidence interval; `null` with fewer than two pairs.
    pub low: Option<Finite>,
    /// Upper end of the same interval.
    pub high: Option<Finite>,
    /// The level of confidence, 0.95.
    pub confidence: Finite,
    /// The median of the paired differences, in the unit of the metric.
    pub difference_b_minus_a: Finite,
    /// Lower end of the difference's confidence interval; `null` with fewer than two pairs.
    pub difference_low: Option<Finite>,
    /// Upper end of the same interval.
    pub difference_high: Option<Finite>,
    /// How many blocks had this metric on both sides.
    pub pairs: u32,
    /// What may be concluded.
    pub decision: Decision,
}

/// What the pairs say about one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The whole interval lies above "no difference".
    BHigher,
    /// The whole interval lies below "no difference".
    BLower,
    /// The whole interval is within 5 % of a ratio of one, and contains it.
    Same,
    /// The interval contains "no difference" and more, or there are too few pairs for one.
    TooFewRounds,
}
