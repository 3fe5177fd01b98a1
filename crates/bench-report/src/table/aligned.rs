//! Tables in 80 columns.

use crate::text::{elided, printable};

/// Labels to the left, cut where the figures to their right leave no room.
pub(super) struct Table {
    title: String,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    pub(super) fn new(title: String) -> Self {
        Self {
            title,
            rows: Vec::new(),
        }
    }

    pub(super) fn head(&mut self, axis: &str, columns: Vec<String>) {
        self.row(axis, columns);
    }

    pub(super) fn row(&mut self, label: &str, figures: Vec<String>) {
        self.rows.push((printable(label), figures));
    }

    /// In so many columns: below one another, with the name of its column before each figure, where
    /// the columns do not fit.
    pub(super) fn show(&self, text: &mut String, within: usize) {
        let columns = self.rows.iter().map(|(_, figures)| figures.len()).max();
        let width = |column| {
            let figures = self
                .rows
                .iter()
                .filter_map(|(_, figures)| figures.get(column));
            figures
                .map(|figure: &String| figure.chars().count() + 2)
                .max()
        };
        let widths: Vec<usize> = (0..columns.unwrap_or(0)).filter_map(width).collect();
        let room = within.saturating_sub(widths.iter().sum());
        if within < WIDTH && room < SHORTEST_LABEL {
            self.show_stacked(text);
            return;
        }
        let labels = self.rows.iter().map(|(label, _)| label.chars().count());
        let label = labels.max().unwrap_or(0).min(room);
        text.push_str(&format!("{}\n", self.title));
        for (name, figures) in &self.rows {
            let mut line = format!(
                "{:<label$}",
                elided(name, |text| text.chars().count() <= label)
            );
            for (figure, width) in figures.iter().zip(&widths) {
                line.push_str(&format!("{:>width$}", printable(figure)));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
}

impl Table {
    fn show_stacked(&self, text: &mut String) {
        text.push_str(&format!("{}\n", self.title));
        let Some(((axis, names), rows)) = self.rows.split_first() else {
            return;
        };
        let longest = names.iter().map(|name| name.trim_end().chars().count());
        let longest = longest.max().unwrap_or(0);
        for (label, figures) in rows {
            text.push_str(&format!("{}\n", format!("{axis} {label}").trim()));
            for (name, figure) in names.iter().zip(figures) {
                let (name, figure) = (name.trim_end(), printable(figure));
                let line = format!("  {name:<longest$} {figure:>8}");
                text.push_str(&format!("{}\n", line.trim_end()));
            }
        }
        text.push('\n');
    }
}

/// What a label needs at the least beside its figures.
const SHORTEST_LABEL: usize = 8;

/// In lines of 80 columns, with a newline at the end of each.
pub(super) fn wrap(text: &str) -> String {
    format!("{}\n", textwrap::fill(text, WIDTH))
}

pub(super) const WIDTH: usize = 80;
