//! Who waits for a connection, and who is woken once its lock is free again.

use std::sync::Arc;
use std::task::Waker;
use tokio::sync::Notify;

/// What any number of tasks may wait for.
///
/// A task takes its `notified()` under the connection's lock after it has found nothing, and the
/// events happen under that lock, so none is missed.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) handshake_data: Notify,
    /// The peer allows more streams, by direction.
    pub(crate) available: [Notify; 2],
    /// The peer has opened a stream, by direction.
    pub(crate) incoming: [Notify; 2],
    pub(crate) datagram_received: Notify,
    pub(crate) datagrams_unblocked: Notify,
    pub(crate) closed: Notify,
}

/// Wake-ups collected under the lock.
///
/// A task woken under the lock would run into it on another thread.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    wakers: Vec<Waker>,
    notifies: Vec<Arc<Notify>>,
    pub(crate) handshake_data: bool,
    pub(crate) available: [bool; 2],
    pub(crate) incoming: [bool; 2],
    pub(crate) datagram_received: bool,
    pub(crate) datagrams_unblocked: bool,
    closed: bool,
}

impl Wakeups {
    pub(crate) fn add(&mut self, waker: Option<Waker>) {
        self.wakers.extend(waker);
    }

    pub(crate) fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.wakers.extend(wakers);
    }

    pub(crate) fn notify(&mut self, notifies: impl IntoIterator<Item = Arc<Notify>>) {
        self.notifies.extend(notifies);
    }

    /// The connection is over: all who wait for anything.
    pub(crate) fn everyone(&mut self) {
        self.handshake_data = true;
        self.available = [true; 2];
        self.incoming = [true; 2];
        self.datagram_received = true;
        self.datagrams_unblocked = true;
        self.closed = true;
    }

    /// Wakes them. To be called without the lock.
    pub(crate) fn fire(&mut self, signals: &Signals) {
        self.wakers.drain(..).for_each(Waker::wake);
        self.notifies
            .drain(..)
            .for_each(|notify| notify.notify_waiters());
        let flagged = [
            (&mut self.handshake_data, &signals.handshake_data),
            (&mut self.datagram_received, &signals.datagram_received),
            (&mut self.datagrams_unblocked, &signals.datagrams_unblocked),
            (&mut self.closed, &signals.closed),
        ];
        let available = self.available.iter_mut().zip(&signals.available);
        let incoming = self.incoming.iter_mut().zip(&signals.incoming);
        for (flag, signal) in flagged.into_iter().chain(available).chain(incoming) {
            if std::mem::take(flag) {
                signal.notify_waiters();
            }
        }
    }
}
