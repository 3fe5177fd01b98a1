use super::application::Load;
use super::certificate::Certificate;
use super::engine::PlainQuinn;
use super::host::{Host, PendingConnect};
use super::plaintext;
use super::watch::{Datagram, Departure};
use crate::cc_adapter::{By, Fact};
use crate::config::{TransportConfig, ValidationTokenConfig};
use crate::crypto_provider::cipher_suite::TLS13_AES_128_GCM_SHA256;
use crate::path_memory::{PathMemory, PathStore};
use crate::stats::ConnectionStats;
use crate::{clock, tls};
use cc_core::{ControllerChoice, Observer, Snapshot};
use link_sim::sim::{LinkId, NodeId, RouteStats, Simulator};
use link_sim::{LinkSpec, LinkStats, SpecError};
use quinn_proto::{ConnectionError, Side};
use rustls::SupportedCipherSuite;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use units::{Bandwidth, Bytes, Rng, Timestamp};

/// Any number of connections in virtual time, over links that they share as they like.
#[derive(Debug)]
pub struct World {
    pub(super) sim: Simulator<Host>,
    certificate: Certificate,
    /// What protects packets; AES-128-GCM unless said.
    suite: SupportedCipherSuite,
    seed: u64,
    connections: u64,
}

/// A connection that is to be: its ways, its two transports, and what they send.
#[derive(Debug, Clone, Default)]
pub struct ConnectionPlan {
    /// The links from the client to the server, in order; at least one.
    pub there: Vec<LinkId>,
    /// The links from the server to the client, in order; at least one.
    pub back: Vec<LinkId>,
    /// The client's transport.
    pub client: TransportConfig,
    /// The server's transport.
    pub server: TransportConfig,
    /// When the client sends its first packet, since the world began; at once if that is over.
    pub start: Duration,
    /// What the client sends when its handshake is finished.
    pub client_load: Option<Load>,
    /// What the server sends when its handshake is finished.
    pub server_load: Option<Load>,
    /// Has both ends run quinn-proto alone, under this controller; those of `client` and `server`
    /// are not used.
    pub plain: Option<PlainQuinn>,
    /// The largest UDP payload that both ends take, at least 1,200 bytes; by default 1,472, as in
    /// quinn-proto. What they send is up to `client` and `server`.
    pub max_udp_payload_size: Option<u16>,
    /// Where the server keeps memories of paths. One is left when the application of that end
    /// [closes](World::close) the connection.
    pub server_store: Option<Arc<PathStore>>,
}

/// One end of a connection: an endpoint with this connection and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndId(pub(super) NodeId);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The end that opened the connection.
    pub client: EndId,
    /// The end that accepted it.
    pub server: EndId,
}

