//! quinn-proto's own controllers on the same history.

use crate::clock;
use crate::history::{BATCH, History, MSS, RING, Step};
use bytes::BytesMut;
use core::time::Duration;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    RttEstimator, ServerConfig, TransportConfig,
};
use std::any::Any;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use units::Timestamp;

/// The controllers that quinn-proto ships, under the names of the benchmark.
pub(crate) fn factories() -> [(&'static str, Arc<dyn ControllerFactory>); 2] {
    [
        ("quinn-proto Cubic", Arc::new(CubicConfig::default())),
        ("quinn-proto Bbr", Arc::new(BbrConfig::default())),
    ]
}

/// A controller of quinn-proto and what its connection would keep for it.
pub(crate) struct Driver {
    controller: Box<dyn Controller>,
    base: Instant,
    rtt: RttEstimator,
    ring: Vec<Instant>,
    sent: usize,
    in_flight: u64,
}

impl Driver {
    pub(crate) fn new(factory: &Arc<dyn ControllerFactory>, rtt: RttEstimator) -> Self {
        let base = clock::now();
        let mtu = u16::try_from(MSS.get()).expect("a datagram's size has 16 bits");
        Self {
            controller: Arc::clone(factory).build(base, mtu),
            base,
            rtt,
            ring: vec![base; RING],
            sent: 0,
            in_flight: 0,
        }
    }

    pub(crate) fn run(&mut self, history: &History) {
        for step in &history.steps {
            match step {
                Step::Send { at } => self.send(*at),
                Step::Ack { at, acked, lost } => self.ack(*at, acked, lost),
            }
            black_box(self.controller.window());
        }
    }

    /// One call for a batch, as a connection makes it.
    fn send(&mut self, at: Timestamp) {
        let now = self.instant(at);
        let bytes = MSS.get() * BATCH as u64;
        for _ in 0..BATCH {
            self.ring[self.sent % RING] = now;
            self.sent += 1;
        }
        self.in_flight += bytes;
        self.controller.on_sent(now, bytes, self.sent as u64 - 1);
    }

    fn ack(&mut self, at: Timestamp, acked: &[usize], lost: &[usize]) {
        let (now, size) = (self.instant(at), MSS.get());
        for number in acked {
            let sent = self.ring[*number % RING];
            self.in_flight -= size;
            self.controller.on_ack(now, sent, size, false, &self.rtt);
        }
        let largest = acked.last().map(|number| *number as u64);
        self.controller
            .on_end_acks(now, self.in_flight, false, largest);
        if let Some(newest) = lost.last() {
            let bytes = size * lost.len() as u64;
            self.in_flight -= bytes;
            let sent = self.ring[*newest % RING];
            self.controller.on_congestion_event(now, sent, false, bytes);
        }
    }

    fn instant(&self, at: Timestamp) -> Instant {
        self.base + at.since(Timestamp::ZERO)
    }
}

/// An estimator that knows a round-trip time.
///
/// quinn-proto makes one only inside a connection; a controller of ours catches it there, in a
/// handshake whose datagrams take half of `rtt` each way.
pub(crate) fn rtt_estimator(rtt: Duration) -> RttEstimator {
    let caught = Arc::new(Catcher::default());
    let (client_config, server_config) = configs(&caught);
    let config = Arc::new(EndpointConfig::default());
    let server_config = Some(Arc::new(server_config));
    let mut client = Host::new(Endpoint::new(Arc::clone(&config), None, false, None));
    let mut server = Host::new(Endpoint::new(config, server_config, false, None));
    let mut now = clock::now();
    let connected = client.endpoint.connect(now, client_config, ADDRESS, NAME);
    client.connection = Some(connected.expect("the configuration is complete"));
    while caught.rtt().is_none() {
        let flight = client.transmit(now);
        now += rtt / 2;
        flight
            .into_iter()
            .for_each(|datagram| server.handle(now, datagram));
        let flight = server.transmit(now);
        assert!(!flight.is_empty(), "the server answers the client");
        now += rtt / 2;
        flight
            .into_iter()
            .for_each(|datagram| client.handle(now, datagram));
    }
    caught.rtt().expect("the loop ends with one")
}

fn configs(catcher: &Arc<Catcher>) -> (ClientConfig, ServerConfig) {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]);
    let made = made.expect("the name is a name");
    let mut roots = rustls::RootCertStore::empty();
    let added = roots.add(made.cert.der().clone());
    added.expect("the certificate is one");
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into());
    let client = ClientConfig::with_root_certificates(Arc::new(roots));
    let mut client = client.expect("there is a root");
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::<Catcher>::clone(catcher));
    client.transport_config(Arc::new(transport));
    (client, server.expect("the key fits the certificate"))
}

/// An endpoint with its one connection.
struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

impl Host {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            connection: None,
        }
    }

    fn transmit(&mut self, now: Instant) -> Vec<BytesMut> {
        let mut datagrams = Vec::new();
        if let Some((handle, connection)) = &mut self.connection {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let mut buffer = Vec::new();
            while connection.poll_transmit(now, 1, &mut buffer).is_some() {
                datagrams.push(BytesMut::from(&buffer[..]));
                buffer.clear();
            }
        }
        datagrams
    }

    fn handle(&mut self, now: Instant, datagram: BytesMut) {
        let mut buffer = Vec::new();
        let event = self
            .endpoint
            .handle(now, ADDRESS, None, None, datagram, &mut buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut buffer, None);
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }
}

/// Keeps the estimator of the first ACK that it sees.
#[derive(Default)]
struct Catcher(Arc<Mutex<Option<RttEstimator>>>);

impl Catcher {
    fn rtt(&self) -> Option<RttEstimator> {
        *self.0.lock().expect("nobody panics with the lock")
    }
}

impl ControllerFactory for Catcher {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

impl Controller for Catcher {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().expect("nobody panics with the lock") = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        u64::MAX / 2
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

const NAME: &str = "server.test";
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4433);
