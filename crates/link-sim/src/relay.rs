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
//! Links can be made others while it runs ([`RelayHandle::reconfigure`]), and what is carried can
//! be written down on both sides ([`CaptureConfig`]).
//!
//! A relay is one thread with one event loop. It sleeps with nanosecond timeouts; how late
//! datagrams nevertheless left is in [`RelayStats::lateness`], because a link on a machine that
//! cannot keep up is another link.

mod batch_socket;
mod capture;
mod clients;
mod config;
mod datagram;
mod engine;
mod event_loop;
mod kernel_drops;
mod poller;
mod pool;
mod refusal;
mod requests;
mod send_batch;
mod stats;

#[cfg(test)]
mod tests;

pub use capture::{CaptureConfig, CaptureStats};
pub use config::{Direction, RelayConfig};
pub use refusal::{explain_bind, explain_refusal};
pub use stats::RelayStats;

use crate::realtime::Worker;
use crate::spec::{LinkSpec, SpecError};
use core::fmt;
use core::time::Duration;
use engine::Engine;
pub use kernel_drops::kernel_drops;
use poller::Poller;
use requests::{Request, RequestSender, Snapshot};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// Starts relays.
#[derive(Debug)]
pub struct Relay;

impl Relay {
    /// Opens the listening socket and starts the relay's thread.
    ///
    /// # Errors
    /// When the address cannot be listened on, a file of the capture cannot be written, the
    /// thread cannot be started, or (as [`io::ErrorKind::InvalidInput`], around a [`SpecError`])
    /// a queue in `bdp` has no delay.
    pub fn spawn(config: RelayConfig) -> io::Result<RelayHandle> {
        let base_rtt = config.link.base_rtt(&config.return_link);
        let base_rtt = base_rtt.map_err(invalid)?;
        Self::start(&config, base_rtt).map_err(explain_refusal)
    }

    fn start(config: &RelayConfig, base_rtt: Duration) -> io::Result<RelayHandle> {
        let mut poller = Poller::new()?;
        let engine = Engine::new(config, base_rtt, &mut poller)?;
        let local_addr = engine.listen_addr();
        let (requests, received) = requests::channel()?;
        let ended = Arc::new(OnceLock::new());
        let figures = Arc::clone(&ended);
        let worker = Worker::spawn("link-relay", move |stopped| {
            event_loop::run(engine, poller, &received, &stopped, &figures)
        })?;
        Ok(RelayHandle {
            local_addr,
            requests,
            ended,
            worker,
        })
    }
}

/// A running relay; dropping it ends it.
pub struct RelayHandle {
    local_addr: SocketAddr,
    requests: RequestSender,
    ended: Arc<OnceLock<RelayStats>>,
    worker: Worker,
}

impl RelayHandle {
    /// Where clients send to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// What it did so far.
    pub fn stats(&self) -> RelayStats {
        match self.requests.ask(Request::Stats) {
            Some(Snapshot { stats, addresses }) => RelayStats {
                kernel_dropped: kernel_drops(&addresses),
                ..stats
            },
            // After a panic, which `shutdown` passes on, there are none.
            None => self.ended.get().cloned().unwrap_or_default(),
        }
    }

    /// Makes one link the one that `spec` describes, for packets that come or begin their
    /// transmission from now on; see [`Link::reconfigure`](crate::Link::reconfigure). Answers how
    /// long after the relay's begin that was.
    ///
    /// The other link stays as it is, and so does its queue where it was given in `bdp`.
    ///
    /// # Errors
    /// As [`io::ErrorKind::InvalidInput`], around a [`SpecError`], when a queue in `bdp` has no
    /// delay; then nothing changes. [`io::ErrorKind::NotConnected`] when the relay has ended.
    pub fn reconfigure(&self, direction: Direction, spec: LinkSpec) -> io::Result<Duration> {
        let changed = self
            .requests
            .ask(|answer| Request::Reconfigure(direction, Box::new(spec), answer));
        match changed {
            Some(changed) => changed.map_err(invalid),
            None => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the relay has ended",
            )),
        }
    }

    /// Whether its event loop still runs; it ends by itself only when the kernel refuses to wait.
    pub fn is_running(&self) -> bool {
        self.worker.is_running()
    }

    /// Ends it, and writes what there is to write of a capture. What is on the links is lost.
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
}

impl fmt::Debug for RelayHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayHandle")
            .field("local_addr", &self.local_addr)
            .finish_non_exhaustive()
    }
}

fn invalid(error: SpecError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}
