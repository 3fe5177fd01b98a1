//! What a sharded server is made of, and how its shards start.

use super::cid::ConnectionIds;
use super::server::{Figures, Shard, ShardedServer};
use super::sockets::{self, Sockets, Steering};
use super::worker::{Busy, Worker};
use crate::config::ServerConfig;
use crate::endpoint::{Endpoint, Incoming};
use crate::shard_routing::Membership;
use quinn_proto::{ConnectionIdGenerator, EndpointConfig};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use tokio::sync::watch;

/// A [`ShardedServer`] in the making.
#[derive(Debug, Clone)]
pub struct ShardedBuilder {
    config: ServerConfig,
    bind: SocketAddr,
    endpoint_config: EndpointConfig,
    shards: Option<usize>,
    connection_ids: Option<ConnectionIds>,
}

impl ShardedServer {
    /// A server in the making that accepts at the local address `bind`. An IPv6 address serves
    /// IPv4 clients, too, where the system allows.
    pub fn builder(config: ServerConfig, bind: SocketAddr) -> ShardedBuilder {
        ShardedBuilder::new(config, bind)
    }
}

impl ShardedBuilder {
    fn new(config: ServerConfig, bind: SocketAddr) -> Self {
        Self {
            config,
            bind,
            endpoint_config: EndpointConfig::default(),
            shards: None,
            connection_ids: None,
        }
    }

    /// How many shards, 1 to 256. Default: as many threads as can run at once
    /// ([`std::thread::available_parallelism`]). It will be one where the kernel cannot steer.
    pub fn shards(mut self, count: usize) -> Self {
        self.shards = Some(count);
        self
    }

    /// What all shards' endpoints have in common, but for the connection IDs.
    pub fn endpoint_config(mut self, config: EndpointConfig) -> Self {
        self.endpoint_config = config;
        self
    }

    /// Makes each shard's generator of connection IDs, from the shard's number. The IDs of all
    /// shards have one length, and **the last octet, modulo the number of shards, is the shard**.
    ///
    /// Default: eight octets, random otherwise.
    pub fn connection_ids(
        mut self,
        make: impl Fn(u8) -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
    ) -> Self {
        self.connection_ids = Some(ConnectionIds::new(make));
        self
    }

    /// Starts the shards. `handler` runs for each attempt on the thread of the shard that it came
    /// to, and its future stays there: it need not be `Send`, may use
    /// [`tokio::task::spawn_local`], and should not block, because that would stop the shard.
    ///
    /// Blocks until all threads run.
    ///
    /// # Errors
    /// When the address cannot be bound, a thread or its event loop cannot be had, or the number
    /// of shards or their connection IDs break the rules.
    pub fn serve<H, F>(self, handler: H) -> io::Result<ShardedServer>
    where
        H: Fn(Incoming) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let handler = Arc::new(handler);
        self.serve_each(move |_| {
            let handler = Arc::clone(&handler);
            move |attempt| handler(attempt)
        })
    }

    /// As [`serve`](Self::serve), with a handler for each shard, which `make` makes on the
    /// shard's thread from the shard's number: what it shares with no other shard needs no lock.
    ///
    /// # Errors
    /// As there.
    pub fn serve_each<M, H, F>(self, make: M) -> io::Result<ShardedServer>
    where
        M: Fn(usize) -> H + Send + Sync + 'static,
        H: Fn(Incoming) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let plan = self.plan()?;
        let make = Arc::new(make);
        let start = |(shard, worker)| {
            let make = Arc::clone(&make);
            Starting::spawn(shard, worker, move || make(shard))
        };
        let workers = plan.workers.into_iter().enumerate();
        let starting: Vec<_> = workers.map(start).collect();
        // All of them, so that those that serve can be ended if one does not.
        let started: Vec<_> = starting
            .into_iter()
            .map(|starting| starting.and_then(Starting::finish))
            .collect();
        let started: Vec<_> = started.into_iter().collect::<io::Result<_>>()?;
        let (shards, threads) = started.into_iter().unzip();
        Ok(ShardedServer {
            shards,
            threads,
            address: plan.address,
            steering: plan.steering,
            busy: plan.busy,
        })
    }

    fn plan(self) -> io::Result<Plan> {
        let wanted = self.count()?;
        let ids = self.connection_ids.clone();
        let ids = ids.unwrap_or_else(|| ConnectionIds::random(wanted));
        let cid_len = ids.check(wanted)?;
        let Sockets { sockets, steering } = sockets::bind(self.bind, wanted.into(), cid_len)?;
        let address = sockets[0].local_addr()?;
        let (busy, is_busy) = Busy::all(sockets.len());
        let memberships = Membership::group(sockets.len(), cid_len);
        let shards = sockets.into_iter().zip(memberships).zip(busy);
        let worker = |(number, ((socket, membership), busy))| Worker {
            config: self.config_of(&ids, number),
            server_config: self.config.clone(),
            socket,
            membership,
            figures: Arc::default(),
            busy,
        };
        Ok(Plan {
            workers: (0..=u8::MAX).zip(shards).map(worker).collect(),
            address,
            steering,
            busy: is_busy,
        })
    }

    fn count(&self) -> io::Result<u16> {
        let count = match self.shards {
            Some(count) => count,
            None => thread::available_parallelism().map_or(1, |count| count.get().min(MAX_SHARDS)),
        };
        match u16::try_from(count) {
            Ok(shards) if (1..=MAX_SHARDS).contains(&count) => Ok(shards),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{count} shards, expected 1 to {MAX_SHARDS}"),
            )),
        }
    }

    fn config_of(&self, ids: &ConnectionIds, shard: u8) -> EndpointConfig {
        let ids = ids.clone();
        let mut config = self.endpoint_config.clone();
        config.cid_generator(move || ids.make(shard));
        config
    }
}

struct Plan {
    workers: Vec<Worker>,
    address: SocketAddr,
    steering: Steering,
    busy: watch::Receiver<usize>,
}

struct Starting {
    thread: JoinHandle<()>,
    figures: Arc<Figures>,
    ready: Receiver<io::Result<Endpoint>>,
}

impl Starting {
    fn spawn<H, F>(
        shard: usize,
        worker: Worker,
        make: impl FnOnce() -> H + Send + 'static,
    ) -> io::Result<Self>
    where
        H: Fn(Incoming) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let figures = Arc::clone(&worker.figures);
        let (is_ready, ready) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name(format!("shard-{shard}"));
        Ok(Self {
            thread: thread.spawn(move || worker.run(make, is_ready))?,
            figures,
            ready,
        })
    }

    fn finish(self) -> io::Result<(Shard, JoinHandle<()>)> {
        let endpoint = self.ready.recv();
        let endpoint = endpoint.map_err(|_| io::Error::other("making a handler has panicked"))?;
        let shard = Shard {
            endpoint: endpoint?,
            figures: self.figures,
        };
        Ok((shard, self.thread))
    }
}

/// As many values as the last octet of a connection ID has.
const MAX_SHARDS: usize = 256;
