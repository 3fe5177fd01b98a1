use crate::result::{AbResult, QueueDelaySource};

/// How time in queues was measured, if all rounds that know it did it in one way.
pub fn queue_delay_source(result: &AbResult) -> Option<QueueDelaySource> {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let mut sources = rounds.filter_map(|round| round.queue_delay_source);
    let first = sources.next()?;
    sources.all(|source| source == first).then_some(first)
}
