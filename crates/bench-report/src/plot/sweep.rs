mod rows;

use super::axis::{Axis, Linear, Marked};
use super::grid::{Grid, Point};
use super::key::{self, Key};
use super::panel::{Inside, Panel, Reference, XLABELS};
use super::series::Series;
use super::svg::{BOLD, Svg, fitting};
use super::variants::Look;
use super::{Figure, LEFT, MAX_FIGURES, RIGHT};
use crate::result::{Finite, MatrixAxis, MatrixCell, MatrixResult, Metric, Summary};
use crate::text::Scale;

/// A measure along the matrix's main axis, a line per contender with its intervals: a figure for
/// each combination of the other axes' values, at most [`MAX_FIGURES`].
///
/// The main axis is the longest of those that have numbers, with the same unit, for all of their
/// values, an axis of loss before others; it is logarithmic where they span a decade. Where it is
/// a loss in percent, goodput has the bound rate × (1 − loss) as its reference. Where no axis has
/// numbers, it is the longest, with a row for each value instead.
pub fn sweeps(result: &MatrixResult, measure: Measure) -> Vec<Figure> {
    let grid = Grid::of(result);
    let Some(along) = main_axis(&grid) else {
        return Vec::new();
    };
    let Some(sweep) = Sweep::new(&grid, along, measure) else {
        return Vec::new();
    };
    let groups = grid.groups(&[along]).into_iter().take(MAX_FIGURES);
    groups
        .map(|(name, points)| match &sweep.numbers {
            Some(numbers) => sweep.lines(numbers, &name, &points),
            None => sweep.rows(&name, &points),
        })
        .collect()
}

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
    fn label(self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.label(),
            Self::Share => "Share of the goodput",
            Self::JainIndex => "Jain's index",
        }
    }

    /// The unit for values up to `largest`.
    fn scale(self, largest: f64) -> Scale {
        match self {
            Self::Metric(metric) => Scale::of(metric, largest),
            Self::Share => Scale::of(Metric::LossRate, largest),
            Self::JainIndex => Scale::count(largest),
        }
    }

    fn is_rtt(self) -> bool {
        use Metric::{RttMsP50, RttMsP95, RttMsP99};
        matches!(self, Self::Metric(RttMsP50 | RttMsP95 | RttMsP99))
    }

    /// The figure of the contender at this place.
    fn of(self, point: &Point<'_>, place: usize) -> Option<Summary> {
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

/// The longest axis of numbers, one of loss before others, or else the longest of all.
fn main_axis(grid: &Grid<'_>) -> Option<usize> {
    let rank = |axis: &usize| {
        let axis = grid.axes[*axis];
        let is_loss = axis.name.contains("loss");
        (Numbers::of(axis).is_some(), is_loss, axis.values.len())
    };
    // Of equal ones the first.
    (0..grid.axes.len()).rev().max_by_key(rank)
}

struct Sweep<'a> {
    grid: &'a Grid<'a>,
    along: usize,
    measure: Measure,
    numbers: Option<Numbers>,
    /// The values' axis and its unit, the same in all figures.
    values: Axis,
    scale: Scale,
}

