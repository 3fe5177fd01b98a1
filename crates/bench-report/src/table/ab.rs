mod cells;
mod competition;
mod narrow;
mod points;
mod ranked;
mod several;

use crate::result::{AbResult, Metric, StoppingRule, Summary, Variant};
use crate::stats::{ranking, verdict};
use crate::text::{printable, significant, wrapped};

use cells::{CELL, legend, mark, ratio_cell, scale, summary_cell, title};

/// The result of an A/B test in 80 columns: a row per metric with each side's median and its
/// interval, their ratio, and the verdict below; with more than two sides, a row for each of them
/// under every metric. Ends with a newline.
pub fn ab_table(result: &AbResult) -> String {
    ab_table_within(result, WIDTH)
}

/// The same for a terminal of so many columns: with fewer than 80, a row for each side of any test,
/// which 40 columns hold.
pub fn ab_table_within(result: &AbResult, columns: usize) -> String {
    let width = columns.clamp(NARROWEST, WIDTH);
    let table = within(result, width);
    if width == WIDTH {
        return table;
    }
    let lines = table.lines().map(|line| textwrap::fill(line, width));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

fn within(result: &AbResult, width: usize) -> String {
    let mut table = String::new();
    if let Some((a, challengers)) = result.challengers() {
        match challengers.as_slice() {
            _ if width < WIDTH => {
                narrow::sides(&mut table, result, width);
                table.push_str(legend(result, LEGEND));
            }
            [_] => two_sides(&mut table, result),
            _ => several::sides(&mut table, result, a, &challengers),
        }
        table.push_str(&points::of_few_rounds(result));
        if let Some(source) = result.queue_delay_source() {
            table.push_str(&format!("Queue: {source}\n"));
        }
        table.push_str(&queue_of_all(result));
        if result.compares_servers() {
            table.push_str(SERVERS);
        }
        table.push('\n');
    }
    if let Some(competition) = &result.competition {
        competition::block(&mut table, &result.variants, competition);
        table.push('\n');
    }
    let ranking = ranking(result);
    if let Some(ranking) = &ranking {
        ranked::table(&mut table, result, ranking, width);
    }
    let verdict = ranking.map_or_else(|| verdict(result), |ranking| ranking.summary);
    for line in wrapped(&printable(&verdict), width) {
        table.push_str(&line);
        table.push('\n');
    }
    if let Some(until) = &result.until {
        table.push_str(&until_line(result, until));
    }
    for failure in failures(result) {
        table.push_str(&printable(&failure));
        table.push('\n');
    }
    table
}

/// The line of the queue that all share; empty where each has its own.
fn queue_of_all(result: &AbResult) -> String {
    let Some(quantiles) = result.shared_queue() else {
        return String::new();
    };
    let quantiles = quantiles.iter();
    let quantiles = quantiles.map(|(name, ms)| format!("{name} {} ms", significant(ms.get())));
    let quantiles: Vec<String> = quantiles.collect();
    format!("Queue of all: {}\n", quantiles.join(", "))
}

fn two_sides(table: &mut String, result: &AbResult) {
    let Some((a, b)) = result.pair() else { return };
    head(table, result, [a, b]);
    for metric in result.own_metrics() {
        let sides = [a.summary.get(&metric), b.summary.get(&metric)];
        if sides != [None, None] {
            row(table, result, metric, sides);
        }
    }
    table.push_str(legend(result, LEGEND));
}

fn head(table: &mut String, result: &AbResult, [a, b]: [&Variant; 2]) {
    line(
        table,
        &[
            String::new(),
            title(a, &result.variants, CELL),
            title(b, &result.variants, CELL),
            "b / a".to_owned(),
        ],
        "",
    );
    let cell = "median 95 % interval".to_owned();
    let ratio = " ratio 95 % interval".to_owned();
    line(table, &[String::new(), cell.clone(), cell, ratio], "");
}

fn row(table: &mut String, result: &AbResult, metric: Metric, sides: [Option<&Summary>; 2]) {
    let comparison = result.comparison.get(&metric);
    let scale = scale(metric, sides.into_iter());
    let label = format!("{} {}", metric.label(), scale.unit);
    let [a, b] = sides.map(|side| summary_cell(side, scale));
    line(
        table,
        &[label, a, b, ratio_cell(comparison)],
        comparison.map_or("", |comparison| mark(result, metric, comparison.decision)),
    );
}

fn line(table: &mut String, cells: &[String; 4], mark: &str) {
    let [label, a, b, ratio] = cells;
    let text = format!("{label:<LABEL$}{a:<CELL$} {b:<CELL$} {ratio:<CELL$} {mark}");
    table.push_str(&format!("{}\n", text.trim_end()));
}

fn until_line(result: &AbResult, until: &StoppingRule) -> String {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    let rounds = rounds.max().unwrap_or(0);
    let percent = significant(until.half_width.get() * 100.0);
    if until.reached {
        format!("Goodput's interval is within ±{percent} % after {rounds} rounds.\n")
    } else {
        format!("Goodput's interval is still wider than ±{percent} % after {rounds} rounds.\n")
    }
}

fn failures(result: &AbResult) -> Vec<String> {
    let rounds = result.variants.iter().flat_map(|variant| {
        variant.rounds.iter().filter_map(move |round| {
            let error = round.error.as_ref()?;
            Some(format!(
                "{} ({}), block {}: failed, not counted: {error}",
                variant.name,
                variant.label(),
                round.block
            ))
        })
    });
    let whole = result
        .error
        .iter()
        .map(|error| format!("The test is incomplete: {error}"));
    rounds.chain(whole).collect()
}

const WIDTH: usize = 80;
/// A figure with its interval and a mark behind a name of two letters.
const NARROWEST: usize = 32;
/// The longest label with its unit is `CPU receiver s/GB`.
const LABEL: usize = 18;
const SERVERS: &str = "The servers send; their losses, RTTs and CPU times are unknown.\n";
const LEGEND: &str = concat!(
    "+ b better   - b worse   ? too few rounds to tell\n",
    "= same: the interval is within 1 % of 1, or contains 1 and is within 5 %\n"
);
