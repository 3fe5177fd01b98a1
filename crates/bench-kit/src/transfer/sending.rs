//! Streams that this side sends.

use super::content::{Content, LocalFile};
use super::stream_index::{self, index_of};
use crate::clock;
use crate::counters::Counters;
use crate::plan::{Limit, Plan};
use crate::wire::DONE;
use paceline::{Connection, SendStream, VarInt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

#[derive(Clone)]
pub(super) struct Sending {
    connection: Connection,
    counters: Arc<Counters>,
    content: Content,
    /// The most bytes of one write.
    block: u64,
    /// Time between two blocks under a target rate.
    gap: Option<Duration>,
    /// What is left to send over all streams, where bytes limit the run.
    left: Option<Arc<AtomicU64>>,
    /// The place of the first stream among those that are counted.
    first: usize,
    over: watch::Receiver<bool>,
}

impl Sending {
    pub(super) fn new(
        connection: &Connection,
        plan: &Plan,
        file: Option<LocalFile>,
        counters: &Arc<Counters>,
        over: &watch::Receiver<bool>,
    ) -> Self {
        let block = plan.block();
        let rate = plan.rate.map(units::Bandwidth::from_bits_per_sec);
        let extras = &plan.extras;
        Self {
            connection: connection.clone(),
            counters: Arc::clone(counters),
            content: match file {
                Some(file) => Content::of_file(file, extras.digest),
                None => Content::generated(block, extras.continued, extras.zeros, extras.digest),
            },
            block: block.get(),
            gap: rate.map(|rate| block / rate),
            left: match plan.limit {
                Limit::Bytes(bytes) => Some(Arc::new(AtomicU64::new(bytes))),
                Limit::Time(_) => None,
            },
            first: stream_index::first(plan),
            over: over.clone(),
        }
    }

    /// One stream, from its begin to its end.
    ///
    /// # Errors
    /// When there is nothing to send: the file cannot be read.
    pub(super) async fn stream(mut self) -> Result<(), String> {
        let Ok(mut stream) = self.connection.open_uni().await else {
            return Ok(());
        };
        let index = self.first.saturating_add(index_of(stream.id()));
        self.counters.set_carrier(index, stream.id());
        let mut over = self.over.clone();
        let sent = tokio::select! {
            biased;
            _ = over.wait_for(|is_over| *is_over) => None,
            sent = self.send(&mut stream, index) => Some(sent),
        };
        let departed = self.connection.stream_bytes_sent(stream.id());
        self.counters.end_carrier(index, departed);
        sent.unwrap_or_else(|| {
            // The stream may have been stopped by the receiver meanwhile; that is the same.
            let _ = stream.reset(VarInt::from_u32(DONE));
            Ok(())
        })
    }

    /// Sends until the bytes are used up and acknowledged, or for ever.
    async fn send(&mut self, stream: &mut SendStream, index: usize) -> Result<(), String> {
        let mut due = Instant::from_std(clock::now());
        loop {
            let length = self.take();
            if length == 0 {
                // When it fails the receiver or the connection has gone; the run ends by that.
                if stream.finish().is_ok() {
                    let _ = stream.stopped().await;
                }
                let content = self.content.clone();
                let content = std::mem::replace(&mut self.content, content);
                self.counters.set_digest(content.digest());
                return Ok(());
            }
            let chunk = self.content.next(length)?;
            if stream.write_chunk(chunk).await.is_err() {
                return Ok(());
            }
            self.counters.sent[index].fetch_add(length as u64, Ordering::Relaxed);
            if let Some(gap) = self.gap {
                due += gap;
                sleep_until(due).await;
            }
        }
    }

    /// How many bytes to write next; zero when none are left.
    fn take(&self) -> usize {
        let take = |left: u64| left.min(self.block);
        let before = match &self.left {
            None => self.block,
            Some(left) => left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left - take(left))
                })
                .expect("the closure always returns a value"),
        };
        usize::try_from(take(before)).expect("at most a block")
    }
}
