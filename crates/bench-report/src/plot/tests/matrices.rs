//! What is drawn of a matrix.

use super::heights;
use crate::fixtures::{self, finite};
use crate::plot::*;
use crate::result::{MatrixCompetition, MatrixResult, Metric};

/// Matrices that are awkward to draw, by name.
pub(super) fn awkward() -> Vec<(&'static str, MatrixResult)> {
    let mut long = fixtures::matrix();
    let axis = &mut long.axes[1];
    axis.name = "a name that is longer than anybody would give to an axis".to_owned();
    let renamed = axis.name.clone();
    for value in &mut axis.values {
        value.insert_str(0, "rate 100mbit queue 1bdp aqm fq_codel ");
    }
    for cell in &mut long.cells {
        let delay = cell.at.remove("delay").unwrap();
        let value = format!("rate 100mbit queue 1bdp aqm fq_codel {delay}");
        cell.at.insert(renamed.clone(), value);
        for variant in &mut cell.variants {
            variant.cc = "MWMWMWMWMWMWMWMWMWMW:parameter=1".to_owned();
        }
    }
    let mut competitions = fixtures::matrix();
    compete(&mut competitions);
    let mut no_cells = fixtures::matrix();
    no_cells.cells.clear();
    let mut no_axes = fixtures::matrix();
    no_axes.axes.clear();
    let mut one_axis = fixtures::matrix();
    one_axis.axes.truncate(1);
    let mut wide = fixtures::matrix();
    wide.axes[0].values = (0..40).map(|n| format!("{n}%")).collect();
    let mut alone = fixtures::matrix();
    alone
        .cells
        .iter_mut()
        .for_each(|cell| cell.variants.truncate(1));
    vec![
        ("usual matrix", fixtures::matrix()),
        ("long names of axes", long),
        ("no cells", no_cells),
        ("no axes", no_axes),
        ("one axis", one_axis),
        ("many values", wide),
        ("one variant", alone),
        ("competitions", competitions),
        ("drawn", fixtures::drawn()),
    ]
}

#[test]
fn a_matrix_has_a_sweep_per_value_of_its_other_axis_and_one_map_of_both() {
    let result = fixtures::matrix();
    let titles = |figures: Vec<Figure>| figures.into_iter().map(|f| f.title).collect::<Vec<_>>();
    assert_eq!(
        titles(sweeps(&result, GOODPUT)),
        [
            "Goodput by loss, delay 10ms",
            "Goodput by loss, delay 100ms"
        ]
    );
    assert_eq!(
        titles(heat_maps(&result, Metric::GoodputBitsPerSecond)),
        ["Variant with the better goodput"]
    );
    let map = heat_maps(&result, Metric::GoodputBitsPerSecond)
        .remove(0)
        .inline();
    for text in [">b 20.0×<", ">b 4.00×<", ">a 2.00×<", ">=<", ">?<"] {
        assert!(map.contains(text), "{text} in {map}");
    }
}

#[test]
fn goodput_against_loss_has_the_bound_of_what_arrives() {
    let figures = sweeps(&fixtures::matrix(), GOODPUT);
    assert!(
        figures
            .iter()
            .all(|figure| figure.inline().contains("rate × (1 − loss)"))
    );
    let figures = sweeps(&fixtures::matrix(), Measure::Metric(Metric::RttMsP95));
    assert!(
        figures
            .iter()
            .all(|figure| !figure.inline().contains("rate × (1 − loss)"))
    );
}

#[test]
fn the_bound_falls_with_the_loss() {
    let figure = sweeps(&fixtures::matrix(), GOODPUT).remove(0).inline();
    let heights = heights(&figure, "reference");
    // From zero at the bottom of 190 units and a margin: 99.9 Mbit/s at first, 90 in the end.
    let above = |y: f64| 191.0 - y;
    let fall = above(heights[0]) / above(heights[heights.len() - 1]);
    assert!((fall - 99.9 / 90.0).abs() < 0.002, "{heights:?}");
}

#[test]
fn the_interval_of_a_few_rounds_does_not_press_the_medians_into_a_line() {
    let mut result = fixtures::matrix();
    let summary = &mut result.cells[0].variants[0].summary;
    let goodput = summary.get_mut(&Metric::GoodputBitsPerSecond).unwrap();
    goodput.high = Some(finite(5e9));
    let figure = sweeps(&result, GOODPUT).remove(0).inline();
    assert!(
        figure.contains("Goodput, Mbit/s") && !figure.contains(">200<"),
        "{figure}"
    );
}

#[test]
fn delays_of_many_sizes_have_a_logarithmic_axis_along_a_matrix() {
    let mut result = fixtures::matrix();
    let delays = Measure::Metric(Metric::RttMsP95);
    let ticks = |result: &MatrixResult, tick: &str| {
        let figures = sweeps(result, delays);
        figures[0].inline().contains(tick) && figures[1].inline().contains(tick)
    };
    assert!(ticks(&result, ">0<") && !ticks(&result, ">1000<"));
    for variant in result
        .cells
        .iter_mut()
        .skip(1)
        .step_by(2)
        .flat_map(|c| &mut c.variants)
    {
        let summary = variant.summary.get_mut(&Metric::RttMsP95).unwrap();
        summary.median = finite(summary.median.get() * 100.0);
    }
    assert!(ticks(&result, ">100<") && ticks(&result, ">1000<") && !ticks(&result, ">0<"));
}

