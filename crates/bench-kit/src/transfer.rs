//! One side's part in a run: its streams, and what they count.

use crate::clock;
use crate::plan::{Limit, Plan};
use crate::sample::{Sample, SideReport};
use crate::sampler::Sampler;
use crate::wire::DONE;
use bytes::Bytes;
use cc_core::ControllerChoice;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use transport::{Connection, ReadError, RecvStream, SendStream, StreamId, VarInt, WriteError};

/// What this side does in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) sends: bool,
    pub(crate) receives: bool,
}

/// One side's part in a run. Dropping it ends its streams.
pub(crate) struct Transfer<'a> {
    connection: &'a Connection,
    plan: &'a Plan,
    role: Role,
    counters: Arc<Counters>,
    /// Set when the senders' time is over.
    is_over: watch::Sender<bool>,
    streams: JoinSet<()>,
}

/// Payload so far, per stream. Written by the streams' tasks, read by the sampler; all run on one
/// thread, so no order between the counters is needed.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) sent: Box<[AtomicU64]>,
    pub(crate) received: Box<[AtomicU64]>,
    first_byte: Notify,
}

impl<'a> Transfer<'a> {
    /// Opens or awaits the streams; payload moves from now on.
    pub(crate) fn start(connection: &'a Connection, plan: &'a Plan, role: Role) -> Self {
        let counters = Arc::new(Counters::new(plan.streams, role));
        let (is_over, over) = watch::channel(false);
        let mut streams = JoinSet::new();
        if role.sends {
            let sending = Sending::new(connection, plan, &counters, &over);
            for _ in 0..counters.sent.len() {
                streams.spawn(sending.clone().stream());
            }
        }
        if role.receives {
            streams.spawn(receive_all(connection.clone(), Arc::clone(&counters)));
        }
        Self {
            connection,
            plan,
            role,
            counters,
            is_over,
            streams,
        }
    }

    /// What has moved so far.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Samples until the plan is carried out or `stop` says why it will not be; a stop without a
    /// reason is the other side's end of the run.
    pub(crate) async fn run(
        &mut self,
        congestion: &ControllerChoice,
        stop: impl Future<Output = Option<String>>,
        mut on_sample: impl FnMut(Sample),
    ) -> SideReport {
        let mut sampler = Sampler::new(self.connection, Arc::clone(&self.counters), self.role);
        tokio::pin!(stop);
        let mut error = None;
        let mut is_stopped = false;
        if !self.role.sends {
            tokio::select! {
                biased;
                why = &mut stop => (error, is_stopped) = (why, true),
                () = self.counters.first_byte.notified() => {}
            }
        }
        sampler.begin(clock::now(), self.plan);
        while !is_stopped {
            tokio::select! {
                biased;
                why = &mut stop => (error, is_stopped) = (why, true),
                ended = self.streams.join_next() => is_stopped = ended.is_none(),
                () = sleep_until(Instant::from_std(sampler.next_tick())) => {
                    on_sample(sampler.tick(clock::now()));
                    is_stopped = sampler.is_over();
                }
            }
        }
        let (sample, mut report) = sampler.finish(clock::now(), congestion);
        if let Some(sample) = sample {
            on_sample(sample);
        }
        report.error = error;
        self.is_over.send_replace(true);
        report
    }
}

impl Counters {
    fn new(streams: u32, role: Role) -> Self {
        let zeros = |wanted: bool| {
            let count = if wanted { streams } else { 0 };
            (0..count).map(|_| AtomicU64::new(0)).collect()
        };
        Self {
            sent: zeros(role.sends),
            received: zeros(role.receives),
            first_byte: Notify::new(),
        }
    }
}

/// What every sending stream needs.
#[derive(Clone)]
struct Sending {
    connection: Connection,
    counters: Arc<Counters>,
    block: Bytes,
    /// Time between two blocks under a target rate.
    gap: Option<Duration>,
    /// What is left to send over all streams, where bytes limit the run.
    left: Option<Arc<AtomicU64>>,
    most_unacked: u64,
    over: watch::Receiver<bool>,
}

