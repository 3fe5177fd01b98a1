//! Variants that run at once stand in one queue.

use super::queue_source::queue_delay_source;
use crate::result::{AbResult, Metric, QueueDelaySource};
use crate::text::significant;

/// The metrics of which each variant has its own figures, in the order of the tables.
pub(super) fn own_metrics(result: &AbResult) -> impl Iterator<Item = Metric> {
    let is_shared = is_shared(result);
    let own = move |metric: &Metric| !(is_shared && QUEUE.contains(metric));
    Metric::ALL.into_iter().filter(own)
}

/// The line of the queue that all share; empty where each has its own.
pub(super) fn line(result: &AbResult) -> String {
    let Some(a) = result.variants.first().filter(|_| is_shared(result)) else {
        return String::new();
    };
    let quantiles = QUEUE.into_iter().zip(["p50", "p95", "p99"]);
    let quantiles = quantiles.filter_map(|(metric, name)| {
        let median = a.summary.get(&metric)?.median.get();
        Some(format!("{name} {} ms", significant(median)))
    });
    let quantiles: Vec<String> = quantiles.collect();
    format!("Queue of all: {}\n", quantiles.join(", "))
}

/// Whether the link timed its queue, and all variants were in it.
fn is_shared(result: &AbResult) -> bool {
    result.competition.is_some() && queue_delay_source(result) == Some(QueueDelaySource::Link)
}

const QUEUE: [Metric; 3] = [
    Metric::QueueDelayMsP50,
    Metric::QueueDelayMsP95,
    Metric::QueueDelayMsP99,
];
