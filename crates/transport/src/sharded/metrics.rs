//! What a sharded server counts, for the crate `metrics`.

use super::server::{Figures, ShardedServer};
use crate::endpoint::EndpointMetrics;
use ::metrics::{Label, SharedString, Unit, counter, describe_counter};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

impl ShardedServer {
    /// Has each shard report what it counts to the crate `metrics`, with `name` in the label
    /// `endpoint` and the shard's number, from 0, in the label `shard`.
    ///
    /// What is in the first report is as with [`Endpoint::metrics`](crate::Endpoint::metrics), so
    /// this is best called at once.
    pub fn metrics(&self, name: impl Into<String>) -> ShardedMetrics {
        let name = SharedString::from(name.into());
        let shards = self.shards.iter().enumerate().map(|(number, shard)| {
            let shard_label = Label::new("shard", number.to_string());
            let labels = vec![Label::new("endpoint", name.clone()), shard_label];
            ShardMetrics {
                endpoint: shard.endpoint.labelled_metrics(labels.clone()),
                figures: Arc::clone(&shard.figures),
                labels,
            }
        });
        ShardedMetrics {
            shards: shards.collect(),
            busy: self.busy.clone(),
        }
    }
}

/// Reports what the shards of a [`ShardedServer`] count to the recorder of the crate `metrics`, as
/// [`EndpointMetrics`] does for an endpoint.
///
/// The names are the same, with the label `shard` beside those of an endpoint, so that what sums
/// over the others, such as `sum by (endpoint, controller)`, sums over shards too. One name is a
/// sharded server's alone: `paceline_handler_panics_total`.
#[derive(Debug)]
pub struct ShardedMetrics {
    shards: Vec<ShardMetrics>,
    /// How many shards have work.
    busy: watch::Receiver<usize>,
}

#[derive(Debug)]
struct ShardMetrics {
    endpoint: EndpointMetrics,
    figures: Arc<Figures>,
    labels: Vec<Label>,
}

impl ShardedMetrics {
    /// Reports what has changed since the last time, as
    /// [`EndpointMetrics::report`] does: one shard after the other.
    pub fn report(&mut self) {
        describe_counter!(
            HANDLER_PANICS,
            Unit::Count,
            "Handlers of connections that have panicked"
        );
        for shard in &mut self.shards {
            shard.endpoint.report();
            let panics = shard.figures.unreported_panics();
            counter!(HANDLER_PANICS, shard.labels.clone()).increment(panics);
        }
    }

    /// Reports each `interval`, first at once, and a last time when all shards have ended.
    ///
    /// # Panics
    /// When `interval` is zero.
    pub async fn report_every(mut self, interval: Duration) {
        let mut ticks = tokio::time::interval(interval);
        let mut busy = self.busy.clone();
        loop {
            tokio::select! {
                _ = ticks.tick() => self.report(),
                // An error means that no shard is left.
                _ = busy.wait_for(|busy| *busy == 0) => return self.report(),
            }
        }
    }
}

const HANDLER_PANICS: &str = "paceline_handler_panics_total";
