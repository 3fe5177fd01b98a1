//! What came of it, as a page of docs.

use std::fmt::Write as _;

/// How a case went between two libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// One of the two says that it does not know the case.
    Unsupported,
    Failed(String),
}

/// Outcomes by case and pair, both in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<&'static str>,
    columns: Vec<[&'static str; 2]>,
    cells: Vec<(&'static str, [&'static str; 2], Outcome)>,
}

impl Table {
    /// The outcome of `case` between a client and a server.
    pub(crate) fn add(&mut self, case: &'static str, pair: [&'static str; 2], outcome: Outcome) {
        if !self.rows.contains(&case) {
            self.rows.push(case);
        }
        if !self.columns.contains(&pair) {
            self.columns.push(pair);
        }
        self.cells.push((case, pair, outcome));
    }

    /// Writes it behind the marker in docs/interop.md, in place of what was there.
    pub(crate) fn write(&self) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/interop.md");
        let page = std::fs::read_to_string(file).unwrap();
        let (head, _) = page.split_once(MARKER).expect("the page has the marker");
        std::fs::write(file, format!("{head}{MARKER}\n\n{}", self.markdown())).unwrap();
    }

    fn markdown(&self) -> String {
        let mut text = "| case |".to_owned();
        for [client, server] in &self.columns {
            write!(text, " {client} → {server} |").unwrap();
        }
        text.push_str("\n|---|");
        text.push_str(&"---|".repeat(self.columns.len()));
        for row in &self.rows {
            write!(text, "\n| {row} |").unwrap();
            for column in &self.columns {
                let cell = self
                    .cells
                    .iter()
                    .find(|(case, pair, _)| (case, pair) == (row, column));
                text.push_str(match cell {
                    Some((_, _, Outcome::Passed)) => " yes |",
                    Some((_, _, Outcome::Failed(_))) => " **no** |",
                    Some((_, _, Outcome::Unsupported)) | None => " – |",
                });
            }
        }
        text.push('\n');
        text
    }

    pub(crate) fn passed(&self) -> usize {
        let outcomes = self.cells.iter().map(|(_, _, outcome)| outcome);
        outcomes
            .filter(|outcome| **outcome == Outcome::Passed)
            .count()
    }

    /// A line for each case that failed.
    pub(crate) fn failed(&self) -> Vec<String> {
        let failed = self
            .cells
            .iter()
            .filter_map(|(case, pair, outcome)| match outcome {
                Outcome::Failed(why) => Some(format!("{} → {}: {case}: {why}", pair[0], pair[1])),
                _ => None,
            });
        failed.collect()
    }
}

const MARKER: &str = "<!-- What follows is written by `just interop`. -->";
