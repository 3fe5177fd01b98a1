use super::schema::{is_false, to_json};
use super::{Finite, Metric};
use serde::{Deserialize, Serialize};

/// What a document asks of a congestion controller, RFC 9743 unless other criteria were given,
/// criterion by criterion: one page.
///
/// In virtual time it is a function of the program's version, the controller, its neighbours, the
/// seed and the number of rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ScorecardResult {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Always `"scorecard"`.
    pub kind: ScorecardKind,
    /// Whether every criterion was measured and every round ended without an error.
    pub complete: bool,
    /// Why criteria are missing, for a person; `null` when none is.
    pub error: Option<String>,
    /// The controller with its parameters, as the registry writes it.
    pub cc: String,
    /// The neighbours. The first is also the reference of criteria in which none takes part.
    pub against: Vec<String>,
    /// The program and its version.
    pub version: String,
    /// What the seeds of the criteria are derived from.
    pub seed: u64,
    /// Rounds of each test.
    pub rounds: u32,
    /// The command that makes the page again.
    pub command: String,
    /// The address of the document that the criteria are those of.
    pub url: String,
    /// What the page says first, as Markdown, where the criteria are not those of RFC 9743. Left
    /// out of the JSON where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intro: Option<String>,
    /// In the order of that document.
    pub sections: Vec<ScorecardSection>,
}

impl ScorecardResult {
    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// All criteria, in their order.
    pub fn rows(&self) -> impl Iterator<Item = &ScorecardRow> {
        self.sections.iter().flat_map(|section| &section.rows)
    }
}

/// The kind of a [`ScorecardResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ScorecardKind {
    /// `"scorecard"`.
    #[default]
    #[serde(rename = "scorecard")]
    Scorecard,
}

/// A part of a section that no figure answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCovered {
    /// What the section asks for.
    pub what: String,
    /// Why no simulation here answers it.
    pub why: String,
}

/// The criteria of one section of the document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorecardSection {
    /// Such as `5.1.2`.
    pub number: String,
    /// The section's title.
    pub title: String,
    /// What was measured; several rows for a criterion that was measured beside each neighbour.
    pub rows: Vec<ScorecardRow>,
    /// What was not.
    pub not_covered: Vec<NotCovered>,
}

/// A criterion, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorecardRow {
    /// Its name on the command line.
    pub id: String,
    /// The situation, in a few words.
    pub title: String,
    /// The neighbour that took part, or whose figure is the reference.
    pub against: String,
    /// What the figure is.
    pub measure: Measure,
    /// The unit of the figure, for a person.
    pub unit: String,
    /// Whether the figure is the ratio of two tests, and not a quantity. Left out of the JSON when
    /// not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub relative: bool,
    /// `null` when no round had it; of several cells, when the cell that decides has none.
    pub figure: Option<ScorecardFigure>,
    /// The same quantity with the neighbour's controller in place of the controller; `null` where
    /// no round had it, or where the figure is the ratio to it.
    pub reference: Option<ScorecardFigure>,
    /// What we call good, where we do.
    pub bound: Option<ScorecardBound>,
    /// Whether the figure is, by its whole interval; `null` without a bound or a figure.
    pub verdict: Option<BoundVerdict>,
    /// The figure and the verdict as sentences.
    pub words: String,
    /// The A/B tests behind the figure; of a ratio the first is measured against the second. Of
    /// several cells, the scorecard that measures this criterion alone.
    pub commands: Vec<String>,
    /// The cells, where the criterion has several. Left out of the JSON where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<ScorecardCells>,
    /// Why rounds failed, for a person; `null` when all is well.
    pub error: Option<String>,
}

/// The cells of a criterion that has axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorecardCells {
    /// Which of the cells' figures is the criterion's.
    pub over: OverCells,
    /// How many keep the bound; a cell without a figure does not.
    pub within: u32,
    /// In the order of the axes.
    pub cells: Vec<ScorecardCell>,
}

/// One combination of the axes' values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorecardCell {
    /// Where it lies: `rtt=20ms, buffer=1bdp`.
    pub at: String,
    /// `null` when no round had it.
    pub figure: Option<ScorecardFigure>,
    /// The same quantity of variant `a`, where variants ran in turn and the figure is no ratio and
    /// no difference; `null` elsewhere.
    pub reference: Option<ScorecardFigure>,
    /// The A/B tests behind the figure, as of a criterion with one cell.
    pub commands: Vec<String>,
}

