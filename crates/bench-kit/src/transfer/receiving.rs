//! Streams that this side receives.

use super::content::{LocalFile, Sink};
use super::stream_index::index_of;
use crate::counters::Counters;
use paceline::{Connection, RecvStream};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Takes as many streams as were agreed and reads each to its end; `first` is the place of the
/// first among those that are counted.
///
/// # Errors
/// When what came cannot be kept: the disk is full.
pub(super) async fn receive_all(
    connection: Connection,
    counters: Arc<Counters>,
    file: Option<LocalFile>,
    is_hashed: bool,
    first: usize,
) -> Result<(), String> {
    let mut streams = JoinSet::new();
    for _ in first..counters.received.len() {
        let Ok(stream) = connection.accept_uni().await else {
            return Ok(());
        };
        let sink = Sink::new(file.clone(), is_hashed);
        streams.spawn(receive(stream, Arc::clone(&counters), sink, first));
    }
    while let Some(received) = streams.join_next().await {
        match received {
            Ok(received) => received?,
            Err(task) if task.is_panic() => std::panic::resume_unwind(task.into_panic()),
            Err(_) => {}
        }
    }
    Ok(())
}

async fn receive(
    mut stream: RecvStream,
    counters: Arc<Counters>,
    mut sink: Sink,
    first: usize,
) -> Result<(), String> {
    let index = first.saturating_add(index_of(stream.id()));
    loop {
        // An error means that the sender's time is over, or that the connection has gone.
        let Ok(chunk) = stream.read_chunk(usize::MAX, true).await else {
            return Ok(());
        };
        let Some(chunk) = chunk else {
            counters.set_digest(sink.digest());
            return Ok(());
        };
        if index >= counters.received.len() {
            return Ok(());
        }
        counters.receive(index, chunk.bytes.len());
        sink.take(&chunk.bytes)?;
    }
}
