//! Links in real time: UDP in, a link, UDP out, without any privilege.
//!
//! ```text
//!  clients ──▶ listening socket ──▶ link ────────▶ one socket per client ──▶ server
//!          ◀──                  ◀── return link ◀──                      ◀──
//! ```
//!
//! All clients share the one link and the one return link, as users of one access line do. Every
//! datagram meets the link by itself, however the kernel batched it, and keeps its ECN codepoint.
//!
//! A relay is one thread with one event loop. It sleeps with nanosecond timeouts; how late
//! datagrams nevertheless left is in [`RelayStats::lateness`], because a link on a machine that
//! cannot keep up is another link.

mod batch;
mod clients;
mod engine;
mod event_loop;
mod kernel_drops;
mod port;

#[cfg(test)]
mod tests;

use crate::realtime::Worker;
use crate::{Lateness, LinkSpec, LinkStats, SpecError};
use core::fmt;
use engine::Engine;
use kernel_drops::kernel_drops;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a relay connects and how.
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// Where clients send to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server that they reach.
    pub to: SocketAddr,
    /// From the clients to the server.
    pub link: LinkSpec,
    /// From the server to the clients.
    pub return_link: LinkSpec,
    /// For both links, which draw different numbers from it.
    pub seed: u64,
}

/// Starts relays.
#[derive(Debug)]
pub struct Relay;

impl Relay {
    /// Opens the listening socket and starts the relay's thread.
    ///
    /// # Errors
    /// When the address cannot be listened on, the thread cannot be started, or (as
    /// [`io::ErrorKind::InvalidInput`], around a [`SpecError`]) a queue in `bdp` has no delay.
    pub fn spawn(config: RelayConfig) -> io::Result<RelayHandle> {
        let base_rtt = config
            .link
            .base_rtt(&config.return_link)
            .map_err(|error: SpecError| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let engine = Engine::new(&config, base_rtt)?;
        let local_addr = engine.local_addr()?;
        let engine = Arc::new(Mutex::new(engine));
        let running = Arc::clone(&engine);
        let worker = Worker::spawn("link-relay", move |stopped| {
            event_loop::run(&running, &stopped)
        })?;
        Ok(RelayHandle {
            engine,
            local_addr,
            worker,
        })
    }
}

/// A running relay; dropping it ends it.
pub struct RelayHandle {
    engine: Arc<Mutex<Engine>>,
    local_addr: SocketAddr,
    worker: Worker,
}

impl RelayHandle {
    /// Where clients send to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// What it did so far.
    pub fn stats(&self) -> RelayStats {
        let (stats, addresses) = {
            let engine = self.engine();
            (engine.stats(), engine.local_addrs())
        };
        let kernel_dropped = kernel_drops(&addresses);
        RelayStats {
            kernel_dropped,
            ..stats
        }
    }

    /// Whether its event loop still runs; it ends by itself only when the kernel refuses to wait.
    pub fn is_running(&self) -> bool {
        self.worker.is_running()
    }

    /// Ends it. What is on the links is lost.
    ///
    /// # Errors
    /// The error that had ended the relay before.
    ///
    /// # Panics
    /// When the relay's thread had.
    pub fn shutdown(mut self) -> io::Result<RelayStats> {
        self.worker.stop()?;
        Ok(self.stats())
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        // A panic is reported by `shutdown`; the figures until then are still true.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RelayHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayHandle")
            .field("local_addr", &self.local_addr)
            .finish_non_exhaustive()
    }
}

/// What a relay did since it was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RelayStats {
    /// From the clients to the server.
    pub link: LinkStats,
    /// From the server to the clients.
    pub return_link: LinkStats,
    /// How much later than its link said each datagram was sent, both directions together.
    pub lateness: Lateness,
    /// Clients that have a socket towards the server now.
    pub clients: usize,
    /// Datagrams that met no link, because there were too many clients.
    pub refused: u64,
    /// Datagrams that the kernel would not send.
    pub unsent: u64,
    /// Datagrams that the kernel dropped because this process did not read its sockets in time;
    /// `None` where it does not tell.
    pub kernel_dropped: Option<u64>,
}

impl RelayStats {
    /// Whether more than one datagram in a thousand was late or the kernel dropped any: the links
    /// were not quite those that were asked for.
    pub fn fell_behind(&self) -> bool {
        self.lateness.is_considerable() || self.kernel_dropped.is_some_and(|n| n > 0)
    }
}
