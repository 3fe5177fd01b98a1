use super::super::axis::{Axis, Linear, Marked};
use super::super::grid::{Grid, Point};
use super::super::legend::LegendSymbol;
use super::super::series_style::SeriesStyle;
use super::measure::{GOODPUT, Measure};
use super::numbers::Numbers;
use crate::result::{Finite, MatrixCell};
use crate::text::Scale;

pub(super) struct Sweep<'a> {
    pub(super) grid: &'a Grid<'a>,
    pub(super) along: usize,
    pub(super) measure: Measure,
    pub(super) numbers: Option<Numbers>,
    pub(super) values: Axis,
    pub(super) scale: Scale,
    /// The end of `values`, in the measure's own unit.
    pub(super) end: f64,
}

impl<'a> Sweep<'a> {
    /// With axes for these points. `None` when none of them has such a figure.
    pub(super) fn new(
        grid: &'a Grid<'a>,
        along: usize,
        measure: Measure,
        points: &[&Point<'a>],
    ) -> Option<Self> {
        let places = 0..grid.contenders.len();
        let summaries = points
            .iter()
            .flat_map(|point| places.clone().filter_map(|place| measure.of(point, place)));
        let (mut medians, mut end) = (Vec::new(), 0.0_f64);
        for summary in summaries {
            medians.push(summary.median.get());
            end = end.max(summary.high.map_or(0.0, Finite::get));
        }
        let high = medians.iter().copied().max_by(f64::total_cmp)?;
        let low = medians.iter().copied().fold(high, f64::min);
        let is_rate = measure == GOODPUT;
        let rates = points.iter().filter(|_| is_rate);
        let rates = rates.filter_map(|point| rate(point.cell));
        let high = match measure {
            // The intervals of a few rounds may reach beyond what there is.
            Measure::Share | Measure::JainIndex => 1.0,
            Measure::Metric(_) => rates.fold(high.max(end.min(WHISKERS * high)), f64::max) * 1.12,
        };
        let end = high;
        let scale = measure.scale(high);
        let (low, high) = (low / scale.divisor, high / scale.divisor);
        let is_log = measure.is_rtt() && low > 0.0 && high >= MULTIPLE * low;
        Some(Self {
            grid,
            along,
            measure,
            numbers: Numbers::of(grid.axes[along]),
            values: if is_log {
                Marked::log(low / 1.2, high).into()
            } else {
                Linear::exact(0.0, high, 5).into()
            },
            scale,
            end,
        })
    }

    pub(super) fn title(&self, condition: &str) -> String {
        let axis = &self.grid.axes[self.along].name;
        format!("{} by {axis}{}", self.measure.label(), behind(condition))
    }

    /// The measure with its unit, and what the points have in common.
    pub(super) fn heading(&self, condition: &str) -> String {
        let label = self.measure.label();
        format!("{label}{}{}", behind(self.scale.unit), behind(condition))
    }

    /// The contenders' names, each behind the `symbol` of its style; nothing where there is one
    /// figure for all and the heading names it.
    pub(super) fn entries(
        &self,
        symbol: fn(SeriesStyle) -> LegendSymbol,
    ) -> Vec<(LegendSymbol, String)> {
        if self.measure == Measure::JainIndex {
            return Vec::new();
        }
        let names = self.grid.contenders.iter().enumerate();
        let entries = names.map(|(place, name)| (symbol(SeriesStyle::of(place)), name.clone()));
        entries.collect()
    }

    pub(super) fn style(&self, place: usize) -> SeriesStyle {
        match self.measure {
            Measure::JainIndex => SeriesStyle::of(NEUTRAL),
            _ => SeriesStyle::of(place),
        }
    }

    /// The link's rate where it is the same at all of these points.
    pub(super) fn link_rate(&self, points: &[&Point<'_>]) -> Option<f64> {
        if self.measure != GOODPUT {
            return None;
        }
        let first = rate(points.first()?.cell)?;
        let is_same = points.iter().all(|point| rate(point.cell) == Some(first));
        is_same.then_some(first)
    }
}

/// `text` behind a comma, if there is any.
fn behind(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(", {text}"),
    }
}

fn rate(cell: &MatrixCell) -> Option<f64> {
    Some(cell.link_rate_bits_per_second? as f64)
}

/// The style of a line that is no contender's: dark grey.
const NEUTRAL: usize = 4;

/// An axis ends so far above the highest median: the interval of a few rounds may be many times as
/// high, and would press the medians of all into a line.
const WHISKERS: f64 = 1.5;

/// Round-trip times that differ by more have a logarithmic axis.
const MULTIPLE: f64 = 20.0;
