use super::axis::{Axis, Linear};
use super::figure::{LEFT, RIGHT, WIDTH};
use super::legend::{self, LegendSymbol};
use super::series::Series;
use super::svg::{Anchor, Svg, escape, text_width};
use crate::text::Scale;

/// One coordinate system, mostly over time: grid, labels and what is drawn in it.
#[derive(Debug)]
pub(super) struct Panel {
    heading: String,
    top: f64,
    height: f64,
    x: Axis,
    y: Axis,
    /// What a page's script has to know of the area, as attributes: its time axis, and its values.
    time: String,
    values: String,
}

impl Panel {
    /// A panel whose heading begins at `top`, over an area of this height.
    pub(super) fn new(
        heading: String,
        top: f64,
        height: f64,
        x: impl Into<Axis>,
        y: impl Into<Axis>,
    ) -> Self {
        let area = top + HEADING;
        Self {
            heading,
            top,
            height,
            x: x.into().over(0.0, RIGHT - LEFT),
            y: y.into().over(area + height, area),
            time: String::new(),
            values: String::new(),
        }
    }

    /// The same panel over time, in which a page's script finds values and which it zooms.
    pub(super) fn over_time(mut self) -> Self {
        if let (Axis::Linear(time), Axis::Linear(value)) = (&self.x, &self.y) {
            let (low, high) = value.ends();
            self.time = time_attribute(time);
            self.values = format!(
                " data-value=\"{low} {high}\" data-heading=\"{}\"",
                escape(&self.heading)
            );
        }
        self
    }

    /// The upper edge of the area.
    pub(super) fn area_top(&self) -> f64 {
        self.top + HEADING
    }

    pub(super) fn bottom(&self) -> f64 {
        self.area_top() + self.height
    }

    pub(super) fn frame(&self, svg: &mut Svg) {
        svg.text(
            "heading",
            (LEFT, self.top + 12.0),
            Anchor::Start,
            &self.heading,
        );
        for (tick, _) in self.x.ticks() {
            let x = LEFT + self.x.at(tick);
            svg.line("grid x", (x, self.area_top()), (x, self.bottom()));
        }
        for (value, label) in self.y.ticks() {
            let y = self.y.at(value);
            svg.line("grid", (LEFT, y), (RIGHT, y));
            svg.text("label", (LEFT - 4.0, y + 3.6), Anchor::End, &label);
        }
        svg.line("axis", (LEFT, self.bottom()), (RIGHT, self.bottom()));
    }

