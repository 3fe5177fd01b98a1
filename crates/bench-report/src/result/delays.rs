use super::finite::Finite;
use serde::{Deserialize, Serialize};

/// Quantiles of the round-trip time, in milliseconds; `null` without a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RttMs {
    /// The smallest sample.
    pub min: Option<Finite>,
    /// The median.
    pub p50: Option<Finite>,
    /// 95 % of the samples are at most this.
    pub p95: Option<Finite>,
    /// 99 % of the samples are at most this.
    pub p99: Option<Finite>,
    /// The largest sample.
    pub max: Option<Finite>,
}

/// One point of a distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DelayShare {
    /// A delay, in milliseconds.
    pub ms: Finite,
    /// The share of the samples that are at most as long, above 0 and at most 1.
    pub share: Finite,
}
