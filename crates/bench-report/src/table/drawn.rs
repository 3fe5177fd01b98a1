use super::aligned::{Table, wrap};
use crate::result::{Drawn, DrawnDistribution, DrawnMetric, DrawnShare};
use crate::text::{drawn_bound, drawn_figure, printable};

/// For each metric a table with a row for each controller, then the numbers of the worst cells, and
/// how one of them is run again.
pub(super) fn show(drawn: &Drawn, text: &mut String, width: usize) {
    for metric in DrawnMetric::ALL {
        show_metric(drawn, metric, text, width);
    }
    show_letters(drawn, text);
    for metric in DrawnMetric::ALL {
        show_conditions(drawn, metric, text, width);
    }
    for metric in DrawnMetric::ALL {
        show_worst(drawn, metric, text);
    }
    if let Some(command) = &drawn.command {
        text.push_str("One of these cells again, with N as its number:\n");
        text.push_str(&printable(&format!("{command} --only cell=N")));
        text.push('\n');
    }
}

fn show_metric(drawn: &Drawn, metric: DrawnMetric, text: &mut String, width: usize) {
    let rows = with(drawn, metric);
    let Some((_, first)) = rows.first() else {
        return;
    };
    let cells = rows.iter().map(|(_, all)| all.cells).max().unwrap_or(0);
    let title = format!(
        "{}: share of {cells} cells within a bound, %",
        metric.label()
    );
    let mut table = Table::new(title);
    let bounds = first.within.iter();
    let bounds = bounds.map(|share| drawn_bound(metric, share.bound.get()));
    let columns = bounds.chain(["median".to_owned(), "worst".to_owned()]);
    table.head("", columns.collect());
    for (name, all) in rows {
        let shares = all.within.iter().map(shown);
        let figures = [all.median, all.worst].map(|value| drawn_figure(metric, value.get()));
        table.row(&name, shares.chain(figures).collect());
    }
    table.show(text, width);
}

/// Which controller each letter over the columns of the next tables stands for.
fn show_letters(drawn: &Drawn, text: &mut String) {
    if drawn.conditions.is_empty() {
        return;
    }
    let names = letters().zip(drawn.short_names());
    let names: Vec<String> = names
        .map(|(letter, name)| format!("{letter}: {name}"))
        .collect();
    text.push_str(&wrap(&printable(&names.join("   "))));
}

/// A row for each condition, a column for each controller by its letter.
fn show_conditions(drawn: &Drawn, metric: DrawnMetric, text: &mut String, width: usize) {
    let conditions = drawn.conditions.iter().filter(|one| one.metric == metric);
    let mut conditions = conditions.peekable();
    if conditions.peek().is_none() {
        return;
    }
    let [_, bound] = metric.bounds();
    let mut table = Table::new(format!(
        "{} {}: share of cells, %",
        metric.label(),
        drawn_bound(metric, bound)
    ));
    let columns = letters().take(drawn.summaries.len());
    table.head(
        "",
        ["cells".to_owned()].into_iter().chain(columns).collect(),
    );
    for condition in conditions {
        let shares = condition.within.iter();
        let shares = shares.map(|share| format!("{:.0}", share.get() * 100.0));
        let cells = [condition.cells.to_string()];
        let label = format!("{}={}", condition.variable, condition.value);
        table.row(&label, cells.into_iter().chain(shares).collect());
    }
    table.show(text, width);
}

fn letters() -> impl Iterator<Item = String> {
    ('a'..='z').map(|letter| letter.to_string())
}

fn show_worst(drawn: &Drawn, metric: DrawnMetric, text: &mut String) {
    let rows = with(drawn, metric);
    if rows.is_empty() {
        return;
    }
    text.push_str(&format!("Worst cells by {}\n", lower(metric.label())));
    for (name, all) in rows {
        let cells: Vec<String> = all.worst_cells.iter().map(u32::to_string).collect();
        text.push_str(&wrap(&printable(&format!("{name}: {}", cells.join(" ")))));
    }
    text.push('\n');
}

fn with(drawn: &Drawn, metric: DrawnMetric) -> Vec<(String, &DrawnDistribution)> {
    let summaries = drawn.short_names().into_iter().zip(&drawn.summaries);
    let rows = summaries.filter_map(|(name, one)| Some((name, one.distributions.get(&metric)?)));
    rows.collect()
}

/// `63.5 (56.6–69.9)`.
fn shown(share: &DrawnShare) -> String {
    let [share, low, high] = [share.share, share.low, share.high].map(|part| part.get() * 100.0);
    format!("{share:.1} ({low:.1}–{high:.1})")
}

fn lower(label: &str) -> String {
    let mut letters = label.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    // A name in capitals stays one.
    if label.starts_with("CUBIC") || label.starts_with("Jain") {
        return label.to_owned();
    }
    first.unwrap_or_default() + letters.as_str()
}
