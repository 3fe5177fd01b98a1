use super::axis::Ratios;
use super::svg::{Anchor, Svg, text_width};
use super::{Figure, WIDTH};
use crate::result::{AbResult, Comparison, Decision, Metric};
use crate::table::significant;

/// The ratio b/a of every metric with its confidence interval, on a logarithmic axis.
///
/// A mark has the colour of the variant that is better; it is grey where both are the same within
/// 5 %, and hollow where the rounds are too few to tell. A metric without a ratio has no row.
pub fn forest(result: &AbResult) -> Figure {
    let rows: Vec<Row> = result
        .comparison
        .iter()
        .filter_map(|(&metric, comparison)| Row::new(metric, comparison))
        .collect();
    let ends = rows.iter().flat_map(|row| [row.low, row.ratio, row.high]);
    let axis = Ratios::new(ends, PLOT_LEFT, PLOT_RIGHT);
    let bottom = TOP + ROW * rows.len().max(1) as f64;
    let mut svg = Svg::default();
    head(&mut svg, &axis);
    grid(&mut svg, &axis, bottom);
    for (index, row) in rows.iter().enumerate() {
        row.draw(&mut svg, &axis, TOP + ROW * (index as f64 + 0.5));
    }
    if rows.is_empty() {
        let middle = f64::midpoint(PLOT_LEFT, PLOT_RIGHT);
        svg.text(
            "label halo",
            (middle, bottom - 5.0),
            Anchor::Middle,
            "no pair has a ratio",
        );
    }
    foot(&mut svg, bottom);
    let title = "Ratio of b to a with its 95 % interval, for each metric".to_owned();
    Figure::new(title, bottom + FOOT, svg)
}

struct Row {
    metric: Metric,
    decision: Decision,
    ratio: f64,
    low: f64,
    high: f64,
    has_interval: bool,
}

impl Row {
    fn new(metric: Metric, comparison: &Comparison) -> Option<Self> {
        let ratio = comparison.ratio_b_over_a?.get();
        let interval = comparison.low.zip(comparison.high);
        let (low, high) = interval.map_or((ratio, ratio), |(low, high)| (low.get(), high.get()));
        Some(Self {
            metric,
            decision: comparison.decision,
            ratio,
            low,
            high,
            has_interval: interval.is_some(),
        })
    }

    fn draw(&self, svg: &mut Svg, axis: &Ratios, y: f64) {
        let text = y + 3.8;
        svg.text("", (0.0, text), Anchor::Start, self.metric.label());
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
            (Some("a"), _) => A_BETTER,
            (Some(_), _) => B_BETTER,
            (None, Decision::Same) => SAME,
            (None, _) => UNDECIDED,
        };
        svg.circle(class, (axis.at(self.ratio), y), RADIUS);
        svg.text("", (NUMBERS, text), Anchor::End, &significant(self.ratio));
        if self.has_interval {
            let interval = format!("{}–{}", significant(self.low), significant(self.high));
            svg.text("label", (f64::from(WIDTH), text), Anchor::End, &interval);
        }
    }

    /// The class of the variant that is better.
    fn better(&self) -> Option<&'static str> {
        let b_is_better = match self.decision {
            Decision::TooFewRounds | Decision::Same => return None,
            Decision::BHigher => self.metric.higher_is_better(),
            Decision::BLower => !self.metric.higher_is_better(),
        };
        Some(if b_is_better { "b" } else { "a" })
    }
}

fn head(svg: &mut Svg, axis: &Ratios) {
    svg.text("heading", (0.0, 12.0), Anchor::Start, "Ratio b / a");
    let one = axis.at(1.0);
    // The words end at the plot's edges, so that they never leave it for a lopsided axis.
    if one - PLOT_LEFT > ARROW_ROOM {
        svg.text("label", (one - 6.0, 12.0), Anchor::End, "← b less");
    }
    if PLOT_RIGHT - one > ARROW_ROOM {
        svg.text("label", (one + 6.0, 12.0), Anchor::Start, "b more →");
    }
}

fn grid(svg: &mut Svg, axis: &Ratios, bottom: f64) {
    for (ratio, label) in axis.ticks() {
        let x = axis.at(ratio);
        svg.line("grid", (x, TOP), (x, bottom));
        svg.text("label", (x, bottom + 14.0), Anchor::Middle, &label);
    }
    svg.line("axis", (PLOT_LEFT, bottom), (PLOT_RIGHT, bottom));
    svg.line("reference", (axis.at(1.0), TOP), (axis.at(1.0), bottom));
}

fn foot(svg: &mut Svg, bottom: f64) {
    let y = bottom + 32.0;
    let mut x = RADIUS + 1.0;
    for (class, text) in [
        (A_BETTER, "a better"),
        (B_BETTER, "b better"),
        (SAME, "same within 5 %"),
        (UNDECIDED, "too few rounds to tell"),
    ] {
        svg.circle(class, (x, y - 3.8), RADIUS);
        svg.text("label", (x + 8.0, y), Anchor::Start, text);
        x += 8.0 + text_width(text) + 10.0;
    }
}

const A_BETTER: &str = "a-fill";
const B_BETTER: &str = "b-fill";
const SAME: &str = "same-fill hollow";
const UNDECIDED: &str = "none-fill hollow";
const RADIUS: f64 = 3.6;
const TOP: f64 = 20.0;
const ROW: f64 = 19.0;
const FOOT: f64 = 40.0;
/// Behind the longest label of a metric.
const PLOT_LEFT: f64 = 92.0;
/// Before the widest ratio and its interval.
const PLOT_RIGHT: f64 = 276.0;
/// The right edge of the ratios.
const NUMBERS: f64 = 324.0;
const ARROW_ROOM: f64 = 60.0;
