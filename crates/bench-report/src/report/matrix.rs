use super::page::{self, Shell, figure, letter, reason};
use crate::plot::{self, Best, Figure, Grid, MAX_FIGURES, Point, escape};
use crate::result::{Finite, MatrixResult, Metric};
use crate::text::Scale;

pub(super) fn html(result: &MatrixResult) -> String {
    let grid = Grid::of(result);
    let mut main = String::new();
    page::parameters(&mut main, entries(result, &grid));
    let maps = plot::MAPS.map(|(_, metric)| plot::heat_maps(result, metric));
    section(&mut main, "Best controller by condition", MAPS, &maps);
    let sweeps = plot::SWEEPS.map(|(_, measure)| plot::sweeps(result, measure));
    section(&mut main, "One axis at a time", SWEEP, &sweeps);
    cells(&mut main, result, &grid);
    let title = result.title.as_deref().unwrap_or(&result.name);
    Shell {
        brand: "Matrix of A/B tests of congestion controllers",
        heading: title,
        note: None,
        headline: None,
        verdict: &verdict(&grid),
        alert: alert(result),
        command: None,
        data: String::new(),
        method: METHOD,
        version: &result.version,
    }
    .page(&main)
}

fn entries(result: &MatrixResult, grid: &Grid<'_>) -> Vec<(&'static str, String)> {
    let axes = grid
        .axes
        .iter()
        .map(|axis| format!("{} {}", axis.values.len(), axis.name));
    let axes: Vec<String> = axes.collect();
    let mut entries = vec![
        ("Matrix", result.name.clone()),
        ("Conditions", axes.join(" × ")),
        ("Compared", grid.contenders.join(", ")),
        (
            "Rounds",
            format!(
                "{} × {}{} s each",
                result.rounds,
                if result.is_by_bytes() { "at most " } else { "" },
                result.round_seconds
            ),
        ),
        ("Warm-up", format!("{} s, not counted", result.omit_seconds)),
        ("Seed", result.seed.to_string()),
        (
            "Time",
            if result.is_virtual { "virtual" } else { "real" }.to_owned(),
        ),
    ];
    if result.network {
        entries.push(("Links", "a network, shaped by --shape's program".to_owned()));
    }
    if let Some(source) = &result.source {
        entries.push(("Conditions from", source.clone()));
    }
    entries
}

fn alert(result: &MatrixResult) -> Option<String> {
    let failed = result
        .cells
        .iter()
        .filter(|cell| cell.error.is_some())
        .count();
    if result.complete && failed == 0 {
        return None;
    }
    let error = reason(result.error.as_deref(), "Some rounds failed");
    Some(format!("{error}. Failed cells: {failed}."))
}

/// How often which contender has more goodput, and where the lead is largest, in a sentence or
/// two for people.
fn verdict(grid: &Grid<'_>) -> String {
    let metric = Metric::GoodputBitsPerSecond;
    let outcomes = grid
        .points
        .iter()
        .filter_map(|point| Some((point, point.best(metric)?)));
    let outcomes: Vec<(&Point<'_>, Best)> = outcomes.collect();
    if outcomes.is_empty() {
        return "Nothing to compare.".to_owned();
    }
    let mut wins: Vec<(usize, String)> = grid
        .contenders
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let is_best = |best: &Best| matches!(best, Best::One(winner, _) if *winner == place);
            let won = outcomes.iter().filter(|(_, best)| is_best(best)).count();
            (won, format!("{name} {won}"))
        })
        .filter(|(won, _)| *won > 0)
        .collect();
    wins.sort_by_key(|(won, _)| std::cmp::Reverse(*won));
    let mut parts: Vec<String> = wins.into_iter().map(|(_, part)| part).collect();
    let mut others = |is: fn(&Best) -> bool, words: &str| {
        let count = outcomes.iter().filter(|(_, best)| is(best)).count();
        if count > 0 {
            parts.push(format!("{words} {count}"));
        }
    };
    others(|best| *best == Best::Same, "same within 5 %");
    others(|best| *best == Best::Unknown, "too few rounds to tell");
    format!(
        "Most goodput, by number of conditions ({} in all): {}.{}",
        outcomes.len(),
        parts.join(", "),
        largest(grid, &outcomes)
    )
}

/// Where the lead is largest, if it is one worth a word.
fn largest(grid: &Grid<'_>, outcomes: &[(&Point<'_>, Best)]) -> String {
    let leads = outcomes.iter().filter_map(|(point, best)| match best {
        Best::One(place, margin) if margin.is_finite() => Some((*margin, *place, *point)),
        _ => None,
    });
    let Some((margin, place, point)) = leads.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return String::new();
    };
    format!(
        " Largest lead: {} with {} times the goodput of the next, at {}.",
        grid.contenders[place],
        crate::text::significant(margin),
        grid.place(point)
    )
}

/// The figures of each metric in turn, and a sentence where there may be more conditions.
fn section(page: &mut String, heading: &str, caption: &str, metrics: &[Vec<Figure>]) {
    if metrics.iter().all(Vec::is_empty) {
        return;
    }
    let is_full = metrics.iter().any(|figures| figures.len() == MAX_FIGURES);
    let bound = if is_full { BOUND } else { "" };
    page.push_str(&format!(
        "<section>\n<h2>{heading}</h2>\n<p class=\"lead\">{caption}{bound}</p>\n\
         <div class=\"columns\">\n"
    ));
    for drawn in metrics.iter().flatten() {
        figure(page, drawn, "");
    }
    page.push_str("</div>\n</section>\n");
}

