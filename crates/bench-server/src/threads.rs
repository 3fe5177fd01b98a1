//! A server whose clients are spread over threads: one that holds up its thread holds up the
//! clients of that thread alone, and none of them the end of the program.

use crate::listening::{Listening, Logged, endpoint_config};
use crate::server::admit;
use crate::session::Session;
use crate::setup::{Log, ServerSetup};
use crate::shared::Shared;
use bench_kit::failure::Failure;
use bench_kit::wire::SHUTDOWN;
use paceline::{EndpointStats, Incoming, ShardedServer, VarInt};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// A server that listens on several threads.
pub(crate) struct ThreadedServer {
    server: Arc<ShardedServer>,
    fingerprint: Option<[u8; 32]>,
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    is_one_off: bool,
}

/// The clients of all threads.
#[derive(Debug)]
struct Sessions {
    logged: Option<Logged>,
    count: AtomicU64,
    progress: watch::Sender<Progress>,
    is_stopped: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    open: u32,
    has_run: bool,
}

impl ThreadedServer {
    /// Listens from now on, on `threads` threads, or on one where the kernel cannot tell which
    /// packet is whose.
    ///
    /// # Errors
    /// When the address is in use or not this machine's, the certificate does not fit its key, or a
    /// thread cannot be had.
    pub(crate) fn bind(mut setup: ServerSetup, log: Log, threads: usize) -> Result<Self, Failure> {
        let Listening {
            config,
            fingerprint,
            logged,
        } = Listening::of(&mut setup)?;
        let bind = setup.bind;
        // The sockets of a group share their address, also with those of another program.
        let free = UdpSocket::bind(bind).map_err(|error| Failure::cannot_listen(bind, error))?;
        drop(free);
        let sessions = Arc::new(Sessions {
            logged,
            count: AtomicU64::new(0),
            progress: watch::Sender::default(),
            is_stopped: watch::Sender::default(),
        });
        // Known once the address is.
        let shared: Arc<OnceLock<Arc<Shared>>> = Arc::default();
        let (of_all, known) = (Arc::clone(&sessions), Arc::clone(&shared));
        let server = ShardedServer::builder(config, bind)
            .shards(threads)
            .endpoint_config(endpoint_config())
            .serve(move |incoming| {
                let (sessions, shared) = (Arc::clone(&of_all), known.get().cloned());
                async move {
                    if let Some(shared) = shared {
                        sessions.serve(shared, incoming).await;
                    }
                }
            })
            .map_err(|error| Failure::cannot_listen(bind, error))?;
        // Clients and their windows are limited one by one, and a measurement by nothing else.
        server.set_window_budget(u64::MAX);
        let is_one_off = setup.is_one_off;
        let of_all = Arc::new(Shared::new(setup, server.local_addr(), log));
        Ok(Self {
            server: Arc::new(server),
            fingerprint,
            shared: Arc::clone(shared.get_or_init(|| of_all)),
            sessions,
            is_one_off,
        })
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// The SHA-256 fingerprint of the certificate that the server made itself.
    pub(crate) fn fingerprint(&self) -> Option<[u8; 32]> {
        self.fingerprint
    }

    /// Waits until `stop`, or until one run was made if that is wanted. Whatever runs then is ended
    /// cleanly, but for what is on a thread that does not answer.
    pub(crate) async fn wait(&self, stop: impl Future<Output = ()>) {
        let mut progress = self.sessions.progress.subscribe();
        // A run may have several connections.
        let is_done = |now: &Progress| self.is_one_off && now.has_run && now.open == 0;
        tokio::select! {
            biased;
            () = stop => {}
            _ = progress.wait_for(is_done) => {}
        }
        let (closed, is_closed) = oneshot::channel();
        let server = Arc::clone(&self.server);
        // A connection that holds its thread up may be locked.
        let closing = std::thread::Builder::new().name("close".into());
        let closing = closing.spawn(move || {
            server.close(VarInt::from_u32(SHUTDOWN), b"server stopped");
            let _ = closed.send(());
        });
        drop(closing);
        let is_closed = timeout(CLOSE_TIMEOUT, is_closed).await;
        self.sessions.is_stopped.send_replace(true);
        let is_over = progress.wait_for(|now| now.open == 0);
        let _ = timeout(CLOSE_TIMEOUT, is_over).await;
        self.shared.log_totals();
        // Until the closes have left; clients that do not get them notice by the silence. Where a
        // connection is locked, asking for them, or for what was counted, would block.
        if matches!(is_closed, Ok(Ok(()))) {
            self.log_shed();
            let _ = timeout(CLOSE_TIMEOUT, self.server.wait_idle()).await;
        }
    }
}

impl ThreadedServer {
    /// Tells of a flood of clients, if there was one.
    fn log_shed(&self) {
        let stats = self.server.stats();
        let sum = |count: fn(&EndpointStats) -> u64| -> u64 {
            stats.iter().map(|shard| count(&shard.endpoint)).sum()
        };
        let shed = sum(|stats| stats.initials_shed);
        let received = sum(|stats| stats.initials_received);
        self.shared.log_shed(shed, received);
    }
}

impl Sessions {
    async fn serve(&self, shared: Arc<Shared>, incoming: Incoming) {
        let Some((incoming, permit)) = admit(&shared, incoming) else {
            return;
        };
        let open = Open::new(&self.progress);
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let config = self.logged.as_ref();
        let config = config.and_then(|logged| logged.config(number));
        let session = Session::new(shared, number, permit);
        let mut is_stopped = self.is_stopped.subscribe();
        tokio::select! {
            biased;
            _ = is_stopped.wait_for(|is_stopped| *is_stopped) => {}
            has_run = session.serve(incoming, config) => open.end(has_run),
        }
    }
}

/// A session that goes on, until this is dropped.
struct Open<'a>(&'a watch::Sender<Progress>);

impl<'a> Open<'a> {
    fn new(progress: &'a watch::Sender<Progress>) -> Self {
        progress.send_modify(|progress| progress.open += 1);
        Self(progress)
    }

    fn end(self, has_run: bool) {
        self.0.send_modify(|progress| progress.has_run |= has_run);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|progress| progress.open -= 1);
    }
}

/// How long each part of the end may take: all of them less than
/// [`ANSWER`](bench_kit::interrupt::ANSWER).
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests;
