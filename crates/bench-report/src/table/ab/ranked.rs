use super::cells::{scale, title};
use crate::result::{AbResult, Metric, Variant};
use crate::stats::Ranking;
use crate::table::aligned::WIDTH;
use crate::text::{Scale, printable};

/// More than two variants by their goodput, each with what it has more or less than the first: the
/// page's table in so many columns.
pub(super) fn table(table: &mut String, result: &AbResult, ranking: &Ranking<'_>, width: usize) {
    let scales = METRICS.map(|metric| {
        let summaries = result.variants.iter();
        scale(
            metric,
            summaries.map(|variant| variant.summary.get(&metric)),
        )
    });
    let cells = |variant: &Variant| {
        let figures = METRICS.iter().zip(&scales).map(|(metric, scale)| {
            let summary = variant.summary.get(metric);
            summary.map_or_else(String::new, |side| scale.show(side.median.get()))
        });
        figures.collect::<Vec<String>>()
    };
    if width < WIDTH {
        stacked(table, result, ranking, &scales, cells);
        return;
    }
    let [goodput, delay] = scales.map(|scale| scale.unit);
    let delay = format!("p95 RTT {delay}");
    let against = ranking.places.iter().map(|(_, against)| against.as_deref());
    let against = against.map(|against| against.unwrap_or(REFERENCE).chars().count());
    let room = WIDTH.saturating_sub(FIGURES + against.max().unwrap_or(0));
    let names = ranking.places.iter();
    let names: Vec<String> = names
        .map(|(variant, _)| title(variant, &result.variants, room.max(NAME)))
        .collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max(NAME);
    table.push_str(&format!(
        "No. {:<width$} {goodput:>GOODPUT$} {delay:>DELAY$}  Against a\n",
        "By goodput"
    ));
    for (place, ((variant, against), name)) in (1..).zip(ranking.places.iter().zip(&names)) {
        let cells = cells(variant);
        let line = format!(
            "{place:>3} {name:<width$} {:>GOODPUT$} {:>DELAY$}  {}",
            cells[0],
            cells[1],
            against.as_deref().unwrap_or(REFERENCE)
        );
        table.push_str(&format!("{}\n", printable(line.trim_end())));
    }
    table.push('\n');
}

fn stacked(
    table: &mut String,
    result: &AbResult,
    ranking: &Ranking<'_>,
    scales: &[Scale; 2],
    cells: impl Fn(&Variant) -> Vec<String>,
) {
    table.push_str("By median goodput\n");
    for (place, (variant, against)) in (1..).zip(&ranking.places) {
        let name = title(variant, &result.variants, NAME);
        let cells = cells(variant);
        let against = against.as_deref().unwrap_or(REFERENCE);
        table.push_str(&printable(&format!("{place}. {name}")));
        table.push_str(&format!(
            "\n   {} {}, p95 RTT {} {}\n   {}\n",
            cells[0],
            scales[0].unit,
            cells[1],
            scales[1].unit,
            printable(against)
        ));
    }
    table.push('\n');
}

const METRICS: [Metric; 2] = [Metric::GoodputBitsPerSecond, Metric::RttMsP95];
const REFERENCE: &str = "the reference";
/// What the figures and `29.6 times the goodput, 7.0 % more delay` leave of 80 columns.
const NAME: usize = 15;
const GOODPUT: usize = 6;
const DELAY: usize = 10;
/// What else a line has than names and results: place, figures and the space between them.
const FIGURES: usize = 4 + 1 + GOODPUT + 1 + DELAY + 2;
