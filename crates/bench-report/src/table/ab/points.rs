use super::cells::scale;
use crate::result::{AbResult, Finite, Metric};
use crate::stats::FEW;

/// The figures of single rounds, where they are so few that their intervals say little: a block for
/// goodput and one for the p95 RTT.
pub(super) fn of_few_rounds(result: &AbResult) -> String {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    if !(2..FEW).contains(&rounds.max().unwrap_or(0)) {
        return String::new();
    }
    let metrics = [Metric::GoodputBitsPerSecond, Metric::RttMsP95];
    metrics
        .into_iter()
        .map(|metric| block(result, metric))
        .collect()
}

fn block(result: &AbResult, metric: Metric) -> String {
    let variants = result.variants.iter();
    let scale = scale(metric, variants.map(|variant| variant.summary.get(&metric)));
    let variants = result.variants.iter().filter_map(|variant| {
        let rounds = variant.rounds.iter().filter(|round| round.succeeded());
        let values = rounds.filter_map(|round| metric.of(round).map(Finite::get));
        let values: Vec<String> = values.map(|value| scale.show(value)).collect();
        (!values.is_empty()).then(|| format!("  {}: {}\n", variant.name, values.join("  ")))
    });
    let variants: String = variants.collect();
    if variants.is_empty() {
        return variants;
    }
    format!("Each round: {} {}\n{variants}", metric.label(), scale.unit)
}
