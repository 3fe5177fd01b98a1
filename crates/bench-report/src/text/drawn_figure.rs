//! Figures of controllers over drawn conditions, in the unit in which each metric is read.

use super::significant;
use crate::result::DrawnMetric;

/// Regret in percent, all others as they are.
pub(crate) fn drawn_figure(metric: DrawnMetric, value: f64) -> String {
    match metric {
        DrawnMetric::Regret => format!("{:.0} %", value * 100.0),
        _ => significant(value),
    }
}

/// What keeps a bound: `≤ 30 %`, `≥ 0.800`.
pub(crate) fn drawn_bound(metric: DrawnMetric, bound: f64) -> String {
    let sign = if metric.lower_is_better() {
        "≤"
    } else {
        "≥"
    };
    format!("{sign} {}", drawn_figure(metric, bound))
}
