use super::super::grid::Point;
use crate::result::{Metric, Summary};
use crate::text::Scale;

/// What a sweep shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A metric of each contender.
    Metric(Metric),
    /// The part of all goodput that each variant of a competition had.
    Share,
    /// Jain's index over the connections of a competition.
    JainIndex,
}

impl Measure {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.label(),
            Self::Share => "Share of goodput",
            Self::JainIndex => "Jain's index",
        }
    }

    pub(super) fn scale(self, largest: f64) -> Scale {
        match self {
            Self::Metric(metric) => Scale::of(metric, largest),
            Self::Share => Scale::of(Metric::LossRate, largest),
            Self::JainIndex => Scale::count(largest),
        }
    }

    pub(super) fn is_rtt(self) -> bool {
        use Metric::{RttMsP50, RttMsP95, RttMsP99};
        matches!(self, Self::Metric(RttMsP50 | RttMsP95 | RttMsP99))
    }

    pub(super) fn of(self, point: &Point<'_>, place: usize) -> Option<Summary> {
        let competition = point.cell.competition.as_ref();
        match self {
            Self::Metric(metric) => point.summaries.get(place)?.as_ref()?.get(&metric).copied(),
            Self::Share => {
                let variant = point.cell.variants.get(place)?;
                competition?.shares.get(&variant.name).copied()
            }
            Self::JainIndex => (place == 0).then_some(competition?.jain_index),
        }
    }
}

pub(super) const GOODPUT: Measure = Measure::Metric(Metric::GoodputBitsPerSecond);
