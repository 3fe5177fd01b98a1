use super::aligned::{Table, WIDTH, wrap};
use super::drawn;
use crate::result::{
    Comparison, Decision, MatrixAxis, MatrixCell, MatrixCompetition, MatrixResult, Metric, Summary,
    common_senders,
};
use crate::text::{Scale, printable, significant};
use std::collections::BTreeMap;

/// The result of a matrix in 80 columns: for each combination of the axes but the first, a table
/// with a row for each value of the first and a column for each variant. Ends with a newline.
///
/// Where the variants ran at once the figures are their shares of the goodput, with Jain's index,
/// the time to convergence and the use of the link beside them; elsewhere goodput, the time that
/// a transfer of a set size took, and the 95th percentile of the round-trip time below.
pub fn matrix_table(result: &MatrixResult) -> String {
    within(result, WIDTH)
}

/// The same for a terminal of so many columns: where columns of figures do not fit, figures stand
/// below one another.
pub fn matrix_table_within(result: &MatrixResult, columns: usize) -> String {
    let width = columns.clamp(NARROWEST, WIDTH);
    let text = within(result, width);
    if width == WIDTH {
        return text;
    }
    let lines = text.lines().map(|line| textwrap::fill(line, width));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

fn within(result: &MatrixResult, width: usize) -> String {
    let mut text = String::new();
    if let Some(drawn) = &result.drawn {
        drawn::show(drawn, &mut text, width);
    } else {
        for block in blocks(result) {
            block.show(&mut text, width);
        }
    }
    let is_compared = result.drawn.is_none();
    let is_compared = is_compared && result.cells.iter().any(|cell| !cell.comparison.is_empty());
    let competes = result.cells.iter().any(|cell| cell.competition.is_some());
    if is_compared && !competes {
        text.push_str(LEGEND);
    }
    let failures = result.cells.iter().filter_map(|cell| {
        let place = cell.place(&result.axes);
        Some(format!("{place}: {}", cell.error.as_ref()?))
    });
    let whole = result.error.iter();
    let whole = whole.map(|error| format!("The matrix is incomplete: {error}"));
    for line in failures.chain(whole) {
        text.push_str(&wrap(&printable(&line)));
    }
    text
}

/// Cells that differ in the first axis alone.
struct Block<'a> {
    axis: String,
    /// What they have in common, `delay=40ms, flows=2`; may be empty.
    place: String,
    rows: Vec<(String, &'a MatrixCell)>,
}

fn blocks(result: &MatrixResult) -> Vec<Block<'_>> {
    let (first, others) = match result.axes.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, &[] as &[MatrixAxis]),
    };
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for cell in &result.cells {
        let place = cell.place(others);
        let value = first.and_then(|axis| cell.at.get(&axis.name)).cloned();
        let row = (value.unwrap_or_default(), cell);
        match blocks.iter_mut().find(|block| block.place == place) {
            Some(block) => block.rows.push(row),
            None => blocks.push(Block {
                axis: first.map_or_else(String::new, |axis| axis.name.clone()),
                place,
                rows: vec![row],
            }),
        }
    }
    blocks
}

