//! Two real QUIC endpoints in virtual time (feature `testing`).
//!
//! ```text
//!  client { quinn-proto, ConnectionDriver } ──▶ link ─────────▶ server { quinn-proto,
//!                                           ◀── return link ◀──          ConnectionDriver }
//! ```
//!
//! Handshake, encryption, acknowledgements, loss recovery, congestion control and pacing are those
//! that ship; only sockets, timers and the clock are replaced. The same configuration and seed give
//! the same packets at the same times on every machine, whatever the keys were.
//!
//! ```
//! use std::time::Duration;
//! use transport::testing::{Load, Pair, PairConfig, Side};
//!
//! let mut config = PairConfig::default();
//! config.link = "delay 20ms rate 10mbit queue 1bdp".parse()?;
//! let mut pair = Pair::new(&config)?;
//! pair.connect(Duration::from_secs(1))?;
//! pair.send(Side::Client, Load::Bytes(1_000_000));
//! pair.run_for(Duration::from_secs(2));
//!
//! assert_eq!(pair.received(Side::Server).get(), 1_000_000);
//! assert!(pair.stats(Side::Client).path.sent_packets > 690);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod application;
mod engine;
mod host;

use crate::config::TransportConfig;
use crate::stats::ConnectionStats;
use crate::tls::{self, Cipher};
pub use application::Load;
use cc_core::{ControllerChoice, Observer, Snapshot};
pub use engine::PlainQuinn;
pub use host::Departure;
use host::Host;
use link_sim::sim::{LinkId, NodeId, Simulator};
use link_sim::{LinkSpec, LinkStats, SpecError};
use quinn_proto::ConnectionError;
pub use quinn_proto::Side;
use quinn_proto::crypto::{CryptoError, HmacKey};
use rustls::pki_types::PrivateKeyDer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use units::{Bytes, Timestamp};

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
    /// Of all randomness in links, endpoints and controllers.
    pub seed: u64,
}

/// A client and a server in virtual time, joined by one connection.
#[derive(Debug)]
pub struct Pair {
    sim: Simulator<Host>,
    client: NodeId,
    server: NodeId,
    link: LinkId,
    return_link: LinkId,
}

impl Pair {
    /// The two endpoints at virtual time zero, not connected yet.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub fn new(config: &PairConfig) -> Result<Self, SpecError> {
        let (mut client, mut server) = (config.client.clone(), config.server.clone());
        client.congestion_seed(config.seed);
        server.congestion_seed(config.seed.wrapping_add(1));
        let certificate = Certificate::generate();
        let mut accepting = tls::server(vec![certificate.der], certificate.key)
            .cipher(Cipher::Aes128)
            .config()
            .expect("the key was made for the certificate");
        accepting.transport_config(Arc::new(server));
        let mut connecting = tls::client_without_verification()
            .cipher(Cipher::Aes128)
            .config()
            .expect("no authorities that could be wrong");
        let client = Arc::new(client);
        connecting.transport_config(client.clone());