impl Sending {
    fn new(
        connection: &Connection,
        plan: &Plan,
        counters: &Arc<Counters>,
        over: &watch::Receiver<bool>,
    ) -> Self {
        let block = plan.block();
        let rate = plan.rate.map(units::Bandwidth::from_bits_per_sec);
        Self {
            connection: connection.clone(),
            counters: Arc::clone(counters),
            block: payload(block),
            gap: rate.map(|rate| block / rate),
            left: match plan.limit {
                Limit::Bytes(bytes) => Some(Arc::new(AtomicU64::new(bytes))),
                Limit::Time(_) => None,
            },
            most_unacked: plan.window,
            over: over.clone(),
        }
    }

    async fn stream(mut self) {
        let Ok(mut stream) = self.connection.open_uni().await else {
            return;
        };
        let index = index_of(stream.id());
        let mut over = self.over.clone();
        tokio::select! {
            biased;
            _ = over.wait_for(|is_over| *is_over) => {
                // The stream may have been stopped by the receiver meanwhile; that is the same.
                let _ = stream.reset(VarInt::from_u32(DONE));
            }
            // An error means that the receiver or the connection has gone; the run ends by that.
            _ = self.send(&mut stream, index) => {}
        }
    }

    /// Sends until the bytes are used up and acknowledged, or for ever.
    async fn send(&mut self, stream: &mut SendStream, index: usize) -> Result<(), WriteError> {
        let mut due = Instant::from_std(clock::now());
        loop {
            let length = self.take();
            if length == 0 {
                stream.finish()?;
                let _ = stream.stopped().await;
                return Ok(());
            }
            self.keep_the_backlog_short();
            stream.write_chunk(self.block.slice(..length)).await?;
            self.counters.sent[index].fetch_add(length as u64, Ordering::Relaxed);
            if let Some(gap) = self.gap {
                due += gap;
                sleep_until(due).await;
            }
        }
    }

    /// How many bytes to write next; zero when none are left.
    fn take(&self) -> usize {
        let Some(left) = &self.left else {
            return self.block.len();
        };
        let take = |left: u64| left.min(self.block.len() as u64);
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left - take(left))
        });
        let before = before.expect("the closure always returns a value");
        usize::try_from(take(before)).expect("at most a block")
    }

    /// Lets twice the congestion window wait for acknowledgement, as Linux sizes a TCP socket's
    /// buffer: enough to never hold the controller back, little enough that what was written and
    /// what has left stay close.
    fn keep_the_backlog_short(&self) {
        let cwnd = self.connection.congestion().control.cwnd.get();
        let wanted = cwnd.saturating_mul(2).max(LEAST_UNACKED);
        self.connection
            .set_send_window(wanted.min(self.most_unacked));
    }
}

/// Takes as many streams as were agreed and reads each to its end.
async fn receive_all(connection: Connection, counters: Arc<Counters>) {
    let mut streams = JoinSet::new();
    for _ in 0..counters.received.len() {
        let Ok(stream) = connection.accept_uni().await else {
            return;
        };
        streams.spawn(receive(stream, Arc::clone(&counters)));
    }
    while streams.join_next().await.is_some() {}
}

async fn receive(mut stream: RecvStream, counters: Arc<Counters>) -> Result<(), ReadError> {
    let index = index_of(stream.id());
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
        let Some(counter) = counters.received.get(index) else {
            return Ok(());
        };
        counter.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        counters.first_byte.notify_one();
    }
    Ok(())
}

/// Which of its side's streams of payload this is, from 0: both sides count alike.
fn index_of(stream: StreamId) -> usize {
    usize::try_from(stream.index()).unwrap_or(usize::MAX)
}

/// Bytes that no link compresses, the same in every run.
pub(crate) fn payload(length: units::Bytes) -> Bytes {
    let mut rng = units::Rng::new(0);
    let length = usize::try_from(length.get()).expect("at most the longest block");
    let words = std::iter::repeat_with(|| rng.next_u64().to_le_bytes());
    words.flatten().take(length).collect()
}

/// Two blocks of the usual length, and what a fast machine sends between two turns of a task.
const LEAST_UNACKED: u64 = 1 << 20;
