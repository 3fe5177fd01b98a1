//! What the handle of a relay asks of its thread.
//!
//! The thread owns everything and is asked between two turns: nobody else holds a lock that it
//! would wait for when something is due.

use super::config::Direction;
use super::stats::RelayStats;
use crate::spec::{LinkSpec, SpecError};
use core::time::Duration;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

/// One request, and where its answer goes.
#[derive(Debug)]
pub(super) enum Request {
    Stats(SyncSender<Snapshot>),
    Reconfigure(
        Direction,
        Box<LinkSpec>,
        SyncSender<Result<Duration, SpecError>>,
    ),
}

/// Figures, but for what the kernel dropped at these addresses.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) stats: RelayStats,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Both ends of the line to a thread.
pub(super) fn line() -> io::Result<(Asker, Desk)> {
    let (rung, bell) = io::pipe()?;
    let (requests, received) = mpsc::channel();
    Ok((Asker { requests, bell }, Desk { received, rung }))
}

/// The handle's end.
#[derive(Debug)]
pub(super) struct Asker {
    requests: Sender<Request>,
    /// A byte in it wakes the thread.
    bell: PipeWriter,
}

impl Asker {
    /// Waits for the answer; `None` when the thread has ended.
    pub(super) fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> Request) -> Option<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.requests.send(request(answer)).ok()?;
        (&self.bell).write_all(&[0]).ok()?;
        answered.recv().ok()
    }
}

/// The thread's end.
#[derive(Debug)]
pub(super) struct Desk {
    received: Receiver<Request>,
    /// Readable when there are requests.
    pub(super) rung: PipeReader,
}

impl Desk {
    /// The next request. To be called until there is none, after `rung` became readable.
    pub(super) fn next(&self) -> Option<Request> {
        self.received.try_recv().ok()
    }

    /// Makes `rung` unreadable until the next request. It must be readable now, or this waits.
    pub(super) fn silence(&self) -> io::Result<()> {
        (&self.rung).read(&mut [0; 64]).map(|_| ())
    }
}
