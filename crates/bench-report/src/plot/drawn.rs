use super::axis::{Axis, Linear, Marked};
use super::bounds::MAX_POINTS;
use super::figure::Figure;
use super::legend::{self, LegendSymbol};
use super::panel::{Inside, Panel, XLABELS};
use super::series::Series;
use super::series_style::{CLASSES, SeriesStyle};
use super::svg::Svg;
use crate::result::{Drawn, DrawnMetric};

/// The distribution of a metric over drawn cells: the share of the cells in which a controller has
/// at most this figure, a line for each controller. `None` where no cell has the metric.
pub fn drawn(drawn: &Drawn, metric: DrawnMetric) -> Option<Figure> {
    let controllers = drawn.summaries.iter().zip(drawn.short_names());
    let controllers = controllers.take(CLASSES.len()).enumerate();
    let curves = controllers.map(|(place, (summary, name))| {
        let own = drawn.measures.iter().filter(|one| one.cc == summary.cc);
        let figures = own.filter_map(|one| metric.of(one)).collect();
        Curve {
            points: steps(figures, view(metric).scale),
            style: SeriesStyle::of(place),
            name,
        }
    });
    let curves = curves.filter(|curve| !curve.points.is_empty());
    let curves: Vec<Curve> = curves.collect();
    if curves.is_empty() {
        return None;
    }
    let View {
        title,
        quantity,
        axis,
        x,
        ..
    } = view(metric);
    let heading = format!("CDF of {quantity}, % of cells");
    let shares = Linear::exact(0.0, 100.0, 5);
    let panel = Panel::new(heading, 0.0, HEIGHT, x, shares);
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside: &Inside<'_>| {
        for Curve { points, style, .. } in &curves {
            let line = Series(vec![points.clone()]).thinned(MAX_POINTS);
            inside.line(svg, &format!("bold {}", style.class), &line);
        }
    });
    panel.x_labels(&mut svg, axis);
    let height = panel.bottom() + XLABELS;
    let entries = curves.into_iter();
    let entries = entries.map(|curve| (LegendSymbol::line(curve.style), curve.name));
    let legend = legend::rows(&mut svg, height, &entries.collect::<Vec<_>>());
    Some(Figure::new(title.to_owned(), height + legend, svg))
}

/// One controller.
struct Curve {
    points: Vec<(f64, f64)>,
    style: SeriesStyle,
    name: String,
}

/// How a metric is drawn.
struct View {
    title: &'static str,
    quantity: &'static str,
    axis: &'static str,
    x: Axis,
    /// What a figure is multiplied with.
    scale: f64,
}

fn view(metric: DrawnMetric) -> View {
    match metric {
        DrawnMetric::Regret => View {
            title: "CDF of the regret over all cells",
            quantity: "the regret",
            axis: "Goodput missing to the best of the cell, %",
            x: Linear::exact(0.0, 100.0, 5).into(),
            scale: 100.0,
        },
        DrawnMetric::QueueDelayP95OverBaseRtt => View {
            title: "CDF of the p95 queueing delay over all cells",
            quantity: "the p95 queueing delay",
            axis: "p95 of the queueing delay, in base RTTs",
            x: Marked::log(0.01, 1_000.0).into(),
            scale: 1.0,
        },
        DrawnMetric::JainIndex => View {
            title: "CDF of Jain's index among flows of a kind",
            quantity: "Jain's index",
            axis: "Jain's index",
            x: Linear::exact(0.0, 1.0, 5).into(),
            scale: 1.0,
        },
        DrawnMetric::NeighbourOverBesideCubic => View {
            title: "CDF of what is left to a CUBIC flow",
            quantity: "what is left to a CUBIC flow",
            axis: "CUBIC's goodput, as a multiple of that beside CUBIC",
            x: Marked::log(0.01, 10.0).into(),
            scale: 1.0,
        },
    }
}

/// A step at each figure, from no cell to all of them.
fn steps(mut figures: Vec<f64>, scale: f64) -> Vec<(f64, f64)> {
    figures.sort_unstable_by(f64::total_cmp);
    let all = figures.len() as f64;
    let steps = figures.iter().zip(0_u32..).flat_map(|(figure, below)| {
        let at = figure * scale;
        [below, below + 1].map(|cells| (at, f64::from(cells) / all * 100.0))
    });
    steps.collect()
}

const HEIGHT: f64 = 190.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_curve_has_a_step_at_each_figure() {
        let expected = [(10.0, 0.0), (10.0, 50.0), (30.0, 50.0), (30.0, 100.0)];
        assert_eq!(steps(vec![0.3, 0.1], 100.0), expected);
    }

    #[test]
    fn a_metric_that_no_cell_has_is_no_figure() {
        let result = fixtures::drawn().drawn.unwrap();
        let has = |metric| drawn(&result, metric).is_some();
        assert!(has(DrawnMetric::Regret) && has(DrawnMetric::NeighbourOverBesideCubic));
        assert!(!has(DrawnMetric::JainIndex));
    }
}
