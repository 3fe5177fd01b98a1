use super::cells::{CELL, legend, mark, ratio_cell, scale, summary_cell, title};
use crate::result::{AbResult, Challenger, Metric, Variant};

/// Under each metric a row for every side, and beside it what it is against the first.
pub(super) fn sides(
    table: &mut String,
    result: &AbResult,
    a: &Variant,
    challengers: &[Challenger<'_>],
) {
    let head = format!(
        "{:<NAME$} {:<CELL$} {}",
        "", "median 95 % interval", " against a"
    );
    table.push_str(&format!("{}\n", head.trim_end()));
    for metric in result.own_metrics() {
        metric_rows(table, result, metric, a, challengers);
    }
    table.push_str(legend(result, LEGEND));
}

fn metric_rows(
    table: &mut String,
    result: &AbResult,
    metric: Metric,
    a: &Variant,
    challengers: &[Challenger<'_>],
) {
    let variants = || [a].into_iter().chain(challengers.iter().map(|c| c.variant));
    let summaries = || variants().map(|variant| variant.summary.get(&metric));
    if summaries().flatten().next().is_none() {
        return;
    }
    let scale = scale(metric, summaries());
    table.push_str(&format!("{} {}\n", metric.label(), scale.unit));
    let comparisons = challengers
        .iter()
        .map(|challenger| challenger.comparison?.get(&metric));
    let comparisons = [None].into_iter().chain(comparisons);
    for (variant, comparison) in variants().zip(comparisons) {
        let row = format!(
            "  {:<width$} {:<CELL$} {:<CELL$} {}",
            title(variant, &result.variants, NAME - 2),
            summary_cell(variant.summary.get(&metric), scale),
            ratio_cell(comparison),
            comparison.map_or("", |comparison| mark(result, metric, comparison.decision)),
            width = NAME - 2,
        );
        table.push_str(&format!("{}\n", row.trim_end()));
    }
}

/// What two cells and a mark leave of 80 columns.
const NAME: usize = 37;

const LEGEND: &str = "Against a: + better   - worse   ? too few rounds to tell\n\
     = same: the interval is within 1 % of 1, or contains 1 and is within 5 %\n";
