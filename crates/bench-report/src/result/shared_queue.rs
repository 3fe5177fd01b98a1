//! Variants that run at once stand in one queue.

use super::{AbResult, Finite, Metric, QueueDelaySource};

impl AbResult {
    /// How time in queues was measured, if all rounds that know it did it in one way.
    pub fn queue_delay_source(&self) -> Option<QueueDelaySource> {
        let rounds = self.variants.iter().flat_map(|variant| &variant.rounds);
        let mut sources = rounds.filter_map(|round| round.queue_delay_source);
        let first = sources.next()?;
        sources.all(|source| source == first).then_some(first)
    }

    /// The metrics of which each variant has its own figures, in the order of the tables.
    pub fn own_metrics(&self) -> impl Iterator<Item = Metric> + use<> {
        let is_shared = self.has_shared_queue();
        let own = move |metric: &Metric| !(is_shared && QUEUE.contains(metric));
        Metric::ALL.into_iter().filter(own)
    }

    /// The quantiles of the queue delay that all variants had, by name, in milliseconds; `None`
    /// where each has its own.
    pub fn shared_queue(&self) -> Option<Vec<(&'static str, Finite)>> {
        let a = self.variants.first().filter(|_| self.has_shared_queue())?;
        let quantiles = QUEUE.into_iter().zip(["p50", "p95", "p99"]);
        let quantiles =
            quantiles.filter_map(|(metric, name)| Some((name, a.summary.get(&metric)?.median)));
        Some(quantiles.collect())
    }

    /// Whether the link timed its queue, and all variants were in it.
    fn has_shared_queue(&self) -> bool {
        self.competition.is_some() && self.queue_delay_source() == Some(QueueDelaySource::Link)
    }
}

const QUEUE: [Metric; 3] = [
    Metric::QueueDelayMsP50,
    Metric::QueueDelayMsP95,
    Metric::QueueDelayMsP99,
];
