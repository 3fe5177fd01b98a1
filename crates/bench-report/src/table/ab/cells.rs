use crate::result::{Comparison, Decision, Finite, Metric, Summary, Variant, short_labels};
use crate::text::{Scale, printable, ratio};

/// The variant's name and what it is: a controller, where its parameters do not fit, with those
/// that tell it from the other `variants`.
pub(super) fn title(variant: &Variant, variants: &[Variant], width: usize) -> String {
    let with = |controller: &str| printable(&format!("{}: {controller}", variant.name));
    let full = with(&variant.sender());
    if full.chars().count() <= width {
        full
    } else {
        let place = variants.iter().position(|other| other.name == variant.name);
        let labels = short_labels(variants);
        let label = place.and_then(|place| labels.get(place));
        let label = with(label.map_or_else(|| variant.short_label(), String::as_str));
        cut(&label, width)
    }
}

/// The text in at most so many columns, with a mark where some of it is left out.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
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
        let centre = comparison.ratio_b_over_a?;
        Some(cell(centre, comparison.low, comparison.high, ratio))
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
