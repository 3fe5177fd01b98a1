use super::axis::Ratios;
use super::figure::{Figure, WIDTH};
use super::series_style::{CLASSES, SeriesStyle};
use super::svg::{Anchor, Svg, fitting, text_width};
use crate::result::{AbResult, Comparison, Decision, Metric, Round};
use crate::stats::few_ratios;
use crate::text::ratio as shown;
use std::collections::BTreeMap;

/// The ratio to `a` of every metric with its confidence interval, on a logarithmic axis: that of
/// `b`, and below it of each further variant.
///
/// A mark has the colour of the variant that is better; it is grey where both are the same within
/// 5 %, and hollow where the rounds are too few to tell. A metric without a ratio has no row.
pub fn forest(result: &AbResult) -> Figure {
    let challengers = challengers(result);
    let rows: Vec<Row<'_>> = result
        .own_metrics()
        .flat_map(|metric| rows(metric, &challengers))
        .collect();
    let layout = Layout::new(challengers.len(), &rows);
    let mut svg = Svg::default();
    layout.head(&mut svg);
    layout.grid(&mut svg);
    let mut labelled = None;
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + layout.row * (index as f64 + 0.5);
        if labelled != Some(row.metric) {
            labelled = Some(row.metric);
            svg.text("", (0.0, y + 3.8), Anchor::Start, row.metric.label());
        }
        row.draw(&mut svg, &layout, y);
    }
    if rows.is_empty() {
        let middle = f64::midpoint(layout.left, PLOT_RIGHT);
        let at = (middle, layout.bottom - 5.0);
        svg.text("label halo", at, Anchor::Middle, "no ratios to show");
    }
    let foot = layout.foot(&mut svg);
    let title = if layout.has_many {
        "Ratio to a with 95 % interval, per metric".to_owned()
    } else {
        "Ratio of b to a with 95 % interval, per metric".to_owned()
    };
    Figure::new(title, layout.bottom + foot, svg)
}

type Comparisons = BTreeMap<Metric, Comparison>;

/// A variant and what it is to `a`, in so many rounds.
struct Versus<'a> {
    style: SeriesStyle,
    name: &'a str,
    comparisons: &'a Comparisons,
    rounds: [&'a [Round]; 2],
}

fn challengers(result: &AbResult) -> Vec<Versus<'_>> {
    let Some((a, all)) = result.challengers() else {
        return Vec::new();
    };
    let styles = (1..CLASSES.len()).map(SeriesStyle::of);
    let all = all.into_iter().zip(styles);
    all.filter_map(|(challenger, style)| {
        Some(Versus {
            style,
            name: &challenger.variant.name,
            comparisons: challenger.comparison?,
            rounds: [&a.rounds, &challenger.variant.rounds],
        })
    })
    .collect()
}

fn rows<'a>(metric: Metric, challengers: &'a [Versus<'a>]) -> impl Iterator<Item = Row<'a>> {
    challengers
        .iter()
        .filter_map(move |versus| Row::new(metric, versus))
}

struct Row<'a> {
    metric: Metric,
    style: SeriesStyle,
    name: &'a str,
    /// The ratio of each pair of rounds, where these are few.
    singles: Vec<f64>,
    decision: Decision,
    ratio: f64,
    low: f64,
    high: f64,
    has_interval: bool,
}

impl<'a> Row<'a> {
    fn new(metric: Metric, versus: &Versus<'a>) -> Option<Self> {
        let comparison = versus.comparisons.get(&metric)?;
        let [a, b] = versus.rounds;
        let ratio = comparison.ratio_b_over_a?.get();
        let interval = comparison.low.zip(comparison.high);
        let (low, high) = interval.map_or((ratio, ratio), |(low, high)| (low.get(), high.get()));
        Some(Self {
            metric,
            style: versus.style,
            name: versus.name,
            singles: few_ratios(metric, a, b),
            decision: comparison.decision,
            ratio,
            low,
            high,
            has_interval: interval.is_some(),
        })
    }

    fn draw(&self, svg: &mut Svg, layout: &Layout, y: f64) {
        let axis = &layout.axis;
        let text = y + 3.8;
        if layout.has_many {
            let at = (layout.left - 5.0, text);
            svg.text("", at, Anchor::End, &fitting(self.name, NAME));
        }
        if self.has_interval {
            let class = format!("interval {}", self.better().unwrap_or("none"));
            svg.line(&class, (axis.at(self.low), y), (axis.at(self.high), y));
            for (end, outward) in [(self.low, -1.0), (self.high, 1.0)] {
                if !axis.contains(end) {
                    let x = axis.at(end);
                    let back = x - 4.0 * outward;
                    svg.path(&class, &[(back, y - 3.0), (x, y), (back, y + 3.0)]);
                }
            }
        }
        let class = match (self.better(), self.decision) {
            (Some(class), _) => format!("{class}-fill"),
            (None, Decision::Same) => SAME.to_owned(),
            (None, _) => UNDECIDED.to_owned(),
        };
        svg.circle(&class, (axis.at(self.ratio), y), RADIUS);
        for single in &self.singles {
            svg.circle("single", (axis.at(*single), y - 6.0), SINGLE);
        }
        svg.text("", (NUMBERS, text), Anchor::End, &shown(self.ratio));
        if self.has_interval {
            let interval = format!("{}–{}", shown(self.low), shown(self.high));
            svg.text("label", (f64::from(WIDTH), text), Anchor::End, &interval);
        }
    }

