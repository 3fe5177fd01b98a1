use crate::result::{
    AbResult, Comparison, Decision, Finite, Metric, Summary, Variant, short_labels,
};
use crate::stats::machine_was_busy;
use crate::text::{Scale, elided, printable, ratio};

/// The variant's name and what it is: a controller with its parameters or, where those of one of
/// the `variants` do not fit, with what tells it from the others.
pub(super) fn title(variant: &Variant, variants: &[Variant], width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    let with = |variant: &Variant, label: &str| printable(&format!("{}: {label}", variant.name));
    let full = |variant: &Variant| with(variant, &variant.sender());
    if variants.iter().all(|variant| fits(&full(variant))) {
        return full(variant);
    }
    let place = variants.iter().position(|other| other.name == variant.name);
    let labels = short_labels(variants);
    let label = place.and_then(|place| labels.get(place));
    let label = label.map_or_else(|| variant.short_label(), String::as_str);
    elided(&with(variant, label), fits)
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

/// What the last column says of a comparison; nothing where there is no verdict.
pub(super) fn mark(result: &AbResult, metric: Metric, decision: Decision) -> &'static str {
    if machine_was_busy(result) {
        return "";
    }
    let better = match decision {
        Decision::TooFewRounds => return "?",
        Decision::Same => return "=",
        Decision::BHigher => metric.higher_is_better(),
        Decision::BLower => !metric.higher_is_better(),
    };
    if better { "+" } else { "-" }
}

/// What the marks mean; nothing where there are none.
pub(super) fn legend(result: &AbResult, of_marks: &'static str) -> &'static str {
    match machine_was_busy(result) {
        true => "",
        false => of_marks,
    }
}

/// `123456 123456–123456`.
pub(super) const CELL: usize = 19;