impl Block<'_> {
    fn show(&self, text: &mut String, width: usize) {
        if !self.place.is_empty() {
            text.push_str(&wrap(&printable(&self.place)));
        }
        text.push_str(&self.legend());
        if self.competes() {
            self.show_shares(text, width);
        } else {
            for metric in METRICS {
                self.show_metric(text, metric, width);
            }
        }
    }

    fn competes(&self) -> bool {
        self.rows.iter().any(|(_, cell)| cell.competition.is_some())
    }

    fn show_metric(&self, text: &mut String, metric: Metric, width: usize) {
        let variants = self.rows.iter().flat_map(|(_, cell)| &cell.variants);
        let medians = variants.filter_map(|variant| variant.summary.get(&metric));
        let Some(largest) = medians.map(|summary| summary.median.get()).reduce(f64::max) else {
            return;
        };
        let scale = Scale::of(metric, largest);
        let mut table = Table::new(format!("{}, {}", metric.label(), scale.unit));
        let columns = self.columns().into_iter();
        table.head(
            &self.axis,
            columns.map(|column| format!("{column}  ")).collect(),
        );
        for (value, cell) in &self.rows {
            let figures = cell.variants.iter().enumerate().map(|(index, variant)| {
                let figure = match variant.summary.get(&metric) {
                    Some(summary) => scale.show(summary.median.get()),
                    None => MISSING.to_owned(),
                };
                let comparison = comparison(cell, index, metric);
                let mark = comparison.map_or(' ', |all| mark(metric, all.decision));
                format!("{figure} {mark}")
            });
            table.row(value, figures.collect());
        }
        table.show(text, width);
    }

    fn show_shares(&self, text: &mut String, width: usize) {
        let mut table = Table::new("Share of goodput, %".to_owned());
        let mut columns = self.columns();
        columns.extend(WHOLE.map(str::to_owned));
        table.head(&self.axis, columns);
        for (value, cell) in &self.rows {
            let all = cell.competition.as_ref();
            let shares = all.map_or(&NO_SHARES, |all| &all.shares);
            let shares = cell
                .variants
                .iter()
                .map(|variant| shown(shares.get(&variant.name), 100.0));
            let of = |part: fn(&MatrixCompetition) -> Option<&Summary>, factor| {
                shown(all.and_then(part), factor)
            };
            let whole = [
                of(|all| Some(&all.jain_index), 1.0),
                of(|all| all.convergence_seconds.as_ref(), 1.0),
                of(|all| all.link_utilisation.as_ref(), 100.0),
            ];
            table.row(value, shares.chain(whole).collect());
        }
        table.show(text, width);
    }

    /// The variants by their controllers where these fit and are the same in all rows, by letters
    /// elsewhere.
    fn columns(&self) -> Vec<String> {
        let names = self.names();
        let widths = names.iter().map(|name| name.chars().count() + GAP);
        let others = if self.competes() { WHOLE_WIDTH } else { 0 };
        if widths.sum::<usize>() + others + LABEL <= WIDTH {
            return names;
        }
        ('a'..)
            .zip(names)
            .map(|(letter, _)| letter.to_string())
            .collect()
    }

    /// What the letters mean, where there are any: in a line or two, or nothing.
    fn legend(&self) -> String {
        let (names, columns) = (self.names(), self.columns());
        if names == columns {
            return String::new();
        }
        let entries = columns.iter().zip(&names).map(|(letter, name)| {
            let name = name.strip_prefix(&format!("{letter}: ")).unwrap_or(name);
            format!("{letter}: {name}")
        });
        let entries: Vec<String> = entries.collect();
        wrap(&printable(&entries.join("   ")))
    }

    /// The variants by their controllers where these are the same in all rows, or by the axis
    /// that says them; by letters elsewhere.
    fn names(&self) -> Vec<String> {
        let longest = self.rows.iter().max_by_key(|(_, cell)| cell.variants.len());
        let Some((_, first)) = longest else {
            return Vec::new();
        };
        let cells = self.rows.iter().map(|(_, cell)| *cell);
        let senders = common_senders(cells, first.variants.len());
        let columns = first
            .variants
            .iter()
            .zip(&senders)
            .map(|(variant, sender)| {
                let is_single = senders.iter().filter(|other| *other == sender).count() == 1;
                match sender {
                    Some(sender) if is_single => sender.clone(),
                    Some(sender) => format!("{}: {sender}", variant.name),
                    None => variant.name.clone(),
                }
            });
        columns.collect()
    }
}

fn comparison(cell: &MatrixCell, variant: usize, metric: Metric) -> Option<&Comparison> {
    let all = match variant {
        0 => None,
        1 => Some(&cell.comparison),
        _ => cell
            .further_comparisons
            .get(&cell.variants.get(variant)?.name),
    };
    all?.get(&metric)
}

fn shown(summary: Option<&Summary>, factor: f64) -> String {
    match summary {
        Some(summary) => significant(summary.median.get() * factor),
        None => MISSING.to_owned(),
    }
}

/// Against `a`, as in the table of `ab`.
fn mark(metric: Metric, decision: Decision) -> char {
    match decision {
        Decision::TooFewRounds => '?',
        Decision::Same => '=',
        Decision::BHigher if metric.higher_is_better() => '+',
        Decision::BLower if !metric.higher_is_better() => '+',
        Decision::BHigher | Decision::BLower => '-',
    }
}

/// A name, a figure and a mark.
const NARROWEST: usize = 32;

/// Around the name of a controller: a mark and blanks.
const GAP: usize = 4;

/// Room for most values where columns have the names of their controllers.
const LABEL: usize = 14;

/// What is said of all variants of a competition together.
const WHOLE: [&str; 3] = ["Jain", "converged, s", "link used, %"];

/// Of these columns.
const WHOLE_WIDTH: usize = 34;

/// No round succeeded, or shares never became fair.
const MISSING: &str = "–";

const METRICS: [Metric; 3] = [
    Metric::GoodputBitsPerSecond,
    Metric::Seconds,
    Metric::RttMsP95,
];

static NO_SHARES: BTreeMap<String, Summary> = BTreeMap::new();

const LEGEND: &str = "Against the first controller: + better   - worse   ? too few rounds to \
                      tell\n= same: the interval is within 1 % of 1, or contains 1 and is within 5 \
                      %\n";
