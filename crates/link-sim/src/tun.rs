//! Links in real time for whole hosts: IP packets in at one TUN device, a link, out at another.
//!
//! ```text
//!  client's TUN device ──▶ link ────────▶ server's TUN device
//!                      ◀── return link ◀──
//! ```
//!
//! Whatever a host sends crosses the links, kernel TCP included. A TUN device without offloads
//! hands over single packets of at most its MTU, so every packet meets the link by itself. Its
//! size is the IP packet's plus [`ETHERNET_OVERHEAD`], and its flow a hash of addresses, protocol
//! and ports. Congestion marks are written into the IP header, and a packet that the link has
//! damaged leaves with its last bit flipped, for a checksum to notice.
//!
//! Each direction is a thread. How late packets left is in [`TunStats::lateness`]; the kernel says
//! nothing of when they came, so a packet's time is that of its reading, and those that may have
//! waited long until then are counted in [`TunStats::unread`].

mod direction;
mod ip;
mod unread;

#[cfg(test)]
mod tests;

use crate::link::link_seed;
use crate::realtime::{Lateness, Worker};
use crate::spec::{LinkSpec, SpecError};
use crate::stats::LinkStats;
use direction::Direction;
pub use ip::ETHERNET_OVERHEAD;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What lies between two TUN devices.
#[derive(Debug, Clone)]
pub struct TunConfig {
    /// From the client to the server.
    pub link: LinkSpec,
    /// From the server to the client.
    pub return_link: LinkSpec,
    /// For both links, which draw different numbers from it.
    pub seed: u64,
}

/// Carries packets between two TUN devices; dropping it ends that.
#[derive(Debug)]
pub struct TunRelay {
    to_server: DirectionWorker,
    to_client: DirectionWorker,
}

impl TunRelay {
    /// Starts carrying packets between two TUN devices without packet information (`IFF_NO_PI`)
    /// and offloads, whatever namespaces they are in.
    ///
    /// # Errors
    /// When the kernel has no thread or no pipe left, or (as [`io::ErrorKind::InvalidInput`],
    /// around a [`SpecError`]) a queue in `bdp` has no delay.
    pub fn spawn(config: &TunConfig, client: OwnedFd, server: OwnedFd) -> io::Result<Self> {
        let (link, return_link) = (&config.link, &config.return_link);
        let base_rtt = link
            .base_rtt(return_link)
            .map_err(|error: SpecError| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let (client, server) = (Arc::new(client), Arc::new(server));
        let direction = |link: &LinkSpec, number, from: &Arc<_>, to: &Arc<_>| {
            let link = link.build(base_rtt, link_seed(config.seed, number));
            Direction::new(link, Arc::clone(from), Arc::clone(to))
        };
        Ok(Self {
            to_server: DirectionWorker::spawn(
                "tun-to-server",
                direction(link, 0, &client, &server)?,
            )?,
            to_client: DirectionWorker::spawn(
                "tun-to-client",
                direction(return_link, 1, &server, &client)?,
            )?,
        })
    }

    /// What it did so far.
    pub fn stats(&self) -> TunStats {
        let (to_server, to_client) = (self.to_server.stats(), self.to_client.stats());
        let mut lateness = to_server.lateness;
        lateness.merge(&to_client.lateness);
        TunStats {
            link: to_server.link,
            return_link: to_client.link,
            lateness,
            unread: to_server.unread + to_client.unread,
            malformed: to_server.malformed + to_client.malformed,
            unsent: to_server.unsent + to_client.unsent,
        }
    }

    /// Whether both directions still work. One ends by itself only when its device is gone.
    pub fn is_running(&self) -> bool {
        self.to_server.worker.is_running() && self.to_client.worker.is_running()
    }

    /// Ends it. What is on the links is lost.
    ///
    /// # Errors
    /// The error that had ended one of its directions before.
    ///
    /// # Panics
    /// When one of its threads had.
    pub fn shutdown(mut self) -> io::Result<TunStats> {
        self.to_server.worker.stop()?;
        self.to_client.worker.stop()?;
        Ok(self.stats())
    }
}

/// What happened between two TUN devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TunStats {
    /// From the client to the server.
    pub link: LinkStats,
    /// From the server to the client.
    pub return_link: LinkStats,
    /// How much later than its link said each packet left, both directions together.
    pub lateness: Lateness,
    /// Packets that may have waited for more than 1 ms before they were read: so long had their
    /// device not been seen empty.
    pub unread: u64,
    /// Packets that met no link, because they were not IP or not of the length that they said.
    pub malformed: u64,
    /// Packets that the device at the far end did not take.
    pub unsent: u64,
}

#[derive(Debug)]
struct DirectionWorker {
    direction: Arc<Mutex<Direction>>,
    worker: Worker,
}

impl DirectionWorker {
    fn spawn(name: &str, direction: Direction) -> io::Result<Self> {
        let direction = Arc::new(Mutex::new(direction));
        let running = Arc::clone(&direction);
        let worker = Worker::spawn(name, move |stop| direction::run(&running, &stop))?;
        Ok(Self { direction, worker })
    }

    fn stats(&self) -> direction::Stats {
        self.direction().stats()
    }

    fn direction(&self) -> MutexGuard<'_, Direction> {
        // A panic is reported by `shutdown`; the figures until then are still true.
        self.direction
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