impl Ends {
    /// The end of this side.
    pub fn of(self, side: Side) -> EndId {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

impl World {
    /// Nothing yet, at virtual time zero. `seed` is that of all randomness in links, endpoints and
    /// controllers.
    pub fn new(seed: u64) -> Self {
        Self {
            sim: Simulator::new(seed),
            certificate: Certificate::generate(),
            suite: TLS13_AES_128_GCM_SHA256,
            seed,
            connections: 0,
        }
    }

    /// Has connections added from now on neither encrypt nor authenticate the packets that follow
    /// the first flight. Every packet has the same length and leaves and arrives at the same time
    /// as it does with encryption; it takes less work.
    #[must_use]
    pub fn unencrypted(self) -> Self {
        Self {
            suite: plaintext::suite(),
            ..self
        }
    }

    /// Adds a one-way link; `base_rtt` is for a queue in `bdp`, see [`LinkSpec::base_rtt`].
    pub fn add_link(&mut self, spec: &LinkSpec, base_rtt: Duration) -> LinkId {
        self.sim.add_link(spec, base_rtt)
    }

    /// Adds a link and the one back, which it returns in this order.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub fn add_links(
        &mut self,
        link: &LinkSpec,
        return_link: &LinkSpec,
    ) -> Result<(LinkId, LinkId), SpecError> {
        self.sim.add_links(link, return_link)
    }

    /// Makes a link another one from now on; what is inside stays.
    pub fn change_link(&mut self, id: LinkId, spec: &LinkSpec, base_rtt: Duration) {
        self.sim.reconfigure(id, spec, base_rtt);
    }

    /// Adds two endpoints that connect when `plan` says so. A connection added last changes
    /// nothing of the others before its start.
    ///
    /// # Panics
    /// When one of the ways has no link.
    pub fn add_connection(&mut self, plan: &ConnectionPlan) -> Ends {
        let rng = |end| Rng::derive(self.seed, ENDS + 2 * self.connections + end);
        let (mut client_rng, mut server_rng) = (rng(0), rng(1));
        self.connections += 1;
        let (mut connects, mut accepts) = (plan.client.clone(), plan.server.clone());
        connects.congestion_seed(client_rng.next_u64());
        accepts.congestion_seed(server_rng.next_u64());

        let Certificate { der, key } = &self.certificate;
        let mut config = tls::server(vec![der.clone()], key.clone_key())
            .suites(&[self.suite])
            .config()
            .expect("the key was made for the certificate");
        config.transport_config(Arc::new(accepts));
        config.path_store(plan.server_store.clone());
        // No client here comes back.
        let mut tokens = ValidationTokenConfig::default();
        config.validation_token_config(tokens.sent(0).clone());
        let plain = plan.plain.clone();
        let largest = plan.max_udp_payload_size;
        let rng = (server_rng, largest);
        let server = Host::server(config, plain.clone(), plan.server_load, rng);
        let server = self.sim.add_node(server);

        let mut config = tls::client_without_verification()
            .suites(&[self.suite])
            .config()
            .expect("no authorities that could be wrong");
        let transport = Arc::new(connects);
        config.transport_config(transport.clone());
        let pending = PendingConnect {
            config,
            transport,
            server,
            start: Timestamp::ZERO + plan.start,
        };
        let client = Host::client(pending, plain, plan.client_load, (client_rng, largest));
        let client = self.sim.add_node(client);

        self.sim.add_route(client, server, &plan.there);
        self.sim.add_route(server, client, &plan.back);
        let (client, server) = (EndId(client), EndId(server));
        Ends { client, server }
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.sim.now()
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.sim.run_until(self.sim.now() + time);
    }

    /// Lets virtual time pass until `time` after the world began; not at all if that is over.
    pub fn run_until(&mut self, time: Duration) {
        self.sim.run_until(Timestamp::ZERO + time);
    }

    /// Runs until both ends have finished the handshake.
    ///
    /// # Errors
    /// When `limit` is over, or the connection, before that.
    pub fn run_until_connected(&mut self, ends: Ends, limit: Duration) -> Result<(), ConnectError> {
        let end = self.sim.now() + limit;
        let lost = |sim: &Simulator<Host>| {
            let mut errors = [ends.client, ends.server].map(|end| sim.node(end.0).error().cloned());
            errors.iter_mut().find_map(Option::take)
        };
        let is_connecting = self.sim.run_while(end, |sim| {
            let is_connected = |end: EndId| sim.node(end.0).is_connected();
            lost(sim).is_none() && !(is_connected(ends.client) && is_connected(ends.server))
        });
        match lost(&self.sim) {
            Some(error) => Err(ConnectError::Lost(error)),
            None if is_connecting => Err(ConnectError::TimedOut(limit)),
            None => Ok(()),
        }
    }

    /// Runs until `end` has received `bytes` of the application's data in all, at most for
    /// `limit`. Whether it has.
    pub fn run_until_received(&mut self, end: EndId, bytes: Bytes, limit: Duration) -> bool {
        let until = self.sim.now() + limit;
        !self
            .sim
            .run_while(until, |sim| sim.node(end.0).received() < bytes)
    }

    /// Opens a stream from `end` and puts `load` on it from now on.
    ///
    /// # Panics
    /// Before the handshake is finished, and when the peer allows no more streams.
    pub fn send(&mut self, end: EndId, load: Load) {
        self.sim
            .update_node(end.0, |host, now| host.send(now, load));
    }

    /// Has `end`'s application read no faster than `rate` from now on; it reads all there is at
    /// once otherwise.
    pub fn read_slowly(&mut self, end: EndId, rate: Bandwidth) {
        self.sim
            .update_node(end.0, |host, now| host.read_slowly(now, rate));
    }

    /// Has `end` close the connection, as an application would with error code 0.
    ///
    /// # Panics
    /// While there is no connection: on the client before its start, on the server before the
    /// client's first packet has arrived.
    pub fn close(&mut self, end: EndId) {
        self.sim.update_node(end.0, |host, now| host.close(now));
    }

    /// Has a client's packets come from another address from now on: from another port, as when a
    /// NAT forgets, or from another host. It begins at 192.0.2.1:50000.
    pub fn move_client(&mut self, ends: Ends, address: SocketAddr) {
        let change = |host: &mut Host, _| host.set_peer_address(address);
        self.sim.update_node(ends.server.0, change);
    }

    /// Whether `end` has finished the handshake.
    pub fn is_connected(&self, end: EndId) -> bool {
        self.host(end).is_connected()
    }

    /// Bytes of the application's data that `end` has handed to its connection.
    pub fn sent(&self, end: EndId) -> Bytes {
        self.host(end).sent()
    }

    /// The same by stream, in the order in which they were opened.
    pub fn sent_by_stream(&self, end: EndId) -> Vec<Bytes> {
        self.host(end).sent_by_stream()
    }

    /// Bytes of the application's data that `end` has received.
    pub fn received(&self, end: EndId) -> Bytes {
        self.host(end).received()
    }

    /// Counters and estimates of `end`'s connection.
    ///
    /// # Panics
    /// As [`Self::close`], and on plain quinn-proto.
    pub fn stats(&self, end: EndId) -> ConnectionStats {
        self.host(end).driver().stats(self.instant())
    }

    /// quinn-proto's own counters for `end`'s connection, plain or not.
    ///
    /// # Panics
    /// As [`Self::close`].
    pub fn proto_stats(&mut self, end: EndId) -> quinn_proto::ConnectionStats {
        self.sim.update_node(end.0, |host, _| host.proto_stats())
    }

    /// quinn-proto's connection at `end`, for what loads cannot say.
    ///
    /// # Panics
    /// As [`Self::close`].
    pub fn proto<R>(
        &mut self,
        end: EndId,
        change: impl FnOnce(&mut quinn_proto::Connection) -> R,
    ) -> R {
        self.sim.update_node(end.0, |host, _| change(host.proto()))
    }

    /// Has the application at `end` read what comes, as it does from the beginning, or let it lie.
    ///
    /// # Panics
    /// As [`Self::close`].
    pub fn set_reading(&mut self, end: EndId, reads: bool) {
        self.sim
            .update_node(end.0, |host, _| host.set_reading(reads));
    }

    /// Has `tamper` put other datagrams, or none, in the place of each that `end` sends from now
    /// on. In an [unencrypted](Self::unencrypted) world, whoever does so writes frames that the
    /// peer takes for its own. Packets there end in 16 bytes that stand for their number; zeros are
    /// right for every number.
    pub fn tamper(&mut self, end: EndId, tamper: impl FnMut(Vec<u8>) -> Vec<Vec<u8>> + 'static) {
        self.sim
            .update_node(end.0, |host, _| host.tamper(Box::new(tamper)));
    }

    /// Has the application at `end` take whatever comes for what was written, where somebody writes
    /// frames who is not the peer.
    pub fn skip_verification(&mut self, end: EndId) {
        self.sim
            .update_node(end.0, |host, _| host.skip_verification());
    }

    /// Sends a datagram from `end`, of which the endpoint there knows nothing. A server's waits for
    /// the client's first packet, which says where to.
    pub fn inject(&mut self, end: EndId, datagram: &[u8]) {
        self.sim.update_node(end.0, |host, _| host.inject(datagram));
    }

    /// The state of `end`'s controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn congestion(&self, end: EndId) -> Snapshot {
        self.host(end).driver().snapshot()
    }