    /// Draws inside the data's area; what leaves it is cut off.
    pub(super) fn area(&self, svg: &mut Svg, draw: impl FnOnce(&mut Svg, &Inside<'_>)) {
        let attributes = format!("{}{}", self.time, self.values);
        self.clipped(svg, &attributes, draw);
    }

    /// The same for what has no values: what lies behind the lines.
    pub(super) fn behind(&self, svg: &mut Svg, draw: impl FnOnce(&mut Svg, &Inside<'_>)) {
        self.clipped(svg, &self.time, draw);
    }

    fn clipped(&self, svg: &mut Svg, attributes: &str, draw: impl FnOnce(&mut Svg, &Inside<'_>)) {
        // A line on the upper or lower edge keeps its width.
        let corner = (LEFT, self.area_top() - MARGIN);
        let size = (RIGHT - LEFT, self.height + 2.0 * MARGIN);
        svg.clipped(attributes, corner, size, |svg| draw(svg, &Inside(self)));
    }

    pub(super) fn reference(&self, svg: &mut Svg, reference: &Reference) {
        let y = self.y.at(reference.value);
        svg.line("reference", (LEFT, y), (RIGHT, y));
    }

    /// The reference line, labelled at its right end, on the side away from the values where
    /// there is room.
    pub(super) fn labelled_reference(&self, svg: &mut Svg, reference: &Reference) {
        self.reference(svg, reference);
        let y = self.y.at(reference.value);
        let below = y + 11.5;
        let baseline = if reference.is_floor && below < self.bottom() {
            below
        } else {
            y - 4.0
        };
        svg.text(
            "label halo",
            (RIGHT - 2.0, baseline),
            Anchor::End,
            &reference.label,
        );
    }

    /// Where a point of the data lies in the figure.
    pub(super) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (LEFT + self.x.at(x), self.y.at(y))
    }

    pub(super) fn note(&self, svg: &mut Svg, text: &str) {
        let at = (LEFT + 4.0, self.area_top() + 11.5);
        svg.text("label halo", at, Anchor::Start, text);
    }

    /// Above the lower edge, shown with the switched line.
    pub(super) fn switched_note(&self, svg: &mut Svg, lines: &[String]) {
        for (line, text) in lines.iter().rev().enumerate() {
            let at = (LEFT + 4.0, self.bottom() - 5.0 - 12.5 * line as f64);
            svg.text("switched label halo", at, Anchor::Start, text);
        }
    }

    pub(super) fn x_labels(&self, svg: &mut Svg, name: &str) {
        self.ticks_below(svg);
        let middle = f64::midpoint(LEFT, RIGHT);
        let baseline = self.bottom() + 28.0;
        svg.text("label", (middle, baseline), Anchor::Middle, name);
    }

    /// The same with the legend of a reference line in the row of the axis' name.
    pub(super) fn x_labels_and_legend(&self, svg: &mut Svg, name: &str, reference: &Reference) {
        let entry = [(
            LegendSymbol::Line("reference".to_owned()),
            reference.label.clone(),
        )];
        let left = legend::towards_right(svg, self.bottom() + 16.0, &entry);
        let half = text_width(name) / 2.0;
        let middle = f64::midpoint(LEFT, RIGHT).min(left - half - 8.0);
        self.ticks_below(svg);
        svg.text(
            "label",
            (middle, self.bottom() + 28.0),
            Anchor::Middle,
            name,
        );
    }

    fn ticks_below(&self, svg: &mut Svg) {
        let y = self.bottom();
        let mut taken = 0.0;
        for (tick, label) in self.x.ticks() {
            let x = LEFT + self.x.at(tick);
            svg.line("axis x", (x, y), (x, y + 3.0));
            let half = text_width(&label) / 2.0;
            let middle = x.clamp(half, f64::from(WIDTH) - half);
            // A label without room is left out; its tick stays.
            if middle - half >= taken {
                svg.text("label x", (middle, y + 14.0), Anchor::Middle, &label);
                taken = middle + half + 3.0;
            }
        }
    }
}

/// The ends of a time axis, for a page's script.
pub(super) fn time_attribute(time: &Linear) -> String {
    let (low, high) = time.ends();
    format!(" data-time=\"{low} {high}\"")
}

#[derive(Debug)]
pub(super) struct Inside<'a>(&'a Panel);

impl Inside<'_> {
    pub(super) fn point(&self, x: f64, y: f64) -> (f64, f64) {
        let panel = self.0;
        (panel.x.at(x), panel.y.at(y) - panel.area_top() + MARGIN)
    }

    pub(super) fn line(&self, svg: &mut Svg, class: &str, series: &Series) {
        for run in &series.0 {
            let points: Vec<(f64, f64)> = run.iter().map(|&(x, y)| self.point(x, y)).collect();
            svg.path(class, &points);
        }
    }

    /// The full height between two values of x.
    pub(super) fn stretch(&self, svg: &mut Svg, class: &str, from: f64, to: f64) {
        let (left, right) = (self.0.x.at(from), self.0.x.at(to));
        svg.rect(class, (left, MARGIN), (right - left, self.0.height));
    }
}

/// A horizontal line at a value known beforehand.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    value: f64,
    pub(super) label: String,
    /// Whether the values stay above it, so that the label has its place below.
    is_floor: bool,
}

impl Reference {
    /// A line that values stay below.
    pub(super) fn ceiling(name: &str, value: f64, scale: Scale) -> Self {
        let number = scale.show(value);
        Self {
            value: value / scale.divisor,
            label: format!("{name} {} {}", without_zeros(&number), scale.unit),
            is_floor: false,
        }
    }

    /// A line that values stay above.
    pub(super) fn floor(name: &str, value: f64, scale: Scale) -> Self {
        Self {
            is_floor: true,
            ..Self::ceiling(name, value, scale)
        }
    }
}

/// `40.0` as `40`: a round number that was set, not measured.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

pub(super) const TIME: &str = "Time since the start, s";
/// What the labels of the horizontal axis need below it.
pub(super) const XLABELS: f64 = 33.0;
pub(super) const HEADING: f64 = 19.0;
/// How far the clipped area exceeds the data's area above and below.
const MARGIN: f64 = 1.0;