/// Every condition with the medians of every contender.
fn cells(page: &mut String, result: &MatrixResult, grid: &Grid<'_>) {
    let has_faults = result.cells.iter().any(|cell| cell.error.is_some());
    let scales = COLUMNS.map(|metric| (metric, scale(grid, metric)));
    page.push_str(
        "<section>\n<h2>All conditions</h2>\n<div class=\"scroll\">\n<table \
         class=\"cells\">\n<caption>Medians of the rounds</caption>\n<thead>\n",
    );
    head(page, grid, &scales, has_faults);
    page.push_str("</thead>\n<tbody>\n");
    for point in &grid.points {
        row(page, grid, point, &scales, has_faults);
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
    if result.cells.is_empty() {
        page.push_str("<p>No cells done yet.</p>\n");
    }
    page.push_str("</section>\n");
}

/// The metrics, and below each of them the letters of the contenders.
fn head(page: &mut String, grid: &Grid<'_>, scales: &[(Metric, Scale)], has_faults: bool) {
    page.push_str("<tr>");
    for axis in &grid.axes {
        let name = escape(&axis.name);
        page.push_str(&format!("<th scope=\"col\" rowspan=\"2\">{name}</th>"));
    }
    for (metric, scale) in scales {
        page.push_str(&format!(
            "<th scope=\"colgroup\" class=\"group\" colspan=\"{}\">{} \
             <span class=\"unit\">{}</span></th>",
            grid.contenders.len().max(1),
            metric.label(),
            scale.unit
        ));
    }
    if has_faults {
        page.push_str("<th scope=\"col\" rowspan=\"2\" class=\"text\">Error</th>");
    }
    page.push_str("</tr>\n<tr>");
    for _ in scales {
        for place in 0..grid.contenders.len() {
            let letter = letter(grid.letter(place));
            page.push_str(&format!("<th scope=\"col\"{}>{letter}</th>", first(place)));
        }
    }
    page.push_str("</tr>\n");
}

/// The class of the first column of each metric.
fn first(place: usize) -> &'static str {
    if place == 0 { " class=\"first\"" } else { "" }
}

fn scale(grid: &Grid<'_>, metric: Metric) -> Scale {
    let summaries = grid.points.iter().flat_map(|point| &point.summaries);
    let medians = summaries
        .flatten()
        .filter_map(|summary| Some(summary.get(&metric)?.median));
    Scale::of(metric, medians.map(Finite::get).fold(0.0, f64::max))
}

fn row(
    page: &mut String,
    grid: &Grid<'_>,
    point: &Point<'_>,
    scales: &[(Metric, Scale)],
    has_faults: bool,
) {
    page.push_str("<tr>");
    for axis in 0..grid.axes.len() {
        let value = escape(grid.value(axis, point));
        page.push_str(&format!("<th scope=\"row\">{value}</th>"));
    }
    for (metric, scale) in scales {
        for (place, summary) in point.summaries.iter().enumerate() {
            let median = summary.and_then(|summary| Some(summary.get(metric)?.median));
            let text = median.map_or_else(|| "–".to_owned(), |median| scale.show(median.get()));
            page.push_str(&format!("<td{}>{text}</td>", first(place)));
        }
    }
    if has_faults {
        let fault = point.cell.error.as_deref().unwrap_or_default();
        page.push_str(&format!("<td class=\"text\">{}</td>", escape(fault)));
    }
    page.push_str("</tr>\n");
}

const COLUMNS: [Metric; 3] = [
    Metric::GoodputBitsPerSecond,
    Metric::RttMsP95,
    Metric::LossRate,
];
const MAPS: &str = "One field per condition: the letter of the best variant, and the factor by \
                    which it leads the next.";
const SWEEP: &str = "Medians of the rounds with 95 % intervals; with few rounds, intervals may \
                     exceed the plot. All plots of a metric have the same axes, unless their \
                     figures are more than five times apart.";
/// [`MAX_FIGURES`] in words.
const BOUND: &str = " At most 12 plots of a metric are drawn; the table has all conditions.";
const METHOD: &str = "Each condition is an A/B test of its own, whose rounds run interleaved, in \
                      blocks of mirrored order. Cells that differ only in their controllers see \
                      the same random losses. Two variants of one test are ranked by their paired \
                      comparison, others by whether the 95 % intervals of their medians overlap. \
                      On average, one interval in twenty misses the true value.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_verdict_counts_and_names_the_largest_lead() {
        let result = fixtures::matrix();
        assert_eq!(
            verdict(&Grid::of(&result)),
            "Most goodput, by number of conditions (6 in all): b bbr3 3, a cubic 1, same within \
             5 % 1, too few rounds to tell 1. Largest lead: b bbr3 with 20.0 times the goodput of \
             the next, at loss 10%, delay 100ms."
        );
    }

    #[test]
    fn a_page_says_that_further_plots_are_left_out() {
        let with_delays = |delays: usize| {
            let mut result = fixtures::matrix();
            let few = std::mem::take(&mut result.cells);
            result.axes[1].values = (1..=delays).map(|delay| format!("{delay}ms")).collect();
            for delay in &result.axes[1].values {
                result
                    .cells
                    .extend(few.iter().step_by(2).cloned().map(|mut cell| {
                        cell.at.insert("delay".to_owned(), delay.clone());
                        cell
                    }));
            }
            html(&result)
        };
        assert_eq!(MAX_FIGURES, 12);
        assert!(!with_delays(11).contains(BOUND));
        let page = with_delays(13);
        assert!(page.contains(BOUND) && !page.contains("Goodput, Mbit/s, delay 13ms"));
    }

    #[test]
    fn a_matrix_without_cells_still_has_a_report() {
        let mut result = fixtures::matrix();
        result.cells.clear();
        assert!(html(&result).contains("No cells done yet."));
        result.axes.clear();
        html(&result);
    }
}