impl<'a> Sweep<'a> {
    /// `None` when nothing has such a figure.
    fn new(grid: &'a Grid<'a>, along: usize, measure: Measure) -> Option<Self> {
        let places = 0..grid.contenders.len();
        let points = grid.points.iter();
        let summaries =
            points.flat_map(|p| places.clone().filter_map(|place| measure.of(p, place)));
        let (mut medians, mut end) = (Vec::new(), 0.0_f64);
        for summary in summaries {
            medians.push(summary.median.get());
            end = end.max(summary.high.map_or(0.0, Finite::get));
        }
        let high = medians.iter().copied().max_by(f64::total_cmp)?;
        let low = medians.iter().copied().fold(high, f64::min);
        let is_rate = measure == GOODPUT;
        let rates = grid.points.iter().filter(|_| is_rate);
        let rates = rates.filter_map(|point| rate(point.cell));
        let high = match measure {
            // The intervals of a few rounds may reach beyond what there is.
            Measure::Share | Measure::JainIndex => 1.0,
            Measure::Metric(_) => rates.fold(high.max(end.min(WHISKERS * high)), f64::max) * 1.12,
        };
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
        })
    }

    fn lines(&self, numbers: &Numbers, condition: &str, points: &[&Point<'_>]) -> Figure {
        let axis = self.grid.axes[self.along];
        let heading = fitting(&self.heading(condition), (RIGHT - LEFT) / BOLD);
        let values = self.values.clone();
        let panel = Panel::new(heading, 0.0, HEIGHT, numbers.axis(axis), values);
        let mut svg = Svg::default();
        panel.frame(&mut svg);
        let bound = self.bound(numbers, points);
        panel.area(&mut svg, |svg, inside| {
            if let Some(bound) = &bound {
                inside.line(svg, "reference", &self.scaled(bound));
            }
            for place in 0..self.grid.contenders.len() {
                self.line(svg, inside, place, numbers, points);
            }
        });
        if let Some(rate) = self.link_rate(points).filter(|_| bound.is_none()) {
            let reference = Reference::ceiling("link", rate, self.scale);
            panel.labelled_reference(&mut svg, &reference);
        }
        panel.x_labels(&mut svg, &fitting(&axis.name, RIGHT - LEFT));
        let mut entries = self.entries(Look::line_key);
        if bound.is_some() {
            entries.push((
                Key::Line("reference".to_owned()),
                "rate × (1 − loss)".to_owned(),
            ));
        }
        let height = panel.bottom() + XLABELS + 2.0;
        let legend = key::rows(&mut svg, height, &entries);
        Figure::new(self.title(condition), height + legend, svg)
    }

    fn title(&self, condition: &str) -> String {
        let axis = &self.grid.axes[self.along].name;
        format!("{} by {axis}{}", self.measure.label(), behind(condition))
    }

    /// The measure with its unit, and what the points have in common.
    fn heading(&self, condition: &str) -> String {
        let label = self.measure.label();
        format!("{label}{}{}", behind(self.scale.unit), behind(condition))
    }

    /// The contenders' names behind what `key` makes of their looks; nothing where there is one
    /// figure for all and the heading names it.
    fn entries(&self, key: fn(Look) -> Key) -> Vec<(Key, String)> {
        if self.measure == Measure::JainIndex {
            return Vec::new();
        }
        let names = self.grid.contenders.iter().enumerate();
        let entries = names.map(|(place, name)| (key(Look::of(place)), name.clone()));
        entries.collect()
    }

    fn look(&self, place: usize) -> Look {
        match self.measure {
            Measure::JainIndex => Look::of(NEUTRAL),
            _ => Look::of(place),
        }
    }

    /// The medians of a contender, with their intervals.
    fn line(
        &self,
        svg: &mut Svg,
        inside: &Inside<'_>,
        place: usize,
        numbers: &Numbers,
        points: &[&Point<'_>],
    ) {
        let look = self.look(place);
        let x = |point: &Point<'_>| numbers.drawn(point.at[self.along]);
        let mut values: Vec<(f64, Summary)> = points
            .iter()
            .filter_map(|point| Some((x(point), self.measure.of(point, place)?)))
            .collect();
        values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let line = |of: fn(&Summary) -> f64| values.iter().map(move |(x, s)| (*x, of(s)));
        let medians = Series(vec![line(|s| s.median.get()).collect()]);
        for (x, summary) in &values {
            if let Some((low, high)) = summary.low.zip(summary.high) {
                let ends = [(*x, low.get()), (*x, high.get())];
                let whisker = self.scaled(&Series(vec![ends.to_vec()]));
                inside.line(svg, &format!("whisker {}", look.class), &whisker);
            }
        }
        inside.line(svg, &format!("bold {}", look.class), &self.scaled(&medians));
        for (x, summary) in &values {
            let at = inside.point(*x, summary.median.get() / self.scale.divisor);
            look.mark(svg, "", at, 3.0);
        }
    }

    fn scaled(&self, series: &Series) -> Series {
        series.clone().divided_by(self.scale.divisor)
    }

    /// What no sender can exceed where a share of the packets is lost.
    fn bound(&self, numbers: &Numbers, points: &[&Point<'_>]) -> Option<Series> {
        let rate = self.link_rate(points)?;
        if numbers.unit != "%" || !self.grid.axes[self.along].name.contains("loss") {
            return None;
        }
        let (low, high) = numbers.extent();
        let steps = (0..=BOUND_STEPS).map(|step| f64::from(step) / f64::from(BOUND_STEPS));
        let losses = steps.map(|share| match numbers.is_log {
            true => low * (high / low).powf(share),
            false => low + (high - low) * share,
        });
        let bound = losses.map(|loss| (loss, rate * (1.0 - loss / 100.0).max(0.0)));
        Some(Series(vec![bound.collect()]))
    }

    /// The link's rate where it is the same at all of these points.
    fn link_rate(&self, points: &[&Point<'_>]) -> Option<f64> {
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

/// The values of an axis as numbers of one unit.
#[derive(Debug, PartialEq)]
struct Numbers {
    values: Vec<f64>,
    unit: String,
    is_log: bool,
}

impl Numbers {
    /// `None` when one of at least two is no number, or has another unit.
    fn of(axis: &MatrixAxis) -> Option<Self> {
        let numbers: Option<Vec<(f64, &str)>> = axis.values.iter().map(|v| number(v)).collect();
        let numbers = numbers.filter(|numbers| numbers.len() > 1)?;
        let unit = numbers
            .iter()
            .map(|(_, unit)| *unit)
            .find(|unit| !unit.is_empty());
        let unit = unit.unwrap_or_default();
        // A bare zero has any unit.
        let fits = |(value, other): &(f64, &str)| *other == unit || *value == 0.0;
        if !numbers.iter().all(fits) {
            return None;
        }
        let values: Vec<f64> = numbers.into_iter().map(|(value, _)| value).collect();
        let above_zero = values.iter().copied().filter(|value| *value > 0.0);
        let low = above_zero.clone().fold(f64::INFINITY, f64::min);
        let high = above_zero.fold(0.0, f64::max);
        Some(Self {
            is_log: high >= 10.0 * low,
            values,
            unit: unit.to_owned(),
        })
    }

    /// The least value that a logarithmic axis can show, and the largest.
    fn extent(&self) -> (f64, f64) {
        let drawn = (0..self.values.len()).map(|place| self.drawn(place));
        drawn.fold((f64::INFINITY, 0.0), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Where the value at this place is drawn: zero half a decade below the others on a
    /// logarithmic axis.
    fn drawn(&self, place: usize) -> f64 {
        let value = self.values[place];
        if value > 0.0 || !self.is_log {
            return value;
        }
        let above_zero = self.values.iter().copied().filter(|value| *value > 0.0);
        above_zero.fold(f64::INFINITY, f64::min) / 3.0
    }

    /// An axis whose ticks are the values as their author wrote them.
    fn axis(&self, axis: &MatrixAxis) -> Axis {
        let drawn = (0..self.values.len()).map(|place| self.drawn(place));
        let ticks = drawn.zip(axis.values.iter().cloned()).collect();
        let (low, high) = self.extent();
        if self.is_log {
            let margin = (high / low).powf(0.04);
            Marked::log_with(low / margin, high * margin, ticks).into()
        } else {
            let margin = 0.04 * (high - low).max(f64::MIN_POSITIVE);
            Marked::linear_with(low - margin, high + margin, ticks).into()
        }
    }
}

/// `0.1%` as 0.1 and `%`; units of time, rate and size are brought to one of each kind.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim_start();
    let (factor, unit) = match unit {
        "us" => (1e-3, "ms"),
        "s" => (1e3, "ms"),
        "bit" => (1e-6, "mbit"),
        "kbit" => (1e-3, "mbit"),
        "gbit" => (1e3, "mbit"),
        other if other.chars().all(|c| c.is_ascii_alphabetic() || c == '%') => (1.0, other),
        _ => return None,
    };
    Some((value * factor, unit))
}

const GOODPUT: Measure = Measure::Metric(Metric::GoodputBitsPerSecond);
/// The look of a line that is no contender's: dark grey.
const NEUTRAL: usize = 4;
const HEIGHT: f64 = 190.0;
/// An axis ends so far above the highest median: the interval of a few rounds may be many times as
/// high, and would press the medians of all into a line.
const WHISKERS: f64 = 1.5;
/// Round-trip times that differ by more have a logarithmic axis.
const MULTIPLE: f64 = 20.0;
/// A curve of so many pieces looks smooth.
const BOUND_STEPS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[&str]) -> Option<Numbers> {
        Numbers::of(&MatrixAxis {
            name: "any".to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        })
    }

    #[test]
    fn values_of_one_kind_are_numbers_of_one_unit() {
        let delays = numbers(&["500us", "20ms", "1s"]).unwrap();
        assert_eq!(
            (delays.values, delays.unit.as_str()),
            (vec![0.5, 20.0, 1_000.0], "ms")
        );
        let rates = numbers(&["500kbit", "2mbit", "1gbit"]).unwrap();
        assert_eq!(rates.values, [0.5, 2.0, 1_000.0]);
        assert!(numbers(&["0.05", "16"]).unwrap().is_log);
        assert!(!numbers(&["2", "8"]).unwrap().is_log);
    }

    #[test]
    fn what_is_no_number_or_of_two_kinds_is_not() {
        for values in [
            &["cubic", "bbr3"][..],
            &["1%", "1ms"],
            &["1%", "on"],
            &["5%"],
            &["1 2", "3"],
        ] {
            assert_eq!(numbers(values), None, "{values:?}");
        }
    }

    #[test]
    fn zero_has_any_unit_and_a_place_on_a_logarithmic_axis() {
        let losses = numbers(&["0", "0.1%", "10%"]).unwrap();
        assert!(losses.is_log && losses.unit == "%");
        let (low, high) = losses.extent();
        assert!(low > 0.0 && low < 0.1 && high == 10.0);
    }
}