    fn better(&self) -> Option<&'static str> {
        let challenger_is = match self.decision {
            Decision::TooFewRounds | Decision::Same => return None,
            Decision::BHigher => self.metric.higher_is_better(),
            Decision::BLower => !self.metric.higher_is_better(),
        };
        Some(if challenger_is { self.style.class } else { "a" })
    }
}

struct Layout {
    /// Whether there is more than one challenger, so that each row has a name.
    has_many: bool,
    /// Whether there are so few pairs that each has a dot.
    has_singles: bool,
    axis: Ratios,
    left: f64,
    row: f64,
    bottom: f64,
}

impl Layout {
    fn new(challengers: usize, rows: &[Row<'_>]) -> Self {
        let has_many = challengers > 1;
        let (left, row) = if has_many {
            (106.0, 15.0)
        } else {
            (92.0, 19.0)
        };
        let ends = rows.iter().flat_map(|row| {
            let singles = row.singles.iter().copied();
            singles.chain([row.low, row.ratio, row.high])
        });
        Self {
            has_many,
            has_singles: rows.iter().any(|row| !row.singles.is_empty()),
            axis: Ratios::new(ends, left, PLOT_RIGHT),
            left,
            row,
            bottom: TOP + row * rows.len().max(1) as f64,
        }
    }

    fn head(&self, svg: &mut Svg) {
        let (heading, less, more) = if self.has_many {
            ("Ratio to a", "← less", "more →")
        } else {
            ("Ratio b / a", "← b less", "b more →")
        };
        svg.text("heading", (0.0, 12.0), Anchor::Start, heading);
        let one = self.axis.at(1.0);
        // The words end at the plot's edges, so that they never leave it for a lopsided axis.
        if one - self.left > ARROW_ROOM {
            svg.text("label", (one - 6.0, 12.0), Anchor::End, less);
        }
        if PLOT_RIGHT - one > ARROW_ROOM {
            svg.text("label", (one + 6.0, 12.0), Anchor::Start, more);
        }
    }

    fn grid(&self, svg: &mut Svg) {
        for (ratio, label) in self.axis.ticks() {
            let x = self.axis.at(ratio);
            svg.line("grid", (x, TOP), (x, self.bottom));
            svg.text("label", (x, self.bottom + 14.0), Anchor::Middle, &label);
        }
        svg.line("axis", (self.left, self.bottom), (PLOT_RIGHT, self.bottom));
        let one = self.axis.at(1.0);
        svg.line("reference", (one, TOP), (one, self.bottom));
    }

    /// What the marks mean, in a row or two. Returns the height used.
    fn foot(&self, svg: &mut Svg) -> f64 {
        let (first, second): (&[_], &[_]) = if self.has_many {
            (
                &[
                    ("a-fill", "a better"),
                    ("b-fill", "the other better, in its own colour"),
                ],
                &UNDECIDED_LEGEND,
            )
        } else {
            (
                &[
                    ("a-fill", "a better"),
                    ("b-fill", "b better"),
                    UNDECIDED_LEGEND[0],
                    UNDECIDED_LEGEND[1],
                ],
                &[],
            )
        };
        let mut y = self.bottom + 32.0;
        for entries in [first, second]
            .into_iter()
            .filter(|entries| !entries.is_empty())
        {
            let mut x = RADIUS + 1.0;
            for (class, text) in entries {
                svg.circle(class, (x, y - 3.8), RADIUS);
                svg.text("label", (x + 8.0, y), Anchor::Start, text);
                x += 8.0 + text_width(text) + 10.0;
            }
            y += 15.0;
        }
        if self.has_singles {
            svg.circle("single", (RADIUS + 1.0, y - 3.8), SINGLE);
            let at = (RADIUS + 9.0, y);
            svg.text("label", at, Anchor::Start, "each pair of rounds");
            y += 15.0;
        }
        y - self.bottom - 7.0
    }
}

const SAME: &str = "same-fill hollow";
const UNDECIDED: &str = "none-fill hollow";
const UNDECIDED_LEGEND: [(&str, &str); 2] = [
    (SAME, "same within 5 %"),
    (UNDECIDED, "too few rounds to tell"),
];
const RADIUS: f64 = 3.6;
const SINGLE: f64 = 1.5;
const TOP: f64 = 20.0;
/// Before the widest ratio and its interval.
const PLOT_RIGHT: f64 = 276.0;
/// The right edge of the ratios.
const NUMBERS: f64 = 324.0;
const ARROW_ROOM: f64 = 60.0;
/// Behind the longest label of a metric.
const NAME: f64 = 9.0;
