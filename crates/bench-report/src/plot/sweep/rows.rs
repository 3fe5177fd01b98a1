use super::super::axis::Axis;
use super::super::figure::{Figure, RIGHT, WIDTH};
use super::super::grid::Point;
use super::super::legend::{self, LegendSymbol};
use super::super::panel::Reference;
use super::super::series_style::SeriesStyle;
use super::super::svg::{Anchor, BOLD, Svg, fitting, text_width};
use super::measure::Measure;
use super::state::Sweep;
use crate::result::Summary;

impl Sweep<'_> {
    /// The same where the main axis has names and not numbers, which have no order that a line
    /// could follow: a row for each of them, with a mark for each contender and its interval.
    pub(super) fn rows(&self, condition: &str, points: &[&Point<'_>]) -> Figure {
        let axis = self.grid.axes[self.along];
        let names = axis.values.iter().map(|name| text_width(name));
        let left = names.fold(0.0, f64::max).min(NAMES) + GAP;
        let layout = Layout {
            left,
            row: ROW.max(LANE * self.lanes() as f64 + GAP),
            rows: axis.values.len(),
            values: self.values.clone().over(left, RIGHT),
        };
        let mut svg = Svg::default();
        let rate = self.link_rate(points);
        let reference = rate.map(|rate| Reference::ceiling("link", rate, self.scale));
        let mut room = f64::from(WIDTH);
        if let Some(reference) = &reference {
            let symbol = LegendSymbol::Line("reference".to_owned());
            room = legend::towards_right(&mut svg, 0.0, &[(symbol, reference.label.clone())]);
        }
        let heading = fitting(&self.heading(condition), (room - GAP) / BOLD);
        svg.text("heading", (0.0, 12.0), Anchor::Start, &heading);
        layout.frame(&mut svg, &axis.values);
        if let Some(rate) = rate {
            let x = layout.values.at(rate / self.scale.divisor);
            svg.line("reference", (x, TOP), (x, layout.bottom()));
        }
        for point in points {
            self.marks(&mut svg, &layout, point);
        }
        let below = layout.bottom() + TICKS;
        let legend = legend::rows(&mut svg, below, &self.entries(LegendSymbol::Mark));
        Figure::new(self.title(condition), below + legend, svg)
    }

    fn lanes(&self) -> usize {
        match self.measure {
            Measure::JainIndex => 1,
            _ => self.grid.contenders.len(),
        }
    }

    /// What the contenders came to at a point, one below the other in its row.
    fn marks(&self, svg: &mut Svg, layout: &Layout, point: &Point<'_>) {
        let middle = layout.middle(point.at[self.along]);
        let lanes = self.lanes();
        for place in 0..lanes {
            let Some(summary) = self.measure.of(point, place) else {
                continue;
            };
            let y = middle + LANE * (place as f64 - (lanes - 1) as f64 / 2.0);
            self.mark(svg, layout, self.style(place), &summary, y);
        }
    }

    fn mark(&self, svg: &mut Svg, layout: &Layout, style: SeriesStyle, summary: &Summary, y: f64) {
        // What leaves the figure ends at its edge.
        let x = |value: f64| layout.values.at(value / self.scale.divisor).min(RIGHT);
        if let Some((low, high)) = summary.low.zip(summary.high) {
            let class = format!("whisker {}", style.class);
            svg.line(&class, (x(low.get()), y), (x(high.get()), y));
        }
        style.mark(svg, "", (x(summary.median.get()), y), RADIUS);
    }
}

struct Layout {
    left: f64,
    row: f64,
    rows: usize,
    values: Axis,
}

impl Layout {
    fn bottom(&self) -> f64 {
        TOP + self.row * self.rows as f64
    }

    fn middle(&self, row: usize) -> f64 {
        TOP + self.row * (row as f64 + 0.5)
    }

    fn frame(&self, svg: &mut Svg, names: &[String]) {
        let bottom = self.bottom();
        for (value, label) in self.values.ticks() {
            let x = self.values.at(value);
            svg.line("grid", (x, TOP), (x, bottom));
            svg.text("label", (x, bottom + 14.0), Anchor::Middle, &label);
        }
        for (row, name) in names.iter().enumerate() {
            let y = TOP + self.row * row as f64;
            svg.line("grid", (0.0, y), (RIGHT, y));
            let at = (0.0, self.middle(row) + 3.6);
            svg.text("label", at, Anchor::Start, &fitting(name, self.left - GAP));
        }
        svg.line("axis", (self.left, bottom), (RIGHT, bottom));
    }
}

/// Below the heading.
const TOP: f64 = 20.0;
/// Between the marks of one row.
const LANE: f64 = 6.0;
/// The least height of a row: its name's.
const ROW: f64 = 17.0;
const GAP: f64 = 8.0;
const NAMES: f64 = 130.0;
/// What the labels of the values need below the axis.
const TICKS: f64 = 20.0;
const RADIUS: f64 = 2.6;
