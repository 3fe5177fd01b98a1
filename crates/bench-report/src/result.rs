//! The results that the programs write as JSON, and read back.
//!
//! Version 1 of the schema. Fields are only ever added within a version. A unit stands in the
//! name of every field that has one; times are seconds or milliseconds, rates are bits per second
//! of payload unless a field says otherwise. A figure that could not be measured is `null`, never
//! zero: [`Finite`] keeps NaN and the infinities out by its type.
//!
//! | kind | type | written by |
//! |---|---|---|
//! | `"ab"` | [`AbResult`] | `bench-client ab --json FILE` |
//! | `"matrix"` | [`MatrixResult`] | `bench-client matrix NAME --json FILE`; each of its cells is an `"ab"` |
//! | `"scorecard"` | [`ScorecardResult`] | `bench-client scorecard CC --json FILE` |
//! | `"run"` | [`RunResult`] | `bench-client run --json FILE`, with iperf3's `start`, `intervals`, `end` beside it |

mod ab;
mod any;
mod comparison;
mod competition;
mod delays;
mod drawn;
mod figures;
mod finite;
mod frames;
pub mod iperf;
mod iperf_document;
mod matrix;
mod metric;
mod quantity;
mod round;
mod run;
mod schema;
mod scorecard;
mod shared_queue;

pub use ab::{
    AbKind, AbResult, BaselineComparison, Challenger, ComparedServer, StoppingRule, Variant,
    sender, short_labels, short_names,
};
pub use any::{AnyResult, ReadError};
pub use comparison::{Comparison, Decision, Summary};
pub use competition::{Competition, CompetitionRound};
pub use delays::{DelayShare, RttMs};
pub use drawn::{
    Drawn, DrawnCondition, DrawnDistribution, DrawnMeasures, DrawnMetric, DrawnShare, DrawnSummary,
};
pub use figures::{Counts, Figures};
pub use finite::{Finite, NotFinite};
pub use frames::{FrameClock, FrameCounts, Frames};
pub(crate) use matrix::common_senders;
pub use matrix::{
    MatrixAxis, MatrixCell, MatrixCompetition, MatrixDirection, MatrixKind, MatrixResult,
    MatrixVariant,
};
pub use metric::Metric;
pub use quantity::Quantity;
pub use round::{
    Interval, IntervalDatagrams, LimitedBy, LimitedTimes, QueueDelayMs, QueueDelaySource, Round,
};

pub use run::{ForeignProbes, RequestTimes, RunKind, RunRequests, RunResult, Sha256};
pub use schema::{SCHEMA_VERSION, is_one};
pub use scorecard::{
    BoundVerdict, Measure, NotCovered, OverCells, ScorecardBound, ScorecardCell, ScorecardCells,
    ScorecardFigure, ScorecardKind, ScorecardResult, ScorecardRow, ScorecardSection,
};

#[cfg(test)]
mod tests;