    /// What a later connection of `end` may resume from.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn path_memory(&self, end: EndId) -> Option<PathMemory> {
        self.host(end).driver().path_memory()
    }

    /// Has `end` go on under another controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_congestion(&mut self, end: EndId, choice: &ControllerChoice) {
        let now = self.instant();
        self.sim.update_node(end.0, |host, _| {
            host.driver_mut().set_congestion(now, choice);
        });
    }

    /// Has `end` send no faster than `rate` from now on.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_max_rate(&mut self, end: EndId, rate: Option<Bandwidth>) {
        let now = self.instant();
        self.sim.update_node(end.0, |host, _| {
            host.driver_mut().set_max_rate(now, rate);
        });
    }

    /// Who receives `end`'s congestion-control events from now on.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_observer(&mut self, end: EndId, observer: Box<dyn Observer + Send>) {
        self.sim.update_node(end.0, |host, _| {
            host.driver_mut().add_observer(By::Set(observer));
        });
    }

    /// Calls `watch` for every batch of datagrams that `end` sends from now on.
    pub fn watch_departures(&mut self, end: EndId, watch: impl FnMut(&Departure) + 'static) {
        self.sim
            .update_node(end.0, |host, _| host.watch(Box::new(watch)));
    }

    /// Calls `watch` for every datagram that leaves or arrives at `end` from now on.
    pub fn watch_datagrams(&mut self, end: EndId, watch: impl FnMut(Datagram<'_>) + 'static) {
        self.sim
            .update_node(end.0, |host, _| host.watch_datagrams(Box::new(watch)));
    }

    /// Calls `watch` for everything that `end`'s congestion control learns of packets. To be called
    /// before the connection begins.
    pub fn watch_facts(
        &mut self,
        end: EndId,
        watch: impl FnMut(Timestamp, &Fact) + Send + 'static,
    ) {
        self.sim
            .update_node(end.0, |host, _| host.watch_facts(Box::new(watch)));
    }

    /// How often `end` woke up because its pacer had tokens again.
    pub fn pacer_wakeups(&self, end: EndId) -> u64 {
        self.host(end).pacer_wakeups()
    }

    /// How many streams `end`'s driver keeps something of, open ones and those that are over.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn kept_streams(&self, end: EndId) -> usize {
        self.host(end).driver().kept_streams()
    }

    /// Why `end`'s connection ended, if it did.
    pub fn error(&self, end: EndId) -> Option<&ConnectionError> {
        self.host(end).error()
    }

    /// What a link did so far.
    pub fn link_stats(&self, id: LinkId) -> &LinkStats {
        self.sim.link_stats(id)
    }

    /// What the way of `side`'s packets carried so far.
    pub fn route_stats(&self, ends: Ends, side: Side) -> RouteStats {
        let (from, to) = (ends.of(side), ends.of(!side));
        self.sim.route_stats(from.0, to.0)
    }

    pub(super) fn host(&self, end: EndId) -> &Host {
        self.sim.node(end.0)
    }

    pub(super) fn instant(&self) -> std::time::Instant {
        clock::instant(self.sim.now())
    }
}

/// Two endpoints did not come together.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connection ended during the handshake.
    #[error("the connection was lost during the handshake")]
    Lost(#[source] ConnectionError),
    /// The handshake took longer than it was given.
    #[error("the handshake was not finished after {0:?}")]
    TimedOut(Duration),
}

/// Streams of random numbers: links have the low numbers, the ends of connections these.
const ENDS: u64 = 1 << 32;
