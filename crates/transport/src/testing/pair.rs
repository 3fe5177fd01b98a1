use super::application::Load;
use super::engine::PlainQuinn;
use super::watch::Departure;
use super::world::{ConnectError, ConnectionPlan, Ends, World};
use crate::config::TransportConfig;
use crate::path_memory::PathMemory;
use crate::stats::ConnectionStats;
use cc_core::{ControllerChoice, Observer, Snapshot};
use link_sim::sim::LinkId;
use link_sim::{LinkSpec, LinkStats, SpecError};
use quinn_proto::{ConnectionError, Side};
use std::net::SocketAddr;
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// Two endpoints and what lies between them.
#[derive(Debug, Clone, Default)]
pub struct PairConfig {
    /// From the client to the server.
    pub link: LinkSpec,
    /// From the server to the client.
    pub return_link: LinkSpec,
    /// The client's transport.
    pub client: TransportConfig,
    /// The server's transport.
    pub server: TransportConfig,
    /// Has both ends run quinn-proto alone, under this controller; those of `client` and `server`
    /// are not used.
    pub plain: Option<PlainQuinn>,
    /// Spares both ends the encryption of packets, see [`World::unencrypted`].
    pub is_unencrypted: bool,
    /// Of all randomness in links, endpoints and controllers.
    pub seed: u64,
}

/// A [`World`] of one connection, over one link each way.
#[derive(Debug)]
pub struct Pair {
    world: World,
    ends: Ends,
    link: LinkId,
    return_link: LinkId,
}

impl Pair {
    /// The two endpoints at virtual time zero, not connected yet.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub fn new(config: &PairConfig) -> Result<Self, SpecError> {
        let mut world = World::new(config.seed);
        if config.is_unencrypted {
            world = world.unencrypted();
        }
        let (link, return_link) = world.add_links(&config.link, &config.return_link)?;
        let ends = world.add_connection(&ConnectionPlan {
            there: vec![link],
            back: vec![return_link],
            client: config.client.clone(),
            server: config.server.clone(),
            plain: config.plain.clone(),
            ..ConnectionPlan::default()
        });
        Ok(Self {
            world,
            ends,
            link,
            return_link,
        })
    }

    /// See [`World::run_until_connected`].
    ///
    /// # Errors
    /// When `limit` is over, or the connection, before that.
    pub fn connect(&mut self, limit: Duration) -> Result<(), ConnectError> {
        self.world.run_until_connected(self.ends, limit)
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// See [`World::send`].
    ///
    /// # Panics
    /// Before the handshake is finished, and when the peer allows no more streams.
    pub fn send(&mut self, side: Side, load: Load) {
        self.world.send(self.ends.of(side), load);
    }

    /// See [`World::close`].
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived.
    pub fn close(&mut self, side: Side) {
        self.world.close(self.ends.of(side));
    }

    /// See [`World::move_client`].
    pub fn move_client(&mut self, address: SocketAddr) {
        self.world.move_client(self.ends, address);
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.world.run_for(time);
    }

    /// See [`World::run_until_received`].
    pub fn run_until_received(&mut self, side: Side, bytes: Bytes, limit: Duration) -> bool {
        self.world
            .run_until_received(self.ends.of(side), bytes, limit)
    }

    /// See [`World::sent_by_stream`].
    pub fn sent_by_stream(&self, side: Side) -> Vec<Bytes> {
        self.world.sent_by_stream(self.ends.of(side))
    }

    /// Bytes of the application's data that `side` has received.
    pub fn received(&self, side: Side) -> Bytes {
        self.world.received(self.ends.of(side))
    }

    /// Counters and estimates of `side`'s connection.
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived, and on plain quinn-proto.
    pub fn stats(&self, side: Side) -> ConnectionStats {
        self.world.stats(self.ends.of(side))
    }

    /// quinn-proto's own counters for `side`'s connection, plain or not.
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived.
    pub fn proto_stats(&mut self, side: Side) -> quinn_proto::ConnectionStats {
        self.world.proto_stats(self.ends.of(side))
    }

    /// The state of `side`'s controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn congestion(&self, side: Side) -> Snapshot {
        self.world.congestion(self.ends.of(side))
    }

    /// What a later connection of `side` may resume from.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn path_memory(&self, side: Side) -> Option<PathMemory> {
        self.world.path_memory(self.ends.of(side))
    }

    /// Has `side` go on under another controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_congestion(&mut self, side: Side, choice: &ControllerChoice) {
        self.world.set_congestion(self.ends.of(side), choice);
    }

    /// See [`World::read_slowly`].
    pub fn read_slowly(&mut self, side: Side, rate: Bandwidth) {
        self.world.read_slowly(self.ends.of(side), rate);
    }

    /// See [`World::set_max_rate`].
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_max_rate(&mut self, side: Side, rate: Option<Bandwidth>) {
        self.world.set_max_rate(self.ends.of(side), rate);
    }

    /// See [`World::set_observer`].
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_observer(&mut self, side: Side, observer: Box<dyn Observer + Send>) {
        self.world.set_observer(self.ends.of(side), observer);
    }

    /// See [`World::watch_departures`].
    pub fn watch_departures(&mut self, side: Side, watch: impl FnMut(&Departure) + 'static) {
        self.world.watch_departures(self.ends.of(side), watch);
    }

    /// How often `side` woke up because its pacer had tokens again.
    pub fn pacer_wakeups(&self, side: Side) -> u64 {
        self.world.pacer_wakeups(self.ends.of(side))
    }

    /// Why `side`'s connection ended, if it did.
    pub fn error(&self, side: Side) -> Option<&ConnectionError> {
        self.world.error(self.ends.of(side))
    }

    /// What the link that carries `side`'s packets did so far.
    pub fn link_stats(&self, side: Side) -> &LinkStats {
        self.world.link_stats(match side {
            Side::Client => self.link,
            Side::Server => self.return_link,
        })
    }
}
