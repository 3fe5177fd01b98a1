//! Scorecards as Markdown: a page for a controller, and the table of all.

use crate::result::{
    BoundVerdict, OverCells, ScorecardBound, ScorecardCells, ScorecardFigure, ScorecardResult,
    ScorecardRow, ScorecardSection,
};
use crate::stats::over_cells;
use crate::text::{printable, quantity};
use std::fmt::Write as _;

/// The page of one controller. No cell of its tables is wider than [`MAX_CELL`] characters.
pub fn scorecard(result: &ScorecardResult) -> String {
    let mut page = head(result);
    for section in result
        .sections
        .iter()
        .filter(|section| !section.rows.is_empty())
    {
        let _ = write!(page, "\n## {} {}\n\n", section.number, section.title);
        page.push_str("| criterion | figure | interval | in words |\n|---|---|---|---|\n");
        for row in &section.rows {
            page.push_str(&scorecard_row(row));
        }
        commands(&mut page, section);
    }
    not_covered(&mut page, result);
    page
}

/// The line of a criterion in its page, with its line end.
pub fn scorecard_row(row: &ScorecardRow) -> String {
    let figure = row.figure.as_ref();
    let range = match &row.cells {
        Some(cells) => Some(of_cells(cells)),
        None => figure.and_then(interval),
    };
    let cells = [
        format!("`{}`: {}", row.id, row.title),
        figure.map_or_else(none, |figure| quantity(figure.value.get(), &row.unit)),
        range.unwrap_or_else(none),
        row.words.clone(),
    ];
    let cells = cells.map(|text| cell(&text));
    format!("| {} |\n", cells.join(" | "))
}

/// All controllers: a table for each section, a row for each controller.
pub fn scorecard_summary(results: &[ScorecardResult]) -> String {
    let mut page = READING.to_owned();
    let Some(first) = results.first() else {
        return page;
    };
    let sections = first.sections.iter().enumerate();
    for (place, section) in sections.filter(|(_, section)| !section.rows.is_empty()) {
        let _ = write!(page, "\n### {} {}\n\n", section.number, section.title);
        let ids = section.rows.iter().map(|row| match row.unit.as_str() {
            "" => format!("`{}`", row.id),
            unit => format!("`{}`, {unit}", row.id),
        });
        let ids: Vec<String> = ids.collect();
        let rule = "---|".repeat(ids.len() + 1);
        let _ = writeln!(page, "| controller | {} |\n|{rule}", ids.join(" | "));
        for result in results {
            let rows = result.sections.get(place).map_or(&[][..], |own| &own.rows);
            let figures: Vec<String> = rows.iter().map(summary_cell).collect();
            let cc = &result.cc;
            let _ = writeln!(page, "| [`{cc}`]({cc}.md) | {} |", figures.join(" | "));
        }
    }
    page
}

fn head(result: &ScorecardResult) -> String {
    let neighbours = result
        .against
        .iter()
        .map(|cc| format!("`{}`", printable(cc)));
    let neighbours: Vec<String> = neighbours.collect();
    let verdicts = |wanted: BoundVerdict| {
        let rows = result.rows().filter(|row| row.verdict == Some(wanted));
        let ids = rows.map(|row| format!("`{}`", row.id));
        let ids: Vec<String> = ids.collect();
        ids
    };
    let listed = |ids: &[String]| match ids {
        [] => String::new(),
        ids => format!(" ({})", ids.join(", ")),
    };
    let [within, beyond, undecided] = [
        BoundVerdict::Within,
        BoundVerdict::Beyond,
        BoundVerdict::Undecided,
    ]
    .map(verdicts);
    let mut page = format!(
        "# Scorecard: `{}`\n\n\
         {}\n\
         ```sh\n{}\n```\n\n\
         {}\
         - within their bounds: {}\n- beyond them: {}{}\n- undecided, as the interval contains the \
         bound: {}{}\n",
        printable(&result.cc),
        introduction(result, &neighbours.join(", ")),
        printable(&result.command),
        match &result.intro {
            Some(_) => "",
            None => "The RFC sets no limits; the bounds are ours.\n\n",
        },
        within.len(),
        beyond.len(),
        listed(&beyond),
        undecided.len(),
        listed(&undecided),
    );
    if let Some(error) = &result.error {
        let _ = write!(page, "\n**Incomplete: {}**\n", printable(error));
    }
    page
}

/// What was measured, in a paragraph or, where the criteria have their own words, in those and one.
fn introduction(result: &ScorecardResult, neighbours: &str) -> String {
    let (version, seed, rounds) = (&result.version, result.seed, result.rounds);
    match &result.intro {
        Some(intro) => format!(
            "{}\n\nMeasured in virtual time: {version}, seed {seed}. [How to read this \
             page](README.md).\n",
            intro.trim()
        ),
        None => format!(
            "What [RFC 9743]({}) asks\nof a congestion controller, measured in virtual time \
             beside {neighbours}: {version}, seed {seed}, {rounds} rounds of each test.\n[How to \
             read this page](README.md).\n",
            result.url
        ),
    }
}

