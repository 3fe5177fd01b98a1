//! The table for terminals that are too narrow for columns: a row for each side under every metric.

use super::cells::{mark, ratio_cell, scale, summary_cell, title};
use crate::result::{AbResult, Variant};

pub(super) fn sides(table: &mut String, result: &AbResult, width: usize) {
    let Some((a, challengers)) = result.challengers() else {
        return;
    };
    table.push_str("Median, 95 % interval\n");
    for metric in result.own_metrics() {
        let variants = || [a].into_iter().chain(challengers.iter().map(|c| c.variant));
        if variants().all(|variant| !variant.summary.contains_key(&metric)) {
            continue;
        }
        let summaries = variants().map(|variant| variant.summary.get(&metric));
        let scale = scale(metric, summaries);
        table.push_str(&format!("{} {}\n", metric.label(), scale.unit));
        for variant in variants() {
            let cell = summary_cell(variant.summary.get(&metric), scale);
            row(table, &side(result, variant, width), &cell, "", width);
        }
        for challenger in &challengers {
            let comparison = challenger.comparison.and_then(|all| all.get(&metric));
            if let Some(comparison) = comparison {
                let name = format!("{} / a", challenger.variant.name);
                let mark = mark(result, metric, comparison.decision);
                row(table, &name, &ratio_cell(Some(comparison)), mark, width);
            }
        }
    }
}

fn side(result: &AbResult, variant: &Variant, width: usize) -> String {
    let room = width.saturating_sub(CELLS + 2);
    title(variant, &result.variants, room.max(LETTER))
}

fn row(table: &mut String, name: &str, cell: &str, mark: &str, width: usize) {
    let name_width = width.saturating_sub(CELLS + 2).max(LETTER);
    let line = format!("  {name:<name_width$} {cell} {mark}");
    table.push_str(&format!("{}\n", line.trim_end()));
}

/// A figure with its interval, a mark, and a blank before each.
const CELLS: usize = 23;
/// The name of a variant.
const LETTER: usize = 5;
