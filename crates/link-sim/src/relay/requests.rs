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
pub(super) fn channel() -> io::Result<(RequestSender, RequestReceiver)> {
    let (wake, waker) = io::pipe()?;
    let (requests, received) = mpsc::channel();
    Ok((
        RequestSender { requests, waker },
        RequestReceiver { received, wake },
    ))
}

/// The handle's end.
#[derive(Debug)]
pub(super) struct RequestSender {
    requests: Sender<Request>,
    waker: PipeWriter,
}

impl RequestSender {
    /// Waits for the answer; `None` when the thread has ended.
    pub(super) fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> Request) -> Option<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.requests.send(request(answer)).ok()?;
        (&self.waker).write_all(&[0]).ok()?;
        answered.recv().ok()
    }
}

/// The thread's end.
#[derive(Debug)]
pub(super) struct RequestReceiver {
    received: Receiver<Request>,
    /// Readable when there are requests.
    pub(super) wake: PipeReader,
}

impl RequestReceiver {
    /// The next request. To be called until there is none, after `wake` became readable.
    pub(super) fn next(&self) -> Option<Request> {
        self.received.try_recv().ok()
    }

    /// Makes `wake` unreadable until the next request. It must be readable now, or this waits.
    pub(super) fn clear_wake(&self) -> io::Result<()> {
        (&self.wake).read(&mut [0; 64]).map(|_| ())
    }
}
