use super::bounds::MAX_FIGURES;
use super::figure::{Figure, RIGHT};
use super::grid::{Best, Grid, Point};
use super::series_style::SeriesStyle;
use super::svg::{Anchor, BOLD, Svg, fitting, text_width};
use crate::result::{MatrixResult, Metric};
use crate::text::significant;

/// Who is better by a metric at each condition of two axes, and how many times: a figure for each
/// combination of the other axes' values, at most [`MAX_FIGURES`]. None for a matrix of fewer than
/// two axes, or of one contender.
///
/// A cell has the letter and the colour of the better one, the fuller the more it is ahead of the
/// next; it is grey where the best are the same within 5 %, and empty where the rounds are too few.
pub fn heat_maps(result: &MatrixResult, metric: Metric) -> Vec<Figure> {
    let grid = Grid::of(result);
    let Some((across, down)) = main_axes(&grid) else {
        return Vec::new();
    };
    let map = Map {
        grid: &grid,
        metric,
        across,
        down,
    };
    let groups = grid.groups(&[across, down]).into_iter().take(MAX_FIGURES);
    groups
        .map(|(name, points)| map.figure(&name, &points))
        .collect()
}

/// The two longest axes; the longer one goes across, if that leaves its cells readable.
fn main_axes(grid: &Grid<'_>) -> Option<(usize, usize)> {
    if grid.contenders.len() < 2 {
        return None;
    }
    let length = |axis: usize| grid.axes[axis].values.len();
    let mut axes: Vec<usize> = (0..grid.axes.len()).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(length(*axis)));
    let [longest, next, ..] = *axes.as_slice() else {
        return None;
    };
    Some(if length(longest) > MAX_COLUMNS {
        (next, longest)
    } else {
        (longest, next)
    })
}

struct Map<'a> {
    grid: &'a Grid<'a>,
    metric: Metric,
    across: usize,
    down: usize,
}

