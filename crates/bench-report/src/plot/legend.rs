use super::figure::{RIGHT, WIDTH};
use super::series_style::SeriesStyle;
use super::svg::{Anchor, Svg, fitting, text_width};

#[derive(Debug, Clone)]
pub(super) enum LegendSymbol {
    Line(String),
    Mark(SeriesStyle),
    Area(String),
}

impl LegendSymbol {
    pub(super) fn line(style: SeriesStyle) -> Self {
        Self::Line(format!("bold {}", style.class))
    }

    fn class(&self) -> &str {
        match self {
            Self::Line(class) | Self::Area(class) => class,
            Self::Mark(style) => style.class,
        }
    }

    /// In the middle of `width` units from `x` on, at the height `y`.
    fn draw(&self, svg: &mut Svg, (x, y): (f64, f64), width: f64) {
        let middle = x + width / 2.0;
        match self {
            Self::Line(class) => svg.line(class, (x, y), (x + width, y)),
            Self::Mark(style) => style.mark(svg, "", (middle, y), 4.0),
            Self::Area(class) => svg.rect(class, (middle - 5.0, y - 5.0), (10.0, 10.0)),
        }
    }

    /// What it takes beside others in the row of a heading.
    fn width(&self) -> f64 {
        match self {
            Self::Line(_) => 13.0,
            Self::Mark(_) | Self::Area(_) => 10.0,
        }
    }
}

/// Symbols and their names towards the right end of a row that begins at `top`, such as that of a
/// heading. Returns where they begin.
pub(super) fn towards_right(svg: &mut Svg, top: f64, entries: &[(LegendSymbol, String)]) -> f64 {
    let width = |symbol: &LegendSymbol, name: &str| symbol.width() + 4.0 + text_width(name) + 8.0;
    let total: f64 = entries
        .iter()
        .map(|(symbol, name)| width(symbol, name))
        .sum();
    let begin = RIGHT + 8.0 - total;
    let mut left = begin;
    for (symbol, name) in entries {
        svg.key(symbol.class(), |svg| {
            symbol.draw(svg, (left, top + 8.5), symbol.width());
            let text = (left + symbol.width() + 4.0, top + 12.0);
            svg.text("label", text, Anchor::Start, name);
        });
        left += width(symbol, name);
    }
    begin
}

/// Symbols and their names from `top` down, in as many columns as the longest name leaves room for.
/// Returns the height used.
pub(super) fn rows(svg: &mut Svg, top: f64, entries: &[(LegendSymbol, String)]) -> f64 {
    let widths = entries.iter().map(|(_, name)| text_width(name));
    let widest = widths.fold(0.0, f64::max) + SAMPLE + 13.0;
    let columns = ((ROWS / widest) as usize).clamp(1, entries.len().clamp(1, 4));
    let column = ROWS / columns as f64;
    for (index, (symbol, name)) in entries.iter().enumerate() {
        let x = RIGHT - ROWS + column * (index % columns) as f64;
        let y = top + ROW * (index / columns) as f64;
        svg.key(symbol.class(), |svg| {
            symbol.draw(svg, (x, y + 7.0), SAMPLE);
            let name = fitting(name, column - SAMPLE - 8.0);
            svg.text("label", (x + SAMPLE + 5.0, y + 10.5), Anchor::Start, &name);
        });
    }
    ROW * entries.len().div_ceil(columns) as f64 + 2.0
}

/// The length of a line before its name: two of the longest dashes.
const SAMPLE: f64 = 24.0;
const ROW: f64 = 15.0;
const ROWS: f64 = WIDTH as f64 - 20.0;
