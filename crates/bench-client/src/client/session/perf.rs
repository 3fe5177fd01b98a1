//! A run against a server that speaks `perf`, of whichever stack.
//!
//! Such a server knows no plan and reports nothing. What it has received is what it has read to the
//! end and answered; what it has sent is what has arrived.

use super::super::progress::INTERRUPTED;
use super::super::record::Record;
use super::state::Session;
use bench_kit::clock;
use bench_kit::counters::Counters;
use bench_kit::perf::{SUCCESS, UNLIMITED};
use bench_kit::plan::{Limit, Plan};
use bench_kit::role::Role;
use bench_kit::sample::Sample;
use bench_kit::transfer::{Transfer, payload};
use bytes::Bytes;
use paceline::{Connection, RecvStream, SendStream, VarInt};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use units::Bandwidth;

impl Session<'_> {
    /// Carries out this connection's part of the plan.
    pub(super) async fn perf(&self, record: &RefCell<Record<'_>>) {
        let role = Role::of_client(self.plan);
        // The streams end by themselves when the plan says so, and the run with them.
        let endless = Plan {
            limit: Limit::Bytes(u64::MAX),
            ..self.plan.clone()
        };
        let mut transfer = Transfer::with(self.connection, &endless, role, |tasks, counters| {
            spawn(self.connection, self.plan, role, counters, tasks);
        });
        let report = transfer
            .run(
                &self.setup.controllers.client,
                self.stop_of_perf(),
                |sample| {
                    let mut record = record.borrow_mut();
                    record.client(self.flow, &sample);
                    record.server(self.flow, vec![mirrored(sample)]);
                },
            )
            .await;
        if let Some(error) = &report.error {
            self.fail(error);
        }
        record.borrow_mut().finish(self.flow, &report);
    }

    async fn stop_of_perf(&self) -> Option<String> {
        Some(tokio::select! {
            biased;
            () = self.interrupts.wait(1) => INTERRUPTED.to_owned(),
            error = self.others() => error,
            error = self.connection.closed() => self.lost(&error),
        })
    }
}

/// What the other side must have seen.
fn mirrored(sample: Sample) -> Sample {
    Sample {
        sent: sample.received,
        received: sample.sent,
        sending: None,
        ..sample
    }
}

/// Starts a task for each stream.
fn spawn(
    connection: &Connection,
    plan: &Plan,
    role: Role,
    counters: &Arc<Counters>,
    tasks: &mut JoinSet<Result<(), String>>,
) {
    let until = match plan.limit {
        Limit::Time(time) => Some(plan.omit.saturating_add(time)),
        Limit::Bytes(_) => None,
    };
    let shares = plan.shares(plan.streams);
    for (index, share) in shares.iter().enumerate() {
        let stream = Stream {
            connection: connection.clone(),
            counters: Arc::clone(counters),
            index,
            bytes: match share.limit {
                Limit::Bytes(bytes) => bytes,
                Limit::Time(_) => UNLIMITED,
            },
            until,
        };
        if role.sends {
            let (block, rate) = (plan.block(), plan.rate.map(Bandwidth::from_bits_per_sec));
            tasks.spawn(stream.clone().send(payload(block), rate));
        }
        if role.receives {
            tasks.spawn(stream.receive());
        }
    }
}

/// One stream, that sends or that receives.
#[derive(Clone)]
struct Stream {
    connection: Connection,
    counters: Arc<Counters>,
    index: usize,
    /// How much it moves at most.
    bytes: u64,
    /// How long it moves at most.
    until: Option<Duration>,
}

impl Stream {
    async fn open(&self, answer: u64) -> Result<(SendStream, RecvStream), String> {
        let opened = self.connection.open_bi().await;
        let (mut send, receive) = opened.map_err(|error| broke(&error))?;
        let written = send.write_all(&answer.to_be_bytes()).await;
        written.map_err(|error| broke(&error))?;
        Ok((send, receive))
    }

    /// Sends, and waits until the server has read everything, which its own end of the stream says.
    async fn send(self, block: Bytes, rate: Option<Bandwidth>) -> Result<(), String> {
        let (mut send, mut receive) = self.open(0).await?;
        let mut due = Instant::from_std(clock::now());
        let end = end(self.until);
        let mut left = self.bytes;
        while left > 0 {
            let length = left.min(block.len() as u64) as usize;
            let mut chunks = [block.slice(..length)];
            let written = tokio::select! {
                biased;
                () = end.reached() => break,
                written = send.write_chunks(&mut chunks) => written,
            };
            let written = written.map_err(|error| broke(&error))?.bytes as u64;
            self.counters.sent[self.index].fetch_add(written, Ordering::Relaxed);
            if self.bytes != UNLIMITED {
                left -= written;
            }
            if let Some(rate) = rate {
                due += units::Bytes::new(written) / rate;
                tokio::select! {
                    biased;
                    () = end.reached() => break,
                    () = sleep_until(due) => {}
                }
            }
        }
        send.finish().map_err(|error| broke(&error))?;
        match receive.read_chunk(1, true).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(broken("unrequested data")),
            Err(error) => Err(broke(&error)),
        }
    }

    /// Asks for an answer and takes as much of it as is wanted. Time begins with its first byte.
    async fn receive(self) -> Result<(), String> {
        let (mut send, mut receive) = self.open(self.bytes).await?;
        send.finish().map_err(|error| broke(&error))?;
        let mut received = 0_u64;
        let mut end = End(None);
        loop {
            let chunk = tokio::select! {
                biased;
                () = end.reached() => {
                    let _ = receive.stop(VarInt::from_u32(SUCCESS));
                    return Ok(());
                }
                chunk = receive.read_chunk(usize::MAX, true) => chunk,
            };
            match chunk.map_err(|error| broke(&error))? {
                Some(chunk) => {
                    if received == 0 {
                        end = self::end(self.until);
                    }
                    received += chunk.bytes.len() as u64;
                    self.counters.receive(self.index, chunk.bytes.len());
                }
                None if received == self.bytes => return Ok(()),
                None => return Err(broken(&format!("response of only {received} bytes"))),
            }
        }
    }
}

fn broken(what: &str) -> String {
    format!("protocol error by the server (perf): {what}")
}

fn broke(error: &dyn fmt::Display) -> String {
    format!("stream failed: {error}")
}

/// When a stream has moved for long enough.
struct End(Option<Instant>);

fn end(after: Option<Duration>) -> End {
    End(after.map(|after| Instant::from_std(clock::now()) + after))
}

impl End {
    async fn reached(&self) {
        match self.0 {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }
}
