use crate::result::{Comparison, Decision, Finite, Metric, Summary, Variant};
use crate::text::{Scale, printable, significant};

/// The variant's name and what it is, a controller without parameters where those do not fit.
pub(super) fn title(variant: &Variant, width: usize) -> String {
    let with = |controller: &str| printable(&format!("{}: {controller}", variant.name));
    let full = with(&variant.sender());
    if full.chars().count() <= width {
        full
    } else {
        with(variant.short_label()).chars().take(width).collect()
    }
}

pub(super) fn scale<'a>(metric: Metric, sides: impl Iterator<Item = Option<&'a Summary>>) -> Scale {
    let largest = sides.flatten().map(|side| side.median.get());
    Scale::of(metric, largest.fold(0.0, f64::max))
}

pub(super) fn summary_cell(summary: Option<&Summary>, scale: Scale) -> String {
    match summary {
        Some(side) => cell(side.median, side.low, side.high, |v| scale.show(v)),
        None => String::new(),
    }
}

pub(super) fn ratio_cell(comparison: Option<&Comparison>) -> String {
    let cell = comparison.and_then(|comparison| {
        let ratio = comparison.ratio_b_over_a?;
        Some(cell(ratio, comparison.low, comparison.high, significant))
    });
    cell.unwrap_or_default()
}

pub(super) fn cell(
    centre: Finite,
    low: Option<Finite>,
    high: Option<Finite>,
    show: impl Fn(f64) -> String,
) -> String {
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!("{}–{}", show(low.get()), show(high.get())),
        _ => String::new(),
    };
    format!("{:>6} {interval}", show(centre.get()))
}

pub(super) fn mark(metric: Metric, decision: Decision) -> &'static str {
    let better = match decision {
        Decision::TooFewRounds => return "?",
        Decision::Same => return "=",
        Decision::BHigher => metric.higher_is_better(),
        Decision::BLower => !metric.higher_is_better(),
    };
    if better { "+" } else { "-" }
}

/// `123456 123456–123456`.
pub(super) const CELL: usize = 19;