        let mut sim = Simulator::new(config.seed);
        let server = sim.add_node(Host::server(accepting, config.plain.clone(), config.seed));
        let client = sim.add_node(Host::client(
            &connecting,
            &client,
            config.plain.clone(),
            server,
            config.seed,
        ));
        let (link, return_link) = sim.connect(client, server, &config.link, &config.return_link)?;
        Ok(Self {
            sim,
            client,
            server,
            link,
            return_link,
        })
    }

    /// Runs until both ends have finished the handshake.
    ///
    /// # Errors
    /// When `limit` is over, or the connection, before that.
    pub fn connect(&mut self, limit: Duration) -> Result<(), ConnectError> {
        let end = self.sim.now() + limit;
        let (client, server) = (self.client, self.server);
        let is_connecting = self.sim.run_while(end, |sim| {
            let (client, server) = (sim.node(client), sim.node(server));
            client.error().or_else(|| server.error()).is_none()
                && !(client.is_connected() && server.is_connected())
        });
        match self.lost() {
            Some(error) => Err(ConnectError::Lost(error.clone())),
            None if is_connecting => Err(ConnectError::TimedOut(limit)),
            None => Ok(()),
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.sim.now()
    }

    /// Opens a stream from `side` and puts `load` on it from now on.
    ///
    /// # Panics
    /// Before the handshake is finished, and when the peer allows no more streams.
    pub fn send(&mut self, side: Side, load: Load) {
        self.sim
            .update_node(self.id(side), |host, now| host.send(now, load));
    }

    /// Has `side` close the connection, as an application would with error code 0.
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived.
    pub fn close(&mut self, side: Side) {
        self.sim
            .update_node(self.id(side), |host, now| host.close(now));
    }

    /// Has the client's packets come from another address from now on: from another port, as when a
    /// NAT forgets, or from another host. It begins at 192.0.2.1:50000.
    pub fn move_client(&mut self, address: SocketAddr) {
        self.sim
            .update_node(self.server, |host, _| host.set_peer_address(address));
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.sim.run_until(self.sim.now() + time);
    }

    /// Runs until `side` has received `bytes` of the application's data in all, at most for
    /// `limit`. Whether it has.
    pub fn run_until_received(&mut self, side: Side, bytes: Bytes, limit: Duration) -> bool {
        let (id, end) = (self.id(side), self.sim.now() + limit);
        !self
            .sim
            .run_while(end, |sim| sim.node(id).received() < bytes)
    }

    /// Bytes of the application's data that `side` has received.
    pub fn received(&self, side: Side) -> Bytes {
        self.host(side).received()
    }

    /// Counters and estimates of `side`'s connection.
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived, and on plain quinn-proto.
    pub fn stats(&self, side: Side) -> ConnectionStats {
        self.host(side).driver().stats(self.instant())
    }

    /// quinn-proto's own counters for `side`'s connection, plain or not.
    ///
    /// # Panics
    /// On the server before the client's first packet has arrived.
    pub fn proto_stats(&mut self, side: Side) -> quinn_proto::ConnectionStats {
        self.sim
            .update_node(self.id(side), |host, _| host.proto_stats())
    }

    /// The state of `side`'s controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn congestion(&self, side: Side) -> Snapshot {
        self.host(side).driver().snapshot()
    }

    /// Has `side` go on under another controller.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_congestion(&mut self, side: Side, choice: &ControllerChoice) {
        let now = self.instant();
        self.sim.update_node(self.id(side), |host, _| {
            host.driver_mut().set_congestion(now, choice);
        });
    }

    /// Who is told of `side`'s congestion-control events from now on.
    ///
    /// # Panics
    /// As [`Self::stats`].
    pub fn set_observer(&mut self, side: Side, observer: Box<dyn Observer + Send>) {
        self.sim.update_node(self.id(side), |host, _| {
            host.driver_mut().set_observer(observer);
        });
    }

    /// Calls `watch` for every datagram that `side` sends from now on.
    pub fn watch_departures(&mut self, side: Side, watch: impl FnMut(&Departure) + 'static) {
        self.sim
            .update_node(self.id(side), |host, _| host.watch(Box::new(watch)));
    }

    /// How often `side` woke up because its pacer had tokens again.
    pub fn pacer_wakeups(&self, side: Side) -> u64 {
        self.host(side).pacer_wakeups()
    }

    /// Why `side`'s connection ended, if it did.
    pub fn error(&self, side: Side) -> Option<&ConnectionError> {
        self.host(side).error()
    }

    /// What the link that carries `side`'s packets did so far.
    pub fn link_stats(&self, side: Side) -> &LinkStats {
        self.sim.link_stats(match side {
            Side::Client => self.link,
            Side::Server => self.return_link,
        })
    }

    fn lost(&self) -> Option<&ConnectionError> {
        self.error(Side::Client)
            .or_else(|| self.error(Side::Server))
    }

    fn id(&self, side: Side) -> NodeId {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    fn host(&self, side: Side) -> &Host {
        self.sim.node(self.id(side))
    }

    fn instant(&self) -> std::time::Instant {
        crate::clock::instant(self.sim.now())
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

/// A certificate of the same length on every run, so that the packets are: Ed25519's keys and
/// signatures have one length, and so has the serial number.
struct Certificate {
    der: rustls::pki_types::CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    fn generate() -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("Ed25519 is built in");
        let mut params = rcgen::CertificateParams::new(vec![host::NAME.to_owned()])
            .expect("the name is a DNS name");
        params.serial_number = Some(1.into());
        let certificate = params.self_signed(&key).expect("the key can sign");
        Self {
            der: certificate.der().clone(),
            key: PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8"),
        }
    }
}

/// Makes stateless-reset tokens that are the same on every run. Nobody attacks a simulation.
struct FixedKey;

impl HmacKey for FixedKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        for (index, byte) in signature_out.iter_mut().enumerate() {
            *byte = data[index % data.len().max(1)] ^ 0x5a;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        (expected == signature).then_some(()).ok_or(CryptoError)
    }
}
