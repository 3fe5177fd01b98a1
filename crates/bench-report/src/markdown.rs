//! Scorecards as Markdown: a page for a controller, and the table of all.

use crate::result::{
    BoundVerdict, ScorecardBound, ScorecardFigure, ScorecardResult, ScorecardRow, ScorecardSection,
};
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
    let cells = [
        format!("`{}`: {}", row.id, row.title),
        figure.map_or_else(none, |figure| quantity(figure.value.get(), &row.unit)),
        figure.and_then(interval).unwrap_or_else(none),
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
         What [RFC 9743]({}) asks\nof a congestion controller, measured in virtual time beside \
         {}: {}, seed {}, {} rounds of each test.\n[How to read this page](README.md).\n\n\
         ```sh\n{}\n```\n\n\
         The RFC sets no limits; the bounds are ours.\n\n\
         - within their bounds: {}\n- beyond them: {}{}\n- undecided, as the interval contains the \
         bound: {}{}\n",
        printable(&result.cc),
        result.url,
        neighbours.join(", "),
        result.version,
        result.seed,
        result.rounds,
        printable(&result.command),
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
    }
    page.push_str("\n</details>\n");
}

fn not_covered(page: &mut String, result: &ScorecardResult) {
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
