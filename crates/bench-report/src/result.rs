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
//! | `"run"` | [`RunResult`] | `bench-client run --json FILE`, with iperf3's `start`, `intervals`, `end` beside it |

mod any;
mod competition;
mod figures;
mod finite;
pub mod iperf;
mod matrix;
mod metric;
mod quantity;
mod round;

pub use any::{AnyResult, ReadError};
pub use competition::{Competition, CompetitionRound};
pub use figures::{Counts, Figures};
pub use finite::{Finite, NotFinite};
pub(crate) use matrix::common_sender;
pub use matrix::{
    MatrixAxis, MatrixCell, MatrixCompetition, MatrixDirection, MatrixKind, MatrixResult,
    MatrixVariant,
};
pub use metric::Metric;
pub use quantity::Quantity;
pub use round::{
    DelayShare, Interval, LimitedBy, LimitedTimes, QueueDelayMs, QueueDelaySource, Round, RttMs,
};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the schema that this crate writes.
pub const SCHEMA_VERSION: u32 = 1;

/// The sides of an A/B test, round by round, and what their differences are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AbResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `"ab"`.
    pub kind: AbKind,
    /// Whether every planned round ended without an error.
    pub complete: bool,
    /// Why the test ended early, for a person; `null` when it did not.
    #[serde(default)]
    pub error: Option<String>,
    /// A title that the user gave.
    #[serde(default)]
    pub title: Option<String>,
    /// The program and its version.
    #[serde(default)]
    pub version: String,
    /// What the order of the rounds, the link's losses and the intervals were drawn from.
    pub seed: u64,
    /// Whether time was virtual: the run is then the same on every machine.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// The start in whole seconds since 1970; `null` in virtual time, which has no date.
    #[serde(default)]
    pub started_unix_seconds: Option<u64>,
    /// Whether each round drew its own random numbers, instead of all rounds of a block the same.
    /// Left out of the JSON when not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub independent: bool,
    /// The server, where it was not in the same process. Left out of the JSON when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The link in the data's direction, in netem's words; empty when nothing was shaped.
    pub link: String,
    /// The link in the other direction; empty when nothing was shaped.
    pub return_link: String,
    /// The rate of `link` on the wire, in bits per second, where it has one.
    #[serde(default)]
    pub link_rate_bits_per_second: Option<u64>,
    /// The round-trip time of the empty path, where it is known.
    #[serde(default)]
    pub base_rtt_ms: Option<Finite>,
    /// How long each round was planned to measure; at most, where bytes end it.
    #[serde(default)]
    pub round_seconds: Option<Finite>,
    /// The payload after which a round was to end. Left out of the JSON where time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_bytes: Option<u64>,
    /// How much at the start of each round the figures leave out.
    #[serde(default)]
    pub omit_seconds: Option<Finite>,
    /// What was compared: `a`, `b`, and further ones `c`, `d` and so on.
    pub variants: Vec<Variant>,
    /// `b` against `a`, for each metric that both have in at least one common block.
    pub comparison: BTreeMap<Metric, Comparison>,
    /// Each further variant against `a` in the same way, by the variant's name: what is said of `b`
    /// is then true of that one. Left out of the JSON when there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub further_comparisons: BTreeMap<String, BTreeMap<Metric, Comparison>>,
    /// How narrow the intervals were to be, where that decided how many rounds there were. Left out
    /// of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Each variant against the same one of an earlier test, where there was one to compare with.
    /// Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
    /// How the variants shared the link, where all ran at once. Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub competition: Option<Competition>,
}

impl AbResult {
    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// The baseline and its challenger, when there are at least two variants.
    pub fn pair(&self) -> Option<(&Variant, &Variant)> {
        match self.variants.as_slice() {
            [a, b, ..] => Some((a, b)),
            _ => None,
        }
    }

    /// The baseline `a`, and every other variant with its comparison against `a`; `None` with
    /// fewer than two variants.
    pub fn challengers(&self) -> Option<(&Variant, Vec<Challenger<'_>>)> {
        let (a, others) = self.variants.split_first()?;
        let challenger = |(index, variant)| Challenger {
            variant,
            comparison: match index {
                0 => Some(&self.comparison),
                _ => self.further_comparisons.get(&variant.name),
            },
        };
        let challengers: Vec<Challenger<'_>> = others.iter().enumerate().map(challenger).collect();
        (!challengers.is_empty()).then_some((a, challengers))
    }
}

/// A variant that is not the baseline.
#[derive(Debug, Clone, Copy)]
pub struct Challenger<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// It against the baseline; `None` in a result that does not say.
    pub comparison: Option<&'a BTreeMap<Metric, Comparison>>,
}

/// The kind of an [`AbResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AbKind {
    /// `"ab"`.
    #[default]
    #[serde(rename = "ab")]
    Ab,
}

/// One side of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `a`, `b`, and so on.
    pub name: String,
    /// The controller and its parameters, as the registry reads them.
    pub cc: String,
    /// How many connections it had at a time; its rounds are the sums over them.
    #[serde(default = "one")]
    pub flows: u32,
    /// When its connections started, after the first ones of the round.
    #[serde(default)]
    pub start_seconds: Finite,
    /// How much longer the round trip of its connections was than the link's own.
    #[serde(default)]
    pub extra_delay_ms: Finite,
    /// How often its sender's datagrams were on the wire. Left out of the JSON where it was once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub duplicate: u32,
    /// In the order of their blocks.
    pub rounds: Vec<Round>,
    /// Each metric over the rounds that did not fail.
    pub summary: BTreeMap<Metric, Summary>,
}