#[test]
fn goodputs_of_many_sizes_have_an_axis_in_each_figure_of_a_matrix() {
    let mut result = fixtures::matrix();
    let goodput = Measure::Metric(Metric::GoodputBitsPerSecond);
    let axes = |result: &MatrixResult| {
        let figures = sweeps(result, goodput);
        let ticks = figures.iter().map(|figure| {
            let texts = figure.inline();
            let texts = texts
                .split('>')
                .filter_map(|part| part.split_once("</text"));
            let numbers = texts.filter(|(text, _)| text.parse::<f64>().is_ok());
            numbers.map(|(text, _)| text.to_owned()).collect::<Vec<_>>()
        });
        ticks.collect::<Vec<_>>()
    };
    let same = axes(&result);
    assert_eq!(same[0], same[1]);
    for cell in result.cells.iter_mut().skip(1).step_by(2) {
        cell.link_rate_bits_per_second = cell.link_rate_bits_per_second.map(|rate| rate / 100);
        for variant in &mut cell.variants {
            let summary = variant.summary.get_mut(&Metric::GoodputBitsPerSecond);
            let summary = summary.unwrap();
            for figure in [Some(&mut summary.median), summary.high.as_mut()] {
                let figure = figure.unwrap();
                *figure = finite(figure.get() / 100.0);
            }
        }
    }
    let own = axes(&result);
    assert_ne!(own[0], own[1]);
    assert_eq!(own[0], same[0]);
}

/// Names have no order: a line between them would say that there is something in between.
#[test]
fn values_that_are_names_have_a_row_each_and_no_line() {
    let mut result = fixtures::matrix();
    let names = ["near", "far", "<away>"];
    for (axis, count) in result.axes.iter_mut().zip([3, 2]) {
        let values = axis.values.iter().zip(names.iter().take(count));
        for (value, name) in values.map(|(value, name)| (value.clone(), *name)) {
            for cell in &mut result.cells {
                let at = cell.at.get_mut(&axis.name).unwrap();
                if *at == value {
                    *at = name.to_owned();
                }
            }
        }
        axis.values = names[..count]
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
    }
    let figures = sweeps(&result, GOODPUT);
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Goodput by loss, delay near", "Goodput by loss, delay far"]
    );
    let figure = figures[0].inline();
    for text in [">near<", ">far<", ">&lt;away&gt;<", ">link 100 Mbit/s<"] {
        assert!(figure.contains(text), "{text} in {figure}");
    }
    // Three rows and the key.
    let count = |class: &str| figure.matches(class).count();
    assert_eq!((count("\"a-fill\""), count("\"b-fill\"")), (4, 4));
    assert_eq!(
        (count("whisker a"), count("whisker b"), count("bold")),
        (3, 3, 0)
    );
    // Medians of 91, 41 and 60 on a linear axis.
    let marks = figure.split("\"a-fill\" cx=\"").skip(1);
    let marks: Vec<f64> = marks
        .map(|mark| mark.split('"').next().unwrap().parse().unwrap())
        .collect();
    let share = (marks[2] - marks[1]) / (marks[0] - marks[1]);
    assert!((share - 19.0 / 50.0).abs() < 0.01, "{marks:?}");
}

#[test]
fn controllers_along_an_axis_are_contenders_of_one_condition() {
    let mut result = fixtures::matrix();
    result.axes[1].name = "cc".to_owned();
    result.axes[1].values = ["cubic", "bbr3"].map(str::to_owned).to_vec();
    for (cell, cc) in result
        .cells
        .iter_mut()
        .zip(["cubic", "bbr3"].into_iter().cycle())
    {
        cell.at.remove("delay");
        cell.at.insert("cc".to_owned(), cc.to_owned());
        cell.variants.truncate(1);
        cell.comparison.clear();
    }
    let grid = Grid::of(&result);
    assert_eq!(grid.contenders, ["a cubic", "b bbr3"]);
    assert_eq!((grid.axes.len(), grid.points.len()), (1, 3));
    let medians = |point: &Point<'_>| {
        let median =
            |metrics: &Option<&std::collections::BTreeMap<Metric, crate::result::Summary>>| {
                metrics.unwrap()[&Metric::GoodputBitsPerSecond].median.get() / 1e6
            };
        point.summaries.iter().map(median).collect::<Vec<_>>()
    };
    assert_eq!(medians(&grid.points[0]), [91.0, 81.0]);
}

#[test]
fn shares_and_fairness_are_drawn_of_competitions_alone() {
    let mut result = fixtures::matrix();
    for measure in [Measure::Share, Measure::JainIndex] {
        assert!(sweeps(&result, measure).is_empty());
    }
    compete(&mut result);
    let shares = sweeps(&result, Measure::Share);
    assert_eq!(shares[0].title, "Share of goodput by loss, delay 10ms");
    assert!(shares[0].inline().contains("a cubic"));
    let index = sweeps(&result, Measure::JainIndex).remove(0).inline();
    assert!(
        !index.contains("a cubic") && index.contains("bold e"),
        "{index}"
    );
}

/// As if the variants of each cell had run at once.
fn compete(result: &mut MatrixResult) {
    let competition = fixtures::competition().competition.unwrap();
    for cell in &mut result.cells {
        cell.competition = Some(MatrixCompetition {
            jain_index: competition.jain_index,
            shares: competition.shares.clone(),
            convergence_seconds: competition.convergence_seconds,
            link_utilisation: competition.link_utilisation,
        });
    }
}

const GOODPUT: Measure = Measure::Metric(Metric::GoodputBitsPerSecond);