impl Map<'_> {
    fn figure(&self, condition: &str, points: &[&Point<'_>]) -> Figure {
        let comma = if condition.is_empty() { "" } else { ", " };
        let heading = format!("Better {}{comma}{condition}", self.what());
        let title = format!("Variant with the better {}{comma}{condition}", self.what());
        let mut svg = Svg::default();
        let heading = fitting(&heading, RIGHT / BOLD);
        svg.text("heading", (0.0, 12.0), Anchor::Start, &heading);
        let columns = self.grid.axes[self.across].values.len().max(1);
        let rows = self.grid.axes[self.down].values.len();
        let width = (RIGHT - LEFT) / columns as f64;
        let corner =
            |across: usize, down: usize| (LEFT + width * across as f64, TOP + ROW * down as f64);
        for point in points {
            let at = corner(point.at[self.across], point.at[self.down]);
            self.cell(&mut svg, at, width, point);
        }
        let bottom = TOP + ROW * rows as f64;
        self.labels(&mut svg, width, bottom);
        let height = bottom + 40.0;
        let legend = self.legend(&mut svg, height);
        Figure::new(title, height + legend, svg)
    }

    fn what(&self) -> String {
        let label = self.metric.label();
        match label.split_once(' ') {
            Some(("RTT" | "CPU", _)) => label.to_owned(),
            _ => label.to_lowercase(),
        }
    }

    fn cell(&self, svg: &mut Svg, (x, y): (f64, f64), width: f64, point: &Point<'_>) {
        let size = (width - 1.5, ROW - 1.5);
        let (class, text) = match point.best(self.metric) {
            None => ("cell".to_owned(), String::new()),
            Some(Best::Unknown) => ("cell".to_owned(), "?".to_owned()),
            Some(Best::Same) => ("same-fill lead-1".to_owned(), "=".to_owned()),
            Some(Best::One(place, margin)) => {
                let style = SeriesStyle::of(place);
                let lead = lead(margin);
                let name = self.grid.letter(place);
                let full = format!("{name} {}×", significant(margin));
                let is_short = text_width(&full) > width - 3.0;
                let text = if is_short { name.to_owned() } else { full };
                (format!("{}-fill {lead}", style.class), text)
            }
        };
        svg.rect(&class, (x, y), size);
        if text_width(&text) <= width {
            let at = (x + size.0 / 2.0, y + ROW / 2.0 + 3.0);
            svg.text("", at, Anchor::Middle, &text);
        }
    }

    fn labels(&self, svg: &mut Svg, width: f64, bottom: f64) {
        let (across, down) = (self.grid.axes[self.across], self.grid.axes[self.down]);
        for (row, value) in down.values.iter().enumerate() {
            let y = TOP + ROW * (row as f64 + 0.5) + 3.0;
            let value = fitting(value, LEFT - 8.0);
            svg.text("label", (LEFT - 5.0, y), Anchor::End, &value);
        }
        let name = fitting(&format!("{} ↓", down.name), LEFT - 4.0);
        svg.text("label", (LEFT - 5.0, TOP - 5.0), Anchor::End, &name);
        let mut taken = 0.0;
        for (column, value) in across.values.iter().enumerate() {
            let middle = LEFT + width * (column as f64 + 0.5);
            let value = fitting(value, 2.0 * width.max(40.0));
            let half = text_width(&value) / 2.0;
            let middle = middle.clamp(half, f64::from(super::WIDTH) - half);
            if middle - half >= taken {
                svg.text("label", (middle, bottom + 13.0), Anchor::Middle, &value);
                taken = middle + half + 3.0;
            }
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        svg.text(
            "label",
            (middle, bottom + 28.0),
            Anchor::Middle,
            &across.name,
        );
    }

    /// Names of the contenders, and what the fullness of a colour says. Returns the height used.
    fn legend(&self, svg: &mut Svg, top: f64) -> f64 {
        let mut y = top;
        let contenders = self.grid.contenders.iter().enumerate();
        for (place, name) in contenders.take(super::series_style::CLASSES.len()) {
            let class = format!("{}-fill lead-4", SeriesStyle::of(place).class);
            svg.rect(&class, (0.0, y + 2.0), (10.0, 10.0));
            svg.text(
                "label",
                (14.0, y + 10.5),
                Anchor::Start,
                &fitting(name, 180.0),
            );
            y += 15.0;
        }
        let mut shades = top;
        let words = LEADS
            .iter()
            .map(|(_, class, words)| (format!("lead {class}"), *words));
        let same = [("same-fill lead-1".to_owned(), "= same within 5 %")];
        let unknown = [("cell".to_owned(), "? too few rounds to tell")];
        for (class, words) in words.chain(same).chain(unknown) {
            svg.rect(&class, (210.0, shades + 2.0), (10.0, 10.0));
            svg.text("label", (224.0, shades + 10.5), Anchor::Start, words);
            shades += 15.0;
        }
        y.max(shades) - top
    }
}

/// How full the colour of one that is so many times better is.
fn lead(margin: f64) -> &'static str {
    let lead = LEADS.iter().rfind(|(from, _, _)| margin >= *from);
    lead.map_or(LEADS[0].1, |(_, class, _)| class)
}

/// From so many times on, the class, and the words for it.
const LEADS: [(f64, &str, &str); 4] = [
    (1.0, "lead-1", "better by a factor below 1.25"),
    (1.25, "lead-2", "factor 1.25 to 2"),
    (2.0, "lead-3", "factor 2 to 5"),
    (5.0, "lead-4", "factor 5 or more"),
];
/// Wider cells than a letter needs.
const MAX_COLUMNS: usize = 16;
const TOP: f64 = 34.0;
const ROW: f64 = 22.0;
/// Behind the values of the axis that goes down.
const LEFT: f64 = 72.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_fills_with_the_lead() {
        let classes = [1.0, 1.2, 1.25, 1.99, 2.0, 4.9, 5.0, f64::INFINITY].map(lead);
        let expected = [1, 1, 2, 2, 3, 3, 4, 4].map(|n| format!("lead-{n}"));
        assert_eq!(classes.map(str::to_owned), expected);
    }
}
