//! The server as the application has it.

use super::sockets::Steering;
use crate::config::ServerConfig;
use crate::endpoint::{Endpoint, EndpointStats};
use quinn_proto::VarInt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// A server that serves one address with several endpoints, its shards, each on a thread of its
/// own. A connection stays with its shard whatever address its packets come from: the shard is in
/// the connection IDs that it issues, and the kernel steers by them.
///
/// ```
/// use paceline::{Incoming, ShardedServer, VarInt, tls};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// async fn echo(attempt: Incoming) {
///     let Ok(connection) = attempt.await else { return };
///     while let Ok((mut send, mut recv)) = connection.accept_bi().await {
///         if tokio::io::copy(&mut recv, &mut send).await.is_ok() {
///             let _ = send.finish();
///         }
///     }
/// }
///
/// let certificate = tls::SelfSigned::generate(["localhost"])?;
/// let config = certificate.server().config()?;
/// let server = ShardedServer::builder(config, "127.0.0.1:0".parse()?).serve(echo)?;
/// println!("{} shards, steering: {:?}", server.shards(), server.steering());
///
/// server.drain();
/// server.join().await;
/// # Ok(())
/// # }
/// ```
///
/// Dropping it is as [`drain`](Self::drain): the shards go on until their connections have ended.
///
/// # What shards share
/// The configuration, so that the tokens and tickets which one shard gives out are good at every
/// other, and the key of stateless resets. Nothing else: limits such as
/// [`max_incoming`](ServerConfig::max_incoming) are each shard's.
#[derive(Debug)]
pub struct ShardedServer {
    pub(super) shards: Vec<Shard>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) address: SocketAddr,
    pub(super) steering: Steering,
    pub(super) busy: watch::Receiver<usize>,
}

/// One shard's figures.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ShardStats {
    /// Those of its endpoint.
    pub endpoint: EndpointStats,
    /// Connections that are open, closing ones among them.
    pub open_connections: usize,
    /// Handlers that have panicked. Each took its own connection along, if nobody else held it.
    pub handler_panics: u64,
    /// Whether it takes new connections: it has been neither drained nor closed, and its socket
    /// has not failed.
    pub is_accepting: bool,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) endpoint: Endpoint,
    pub(super) figures: Arc<Figures>,
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) handler_panics: AtomicU64,
    /// Those of them that were reported.
    #[cfg(feature = "metrics")]
    reported_panics: AtomicU64,
    pub(super) is_accepting: AtomicBool,
}

#[cfg(feature = "metrics")]
impl Figures {
    /// Handlers that have panicked since this was last called.
    pub(super) fn unreported_panics(&self) -> u64 {
        let panics = self.handler_panics.load(Ordering::Relaxed);
        // Who reports at the same time may have told of more.
        let reported = self.reported_panics.fetch_max(panics, Ordering::Relaxed);
        panics.saturating_sub(reported)
    }
}

impl ShardedServer {
    /// The local address of all shards.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// How packets reach their shard.
    pub fn steering(&self) -> Steering {
        self.steering
    }

    /// Each shard's figures at this moment.
    pub fn stats(&self) -> Vec<ShardStats> {
        self.shards.iter().map(Shard::stats).collect()
    }

    /// How many connections are open on all shards, closing ones among them.
    pub fn open_connections(&self) -> usize {
        self.endpoints().map(Endpoint::open_connections).sum()
    }

    /// Replaces the configuration for attempts that arrive from now on: another certificate, for
    /// example.
    pub fn set_server_config(&self, config: ServerConfig) {
        for endpoint in self.endpoints() {
            endpoint.set_server_config(Some(config.clone()));
        }
    }

    /// Most bytes by which the flow-control windows of all connections of one shard grow. See
    /// [`Endpoint::set_window_budget`]; default 1 GiB for each shard.
    pub fn set_window_budget(&self, bytes_per_shard: u64) {
        for endpoint in self.endpoints() {
            endpoint.set_window_budget(bytes_per_shard);
        }
    }

    /// Takes no new connections from now on; those that are open go on. See
    /// [`Endpoint::drain`].
    pub fn drain(&self) {
        self.endpoints().for_each(Endpoint::drain);
    }

    /// Closes all connections at once and accepts no more.
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        for endpoint in self.endpoints() {
            endpoint.close(code, reason);
        }
    }

    /// Waits until no shard has a connection, not even one that is closing. After
    /// [`drain`](Self::drain) or [`close`](Self::close) that stays so. It may be dropped at any
    /// time.
    pub async fn wait_idle(&self) {
        for endpoint in self.endpoints() {
            endpoint.wait_idle().await;
        }
    }

    /// Drains, waits until all connections and handlers have ended, and ends the threads.
    pub async fn join(mut self) {
        self.drain();
        // An error means that no shard is left.
        let _ = self.busy.wait_for(|busy| *busy == 0).await;
        for thread in self.threads {
            // A thread that has panicked, which would be our bug, has said so.
            let _ = thread.join();
        }
    }

    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.shards.iter().map(|shard| &shard.endpoint)
    }
}

impl Shard {
    fn stats(&self) -> ShardStats {
        ShardStats {
            endpoint: self.endpoint.stats(),
            open_connections: self.endpoint.open_connections(),
            handler_panics: self.figures.handler_panics.load(Ordering::Relaxed),
            is_accepting: self.figures.is_accepting.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.endpoint.drain();
    }
}