/// Which of the figures of several cells stands for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverCells {
    /// The worst.
    #[default]
    Worst,
    /// The best figure that half of the cells have, or a better one.
    Median,
    /// The same of 90 % of the cells.
    P90,
}

/// The median over rounds, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScorecardFigure {
    /// The median, or the median of the paired ratios.
    pub value: Finite,
    /// The lower end; `null` with fewer than two rounds.
    pub low: Option<Finite>,
    /// The upper end.
    pub high: Option<Finite>,
    /// How many rounds had it.
    pub rounds: u32,
}

/// A limit of ours: the document sets none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorecardBound {
    /// The least figure that is good.
    pub at_least: Option<Finite>,
    /// The largest figure that is good.
    pub at_most: Option<Finite>,
    /// Why this one.
    pub reason: String,
}

/// What an interval says of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundVerdict {
    /// All of it is within the bound.
    Within,
    /// All of it is beyond the bound.
    Beyond,
    /// It contains the bound, or there are too few rounds for one.
    Undecided,
}

impl ScorecardBound {
    /// What `figure` says of the bound.
    pub fn judge(&self, figure: &ScorecardFigure) -> BoundVerdict {
        let Some((low, high)) = figure.low.zip(figure.high) else {
            return BoundVerdict::Undecided;
        };
        let is_beyond = self.at_least.is_some_and(|least| high < least)
            || self.at_most.is_some_and(|most| low > most);
        match (self.keeps(low) && self.keeps(high), is_beyond) {
            (true, _) => BoundVerdict::Within,
            (false, true) => BoundVerdict::Beyond,
            (false, false) => BoundVerdict::Undecided,
        }
    }

    /// Whether `value` is within the bound.
    pub fn keeps(&self, value: Finite) -> bool {
        self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most)
    }

    /// Whether a larger figure is a worse one: what has an upper end alone.
    pub fn is_ceiling(&self) -> bool {
        self.at_least.is_none()
    }
}

/// What a criterion looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Payload received over the rate of the link, of one variant or in a competition of all, in
    /// percent.
    Utilisation,
    /// Payload received per second, in Mbit/s.
    Goodput,
    /// 95th percentile of the time in the queue, in milliseconds.
    QueueDelay,
    /// The same over the round-trip time of the empty path.
    QueueDelayOverBaseRtt,
    /// 95th percentile of the round-trip time, in milliseconds.
    Rtt,
    /// Packets declared lost over packets sent, in percent.
    Loss,
    /// Jain's index over the goodputs of all connections.
    Jain,
    /// A variant's part of the goodput of all, in percent.
    Share,
    /// From the last start until the shares stay fair, in seconds.
    Convergence,
    /// The time that a transfer takes, in seconds.
    Completion,
    /// Packets sent in a base RTT.
    PacketsPerRtt,
    /// From a change of the path until a second has at least 80 % of the link's rate as payload,
    /// in seconds.
    Recovery,
    /// Payload received of one variant over the rate of the link, in percent, also in a
    /// competition.
    LinkShare,
    /// The largest goodput of a round over the least, of the same variant.
    GoodputSpread,
}

impl Measure {
    /// The metric of an A/B test that this is, in another unit.
    pub fn metric(self) -> Option<Metric> {
        Some(match self {
            Self::Utilisation | Self::Goodput | Self::LinkShare => Metric::GoodputBitsPerSecond,
            Self::QueueDelay | Self::QueueDelayOverBaseRtt => Metric::QueueDelayMsP95,
            Self::Rtt => Metric::RttMsP95,
            Self::Loss => Metric::LossRate,
            Self::Completion => Metric::Seconds,
            Self::Jain
            | Self::Share
            | Self::Convergence
            | Self::PacketsPerRtt
            | Self::Recovery
            | Self::GoodputSpread => return None,
        })
    }

    /// The unit in which the figure is given; empty for a pure number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Utilisation | Self::Loss | Self::Share | Self::LinkShare => "%",
            Self::Goodput => "Mbit/s",
            Self::QueueDelay | Self::Rtt => "ms",
            Self::QueueDelayOverBaseRtt => "× base RTT",
            Self::Convergence | Self::Completion | Self::Recovery => "s",
            Self::PacketsPerRtt => "packets/RTT",
            Self::GoodputSpread => "×",
            Self::Jain => "",
        }
    }
}
