use super::{Finite, short_names};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A matrix whose conditions were drawn at random: what each controller did in each cell beside
/// the others, and over all cells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Drawn {
    /// The command that draws the same cells again; with `--only cell=N` behind it, that one alone.
    pub command: Option<String>,
    /// One of each controller and cell, in the order of the cells.
    pub measures: Vec<DrawnMeasures>,
    /// One of each controller, in the order of the matrix.
    pub summaries: Vec<DrawnSummary>,
    /// One of each metric and alternative of each variable that chooses between some, in their
    /// order, where a cell has the metric.
    pub conditions: Vec<DrawnCondition>,
}

impl Drawn {
    /// The controllers of the summaries, as short as tells them apart.
    pub fn short_names(&self) -> Vec<String> {
        let full = self.summaries.iter().map(|one| one.cc.as_str());
        short_names(&full.collect::<Vec<_>>())
    }

    /// What a sweep by `command` begins with.
    pub fn of_command(command: Option<String>) -> Self {
        Self {
            command,
            ..Self::default()
        }
    }
}

/// What one controller did in one cell. Figures that a cell does not have are `null`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DrawnMeasures {
    /// The number of the cell: which draw it is.
    pub cell: u32,
    /// The controller and its parameters, as the matrix names it.
    pub cc: String,
    /// Payload received per second, over all of its connections; those that failed
    /// have none.
    pub goodput_bits_per_second: Finite,
    /// 1 − this goodput ÷ the most that any controller of the matrix had in this cell, 0 to 1.
    /// Of a transfer that is the best time to completion ÷ this one, from one.
    pub regret: Option<Finite>,
    /// How long a transfer of a set size took, in seconds.
    pub seconds: Option<Finite>,
    /// Packets declared lost over packets sent, the mean of its connections.
    pub loss_rate: Option<Finite>,
    /// 95th percentile of the time in the link's queue, of all packets, in milliseconds.
    pub queue_delay_ms_p95: Option<Finite>,
    /// 99th percentile of the same.
    pub queue_delay_ms_p99: Option<Finite>,
    /// The 95th percentile over the round-trip time of the empty path.
    pub queue_delay_p95_over_base_rtt: Option<Finite>,
    /// The 99th percentile over the round-trip time of the empty path.
    pub queue_delay_p99_over_base_rtt: Option<Finite>,
    /// Jain's index over the goodputs of its connections, where several of a kind share the path.
    pub jain_index: Option<Finite>,
    /// The goodput of the CUBIC flow beside it, over what that flow has beside another CUBIC in the
    /// same cell.
    pub neighbour_over_beside_cubic: Option<Finite>,
    /// Why figures are missing, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// By what controllers are compared over drawn cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnMetric {
    /// [`DrawnMeasures::regret`].
    Regret,
    /// [`DrawnMeasures::queue_delay_p95_over_base_rtt`].
    QueueDelayP95OverBaseRtt,
    /// [`DrawnMeasures::jain_index`].
    JainIndex,
    /// [`DrawnMeasures::neighbour_over_beside_cubic`].
    NeighbourOverBesideCubic,
}

impl DrawnMetric {
    /// Every one, in the order of the tables.
    pub const ALL: [Self; 4] = [
        Self::Regret,
        Self::QueueDelayP95OverBaseRtt,
        Self::JainIndex,
        Self::NeighbourOverBesideCubic,
    ];

    /// The figure of one controller in one cell.
    pub fn of(self, measures: &DrawnMeasures) -> Option<f64> {
        let figure = match self {
            Self::Regret => measures.regret,
            Self::QueueDelayP95OverBaseRtt => measures.queue_delay_p95_over_base_rtt,
            Self::JainIndex => measures.jain_index,
            Self::NeighbourOverBesideCubic => measures.neighbour_over_beside_cubic,
        };
        figure.map(Finite::get)
    }

    /// What a figure has to keep to count as good, the stricter bound first: at most this where
    /// [lower is better](Self::lower_is_better), else at least. Ours: a tenth and three tenths are
    /// what a user notices in a download, and a queue of a quarter and of a whole round trip what
    /// one notices in a call; a neighbour with half of its share is half as fast, and of several
    /// flows with an index of 0.8 one in five could as well have nothing.
    pub const fn bounds(self) -> [f64; 2] {
        match self {
            Self::Regret => [0.1, 0.3],
            Self::QueueDelayP95OverBaseRtt => [0.25, 1.0],
            Self::JainIndex => [0.95, 0.8],
            Self::NeighbourOverBesideCubic => [0.8, 0.5],
        }
    }

    /// Whether a figure keeps a bound of this metric.
    pub fn keeps(self, figure: f64, bound: f64) -> bool {
        if self.lower_is_better() {
            figure <= bound
        } else {
            figure >= bound
        }
    }

    /// Whether a small figure is good.
    pub const fn lower_is_better(self) -> bool {
        matches!(self, Self::Regret | Self::QueueDelayP95OverBaseRtt)
    }

    /// How far a figure is behind the best one of the same cell, from zero or one upwards: a
    /// difference, and of queues the ratio, where one below a tenth of the base RTT counts as that.
    pub fn behind(self, figure: f64, best: f64) -> f64 {
        match self {
            Self::QueueDelayP95OverBaseRtt => figure.max(SHORT) / best.max(SHORT),
            Self::Regret => figure - best,
            Self::JainIndex | Self::NeighbourOverBesideCubic => best - figure,
        }
    }

    /// For people, without a unit.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Regret => "Regret",
            Self::QueueDelayP95OverBaseRtt => "p95 queue over base RTT",
            Self::JainIndex => "Jain's index among its kind",
            Self::NeighbourOverBesideCubic => "CUBIC's goodput beside it",
        }
    }
}

/// A queue, in base round-trip times, that nobody tells from none.
const SHORT: f64 = 0.1;

/// One controller over all cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnSummary {
    /// The controller and its parameters, as the matrix names it.
    pub cc: String,
    /// By each metric that any cell has.
    pub distributions: BTreeMap<DrawnMetric, DrawnDistribution>,
}

/// The cells with one condition in common, such as a queue discipline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnCondition {
    /// The variable, such as `queue`.
    pub variable: String,
    /// What it is in these cells, such as `pie`.
    pub value: String,
    /// By what the controllers are compared.
    pub metric: DrawnMetric,
    /// How many of the cells have it.
    pub cells: u32,
    /// The share of them, 0 to 1, in which each controller keeps the looser
    /// [bound](DrawnMetric::bounds) of the metric, in the order of the matrix.
    pub within: Vec<Finite>,
}

/// One controller's figures of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnDistribution {
    /// How many cells have the figure.
    pub cells: u32,
    /// Half of the cells are no worse than this.
    pub median: Finite,
    /// The worst of all cells.
    pub worst: Finite,
    /// The numbers of the ten cells in which it is furthest [behind](DrawnMetric::behind) the best
    /// controller of the cell, the furthest first.
    pub worst_cells: Vec<u32>,
    /// How many cells keep each of the metric's [bounds](DrawnMetric::bounds).
    pub within: Vec<DrawnShare>,
}

/// A share of the cells, with the 95 % interval of Wilson's score for the share of all paths of
/// the distribution (E. B. Wilson, 1927).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DrawnShare {
    /// What their figures keep.
    pub bound: Finite,
    /// 0 to 1.
    pub share: Finite,
    /// The low end of the interval.
    pub low: Finite,
    /// The high end.
    pub high: Finite,
}
