//! What an endpoint's handles and its task share.

use super::table::Table;
use crate::clock;
use crate::config::ServerConfig;
use crate::connection::{Connecting, Shared, WorkQueue};
use crate::lock::{Guard, Lock, Locked, Rank};
use crate::shard_routing::Membership;
use crate::socket::Socket;
use crate::timer::Lateness;
use crate::user_code;
use quinn_proto::{
    ConnectionError, EndpointEvent, Event, Transmit, TransportError, TransportErrorCode,
};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// A handle to an endpoint: the application's, or that of an attempt it has not decided on.
#[derive(Debug, Clone)]
pub(super) struct EndpointLease(Arc<LastHandle>);

#[derive(Debug)]
struct LastHandle(Arc<Inner>);

impl EndpointLease {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self(Arc::new(LastHandle(inner)))
    }

    /// For who is to keep neither the endpoint's task nor its connections going.
    #[cfg(feature = "metrics")]
    pub(super) fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.0.0)
    }

    pub(super) fn accept(
        &self,
        attempt: quinn_proto::Incoming,
        config: &ServerConfig,
    ) -> Result<Connecting, ConnectionError> {
        let mut table = self.table();
        if table.is_lost {
            table.proto.ignore(attempt);
            return Err(task_has_ended());
        }
        let now = clock::now();
        let (config, mut driver) = config.for_connection();
        driver.is_validated = attempt.remote_address_validated();
        let mut answer = Vec::new();
        match table.proto.accept(attempt, now, &mut answer, Some(config)) {
            Ok((handle, mut conn)) => {
                if let Some(reason) = closed_by_its_first_packet(&mut conn) {
                    table.proto.handle_event(handle, EndpointEvent::drained());
                    return Err(reason);
                }
                table.stats.accepted_handshakes += 1;
                let lease = table.insert(handle, conn, driver, now);
                let closed = table.closed.clone();
                drop(table);
                if let Some((code, reason)) = closed {
                    lease.close(code, reason);
                }
                Ok(Connecting::new(lease))
            }
            Err(error) => {
                drop(table);
                if let Some(transmit) = error.response {
                    self.answer(&transmit, &answer);
                }
                Err(error.cause)
            }
        }
    }

    pub(super) fn refuse(&self, attempt: quinn_proto::Incoming) {
        let mut answer = Vec::new();
        let transmit = {
            let mut table = self.table();
            table.stats.refused_handshakes += 1;
            table.proto.refuse(attempt, &mut answer)
        };
        self.answer(&transmit, &answer);
    }

    pub(super) fn retry(
        &self,
        attempt: quinn_proto::Incoming,
    ) -> Result<(), quinn_proto::RetryError> {
        let mut answer = Vec::new();
        let transmit = {
            let mut table = self.table();
            let transmit = table.proto.retry(attempt, &mut answer)?;
            table.stats.retries_sent += 1;
            transmit
        };
        self.answer(&transmit, &answer);
        Ok(())
    }

    pub(super) fn ignore(&self, attempt: quinn_proto::Incoming) {
        let mut table = self.table();
        table.stats.ignored_handshakes += 1;
        table.proto.ignore(attempt);
    }
}

impl Deref for EndpointLease {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0.0
    }
}

impl Drop for LastHandle {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Release);
        self.0.queue.wake();
    }
}

/// What the handles and the task share.
pub(super) struct Inner {
    pub(super) table: Lock<Table>,
    /// The task has a handle of its own, and takes this one when `rebinds` has changed.
    pub(super) socket: Lock<Arc<Socket>>,
    pub(super) rebinds: AtomicU64,
    /// Among the shards of a [`ShardedServer`](crate::ShardedServer).
    pub(super) membership: Option<Membership>,
    pub(super) queue: Arc<WorkQueue<Shared>>,
    pub(super) lateness: Arc<Lateness>,
    /// Told when an attempt arrives, and when none will any more.
    pub(super) incoming: Notify,
    pub(super) idle: Notify,
    pub(super) is_abandoned: AtomicBool,
}

impl Locked for Table {
    const RANK: Rank = Rank::Table;
}

impl Locked for Arc<Socket> {
    const RANK: Rank = Rank::Socket;
}

impl Inner {
    /// # Panics
    /// In a congestion controller.
    pub(super) fn table(&self) -> Guard<'_, Table> {
        user_code::assert_unlocked();
        // After a panic under the lock, which would be our bug, connections are ended with the
        // task; that needs the lock once more.
        self.table.lock()
    }

    pub(super) fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.lock_socket())
    }

    pub(super) fn lock_socket(&self) -> Guard<'_, Arc<Socket>> {
        self.socket.lock()
    }

    /// Keeps an attempt for the application, if the application still takes some.
    pub(super) fn admit(
        &self,
        table: &mut Table,
        attempt: quinn_proto::Incoming,
        answer: &mut Vec<u8>,
    ) {
        if table.is_draining && attempt.may_retry() {
            table.stats.ignored_handshakes += 1;
            table.proto.ignore(attempt);
            return;
        }
        let is_closed = table.closed.is_some() || table.is_draining;
        let is_open = !is_closed && !self.is_abandoned.load(Ordering::Acquire);
        match table.server_config.clone().filter(|_| is_open) {
            Some(config) => {
                table.incoming.push_back((attempt, config));
                self.incoming.notify_waiters();
            }
            None => {
                table.stats.refused_handshakes += 1;
                let transmit = table.proto.refuse(attempt, answer);
                self.answer(&transmit, answer);
            }
        }
    }

    /// Sends a packet that belongs to no connection. If the socket is full it is lost, as it
    /// could be anywhere on its way.
    pub(super) fn answer(&self, transmit: &Transmit, contents: &[u8]) {
        self.socket()
            .send(transmit, &contents[..transmit.size], clock::now());
    }
}

/// The reason of a client that has closed meanwhile. quinn-proto sets no timer to forget such a
/// connection but the idle timeout.
fn closed_by_its_first_packet(conn: &mut quinn_proto::Connection) -> Option<ConnectionError> {
    if !conn.is_closed() {
        return None;
    }
    let mut events = std::iter::from_fn(|| conn.poll());
    events.find_map(|event| match event {
        Event::ConnectionLost { reason } => Some(reason),
        _ => None,
    })
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("socket", &self.socket())
            .finish_non_exhaustive()
    }
}

/// What becomes of connections whose endpoint can move nothing any more.
pub(super) fn task_has_ended() -> ConnectionError {
    ConnectionError::TransportError(TransportError {
        code: TransportErrorCode::INTERNAL_ERROR,
        frame: None,
        reason: "the endpoint's task has ended".to_owned(),
    })
}