impl Variant {
    /// The controller without its parameters.
    pub fn controller(&self) -> &str {
        self.cc.split(':').next().unwrap_or_default()
    }

    /// The controller with its parameters, and `×2` behind that of a sender whose datagrams were
    /// on the wire twice.
    pub fn sender(&self) -> String {
        sender(&self.cc, self.duplicate)
    }
}

/// A controller, and how often the datagrams that it sent were on the wire.
pub fn sender(cc: &str, duplicate: u32) -> String {
    match duplicate {
        1 => cc.to_owned(),
        more => format!("{cc} ×{more}"),
    }
}

/// The width of an interval at which a test was to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// How far the ends of each interval of the goodput's ratio may lie from its middle, as a share
    /// of it; see [`goodput_half_width`](crate::stats::goodput_half_width).
    pub half_width: Finite,
    /// Whether every interval was that narrow before the rounds were at their most.
    pub reached: bool,
}

/// A test against an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineComparison {
    /// Whether rounds were compared by block: both tests in virtual time, with the same draws. The
    /// medians of all rounds otherwise.
    pub paired: bool,
    /// By the variant's name: now over then, where then had the same. What is said of `b` is true
    /// of now, and what is said of `a` of then.
    pub comparisons: BTreeMap<String, BTreeMap<Metric, Comparison>>,
}

/// Whether a field says what is usual.
fn is_false(value: &bool) -> bool {
    !value
}

/// What every result before there were several connections had.
pub(crate) fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields by reference"
)]
pub fn is_one(number: &u32) -> bool {
    *number == 1
}

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

/// One run of one controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `"run"`.
    pub kind: RunKind,
    /// Whether the run ended as planned.
    pub complete: bool,
    /// Why it did not; iperf3's top-level `error`. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// iperf3's `-T`. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What random numbers were drawn from.
    pub seed: u64,
    /// Whether time was virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// The link in the data's direction, in netem's words; empty when nothing was shaped.
    pub link: String,
    /// The link in the other direction; empty when nothing was shaped.
    pub return_link: String,
    /// Who talked to whom about what, as iperf3 says it.
    pub start: iperf::Start,
    /// The interval rows, as iperf3 says them.
    pub intervals: Vec<iperf::Interval>,
    /// The closing rows, as iperf3 says them.
    pub end: iperf::End,
    /// The hashes of a file's transfer. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// What the server has logged of the run, as iperf3's `--get-server-output` has it. Left out of
    /// the JSON when it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// UDP datagrams that the receiving machine's kernel dropped at the socket meanwhile. Left out
    /// of the JSON where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_socket_drops: Option<u64>,
    /// The largest buffer that the receiving machine gives a socket, in bytes (Linux's
    /// `net.core.rmem_max`). Left out of the JSON where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_socket_buffer_limit: Option<u64>,
    /// What requests took, with `--ping` or `--rpm`. Left out of the JSON when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RunRequests>,
    /// The same run with everything that the A/B test compares.
    pub result: Round,
}

/// What requests and their answers took, on a stream of their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRequests {
    /// Whether payload was sent meanwhile, on the same connection.
    pub under_load: bool,
    /// From one request to the next.
    pub interval_ms: Finite,
    /// From a request to its answer.
    pub rtt_ms: RequestTimes,
    /// The same as a distribution.
    pub rtt_distribution: Vec<DelayShare>,
    /// Round trips per minute, after draft-ietf-ippm-responsiveness; `null` without an answer.
    pub responsiveness_rpm: Option<Finite>,
    /// What new connections took meanwhile; `null` without load.
    pub foreign: Option<ForeignProbes>,
}

/// Connections that were made while another had the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ForeignProbes {
    /// How many came to nothing.
    pub failed: u32,
    /// Why the first of these did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// From the first packet to the end of the handshake.
    pub handshake_ms: RequestTimes,
    /// The first request on each.
    pub request_ms: RequestTimes,
}

/// Times in milliseconds; `null` of none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestTimes {
    /// How many there were.
    pub count: u64,
    /// The shortest.
    pub min: Option<Finite>,
    /// The median.
    pub p50: Option<Finite>,
    /// 95 % are at most this.
    pub p95: Option<Finite>,
    /// 99 % are at most this.
    pub p99: Option<Finite>,
    /// The longest.
    pub max: Option<Finite>,
    /// The mean of all but the slowest 5 %.
    pub trimmed_mean: Option<Finite>,
}

/// SHA-256 in hexadecimal of the payload at both ends; `null` at an end that did not come to its
/// last byte.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sha256 {
    /// Of what was sent.
    pub sender: Option<String>,
    /// Of what arrived.
    pub receiver: Option<String>,
}

impl RunResult {
    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The kind of a [`RunResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RunKind {
    /// `"run"`.
    #[default]
    #[serde(rename = "run")]
    Run,
}

fn to_json(result: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(result).expect("keys are strings and every figure is finite");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