/// The tests behind the rows of a section, and the reasons of their bounds.
fn commands(page: &mut String, section: &ScorecardSection) {
    page.push_str("\n<details><summary>Commands</summary>\n");
    for row in &section.rows {
        let _ = write!(page, "\n`{}`", row.id);
        match row.commands.as_slice() {
            [_, _] if row.relative => page.push_str(", the first measured against the second"),
            [_, _] => page.push_str(", and the reference"),
            _ => {}
        }
        if let Some(bound) = &row.bound {
            let _ = write!(page, "; {}: {}", bound_text(bound, &row.unit), bound.reason);
        }
        let _ = write!(page, "\n\n```sh\n{}\n```\n", row.commands.join("\n"));
        if let Some(cells) = &row.cells {
            cell_table(page, row, cells);
        }
    }
    page.push_str("\n</details>\n");
}

/// The figures of all cells, those beyond the bound bold, and the tests of the worst of them.
fn cell_table(page: &mut String, row: &ScorecardRow, cells: &ScorecardCells) {
    let Some(bound) = &row.bound else {
        return;
    };
    let has_reference = cells.cells.iter().any(|cell| cell.reference.is_some());
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(", {}", row.unit)
    };
    let head = if has_reference {
        format!("| cell | figure{unit} | reference |\n|---|---|---|")
    } else {
        format!("| cell | figure{unit} |\n|---|---|")
    };
    let _ = writeln!(page, "\n{head}");
    for one in &cells.cells {
        let keeps = one.figure.is_some_and(|figure| bound.keeps(figure.value));
        let figure = number(one.figure.as_ref());
        let figure = if keeps {
            figure
        } else {
            format!("**{figure}**")
        };
        let _ = write!(page, "| {} | {figure} |", cell(&one.at));
        if has_reference {
            let _ = write!(page, " {} |", number(one.reference.as_ref()));
        }
        page.push('\n');
    }
    if let Some(error) = &row.error {
        let _ = write!(page, "\nFailed: {}.\n", printable(error));
    }
    let values: Vec<_> = cells
        .cells
        .iter()
        .map(|one| one.figure.map(|figure| figure.value))
        .collect();
    if let Some(worst) = over_cells(OverCells::Worst, bound, &values)
        && let Some(worst) = cells.cells.get(worst)
    {
        let commands = worst.commands.join("\n");
        let _ = write!(
            page,
            "\nThe worst, {}:\n\n```sh\n{commands}\n```\n",
            worst.at
        );
    }
}

/// `27 cells, 24 within; 88.1–94.9, median 93.0`.
fn of_cells(cells: &ScorecardCells) -> String {
    let values = cells.cells.iter().filter_map(|cell| cell.figure);
    let mut values: Vec<f64> = values.map(|figure| figure.value.get()).collect();
    values.sort_by(f64::total_cmp);
    let count = cells.cells.len();
    let mut text = format!("{} of {count} cells within", cells.within);
    let middle = values.get(values.len().saturating_sub(1) / 2);
    if let (Some(least), Some(middle), Some(most)) = (values.first(), middle, values.last()) {
        let [least, middle, most] = [least, middle, most].map(|value| quantity(*value, ""));
        let _ = write!(text, "; {least}–{most}, median {middle}");
    }
    text
}

fn number(figure: Option<&ScorecardFigure>) -> String {
    figure.map_or_else(none, |figure| quantity(figure.value.get(), ""))
}

fn not_covered(page: &mut String, result: &ScorecardResult) {
    if result
        .sections
        .iter()
        .all(|section| section.not_covered.is_empty())
    {
        return;
    }
    page.push_str("\n## Not covered\n\n| section | what | why not |\n|---|---|---|\n");
    for section in &result.sections {
        for gap in &section.not_covered {
            let place = format!("{} {}", section.number, section.title);
            let cells = [place.as_str(), &gap.what, &gap.why].map(cell);
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }
}

/// `at least 80 %`.
pub fn bound_text(bound: &ScorecardBound, unit: &str) -> String {
    let least = bound.at_least.map(|least| ("at least", least));
    let most = bound.at_most.map(|most| ("at most", most));
    let ends = [least, most].into_iter().flatten();
    let ends = ends.map(|(word, end)| format!("{word} {end} {unit}").trim_end().to_owned());
    let ends: Vec<String> = ends.collect();
    ends.join(" and ")
}

fn interval(figure: &ScorecardFigure) -> Option<String> {
    let (low, high) = figure.low.zip(figure.high)?;
    let [low, high] = [low, high].map(|end| quantity(end.get(), ""));
    Some(format!("{low}–{high}"))
}

/// A figure without its unit, bold where it is beyond its bound.
fn summary_cell(row: &ScorecardRow) -> String {
    let Some(figure) = &row.figure else {
        return none();
    };
    let value = quantity(figure.value.get(), "");
    match row.verdict {
        Some(BoundVerdict::Beyond) => format!("**{value}**"),
        _ => value,
    }
}

fn none() -> String {
    "–".to_owned()
}

/// A text that stays within its cell.
fn cell(text: &str) -> String {
    let mut text = printable(text);
    if text.chars().count() > MAX_CELL {
        text = text.chars().take(MAX_CELL - 1).chain(['…']).collect();
    }
    text.replace('|', "\\|")
}

/// What a line of a page holds beside three narrow cells.
pub const MAX_CELL: usize = 120;

const READING: &str = include_str!("markdown/reading.md");

#[cfg(test)]
mod tests;
