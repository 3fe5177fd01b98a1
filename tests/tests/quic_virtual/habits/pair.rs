//! Two endpoints of quinn-proto without anything of Paceline's, in virtual time.

use super::recorder::{Factory, Polled, Recorded, Recorder, Seen};
use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, Incoming, ServerConfig, Side, StreamEvent, StreamId, Transmit,
    TransportConfig, VarInt,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One way.
pub(super) const DELAY: Duration = Duration::from_millis(50);
/// Without discovery, the size of every datagram that is full.
pub(super) const MTU: u64 = 1_200;

/// A datagram on its way, or held back.
#[derive(Debug, Clone)]
pub(super) struct Datagram {
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) payload: Vec<u8>,
    arrival: Instant,
}

/// Whether a datagram is to arrive; it may be changed.
type Filter = Box<dyn FnMut(&mut Datagram) -> bool>;

/// One end of a connection.
pub(super) struct End {
    pub(super) recorder: Arc<Recorder>,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    pub(super) events: Vec<Event>,
    /// Of the connection's events for its endpoint.
    pub(super) told_to_endpoint: Vec<String>,
    /// On their way to this end.
    arriving: VecDeque<Datagram>,
    /// For what leaves this end.
    pub(super) filter: Filter,
    /// Where the peer's packets seem to come from.
    pub(super) peer: SocketAddr,
    config: Option<Arc<ServerConfig>>,
}

/// Two ends.
pub(super) struct Pair {
    pub(super) now: Instant,
    pub(super) client: End,
    pub(super) server: End,
    /// Whether the server answers a client whose address is not validated with a Retry.
    pub(super) retries: bool,
    /// Most datagrams of a batch.
    pub(super) batch: usize,
}

/// What a server has: its certificate and the sessions that it can resume.
#[derive(Clone)]
pub(super) struct Identity(Arc<rustls::ServerConfig>);

/// What a client trusts, and the sessions that it remembers.
#[derive(Clone)]
pub(super) struct Trust(Arc<rustls::ClientConfig>);

impl Identity {
    /// Two servers with the same certificate. Neither resumes the other's sessions.
    pub(super) fn two() -> ([Self; 2], Trust) {
        let own = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let der = own.cert.der().clone();
        let server = || {
            let mut config = rustls::ServerConfig::builder()
                .with_no_client_auth()
                .with_single_cert(vec![der.clone()], key.clone_key().into())
                .expect("the key was made for the certificate");
            config.max_early_data_size = u32::MAX;
            Self(Arc::new(config))
        };
        let mut roots = rustls::RootCertStore::empty();
        roots.add(der.clone()).expect("a certificate");
        let mut client = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.enable_early_data = true;
        ([server(), server()], Trust(Arc::new(client)))
    }
}

impl Pair {
    /// Two ends at the beginning of their handshake, MTU discovery off.
    pub(super) fn new(change: impl Fn(&mut TransportConfig)) -> Self {
        let ([identity, _], trust) = Identity::two();
        Self::with(&identity, &trust, change)
    }

    /// The same with this server and client.
    pub(super) fn with(
        Identity(identity): &Identity,
        Trust(trust): &Trust,
        change: impl Fn(&mut TransportConfig),
    ) -> Self {
        let now = origin();
        let transport = |recorder: &Arc<Recorder>| {
            let mut config = TransportConfig::default();
            config
                .mtu_discovery_config(None)
                .congestion_controller_factory(Arc::new(Factory(Arc::clone(recorder))));
            change(&mut config);
            Arc::new(config)
        };
        let recorder = Recorder::new();
        let crypto = QuicServerConfig::try_from(Arc::clone(identity)).expect("it has AES-128");
        let crypto: Arc<dyn quinn_proto::crypto::ServerConfig> = Arc::new(crypto);
        let mut config = ServerConfig::with_crypto(Arc::new(Recorded {
            crypto,
            recorder: Arc::clone(&recorder),
        }));
        config.transport_config(transport(&recorder));
        let config = Arc::new(config);
        let server = End::new(recorder, Some(config), CLIENT);

        let recorder = Recorder::new();
        let crypto = QuicClientConfig::try_from(Arc::clone(trust)).expect("it has AES-128");
        let crypto: Arc<dyn quinn_proto::crypto::ClientConfig> = Arc::new(crypto);
        let mut config = ClientConfig::new(Arc::new(Recorded {
            crypto,
            recorder: Arc::clone(&recorder),
        }));
        config.transport_config(transport(&recorder));
        let mut client = End::new(recorder, None, SERVER);
        let connection = client.endpoint.connect(now, config, SERVER, NAME);
        client.connection = Some(connection.expect("a fresh endpoint takes a connection"));
        Self {
            now,
            client,
            server,
            retries: false,
            batch: 10,
        }
    }

    /// Two ends a second after the handshake, with nothing in flight.
    pub(super) fn connected(change: impl Fn(&mut TransportConfig)) -> Self {
        let mut pair = Self::new(change);
        pair.run_for(Duration::from_secs(1));
        for end in [&mut pair.client, &mut pair.server] {
            assert!(!end.conn().is_handshaking() && !end.conn().is_closed());
            end.events.clear();
            end.recorder.take();
        }
        pair
    }

    pub(super) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Lets `side` build one batch, which goes on its way. Whether there was one.
    pub(super) fn poll(&mut self, side: Side) -> bool {
        let (now, batch) = (self.now, self.batch);
        let mut buf = Vec::new();
        let end = self.end(side);
        let Some((_, conn)) = &mut end.connection else {
            return false;
        };
        let transmit = conn.poll_transmit(now, batch, &mut buf);
        end.recorder
            .note(Seen::Polled(transmit.as_ref().map(|it| Polled {
                bytes: it.size as u64,
                destination: it.destination,
                ecn: it.ecn,
            })));
        let Some(transmit) = transmit else {
            return false;
        };
        self.carry(side, &transmit, &buf);
        true
    }

    /// Lets `side` send all that it will.
    pub(super) fn flush(&mut self, side: Side) {
        while self.poll(side) {}
    }

    fn carry(&mut self, from: Side, transmit: &Transmit, buf: &[u8]) {
        let arrival = self.now + DELAY;
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        for payload in buf[..transmit.size].chunks(segment) {
            let mut datagram = Datagram {
                ecn: transmit.ecn,
                payload: payload.to_vec(),
                arrival,
            };
            if (self.end(from).filter)(&mut datagram) {
                self.end(!from).arriving.push_back(datagram);
            }
        }
    }

    /// What is on its way to `side`, which does not arrive by itself any more.
    pub(super) fn intercept(&mut self, side: Side) -> Vec<Datagram> {
        self.end(side).arriving.drain(..).collect()
    }

    /// Hands a datagram to `side` at once.
    pub(super) fn deliver(&mut self, side: Side, datagram: &Datagram) {
        let now = self.now;
        let end = self.end(side);
        let mut answer = Vec::new();
        let data = BytesMut::from(&datagram.payload[..]);
        let (peer, ecn) = (end.peer, datagram.ecn);
        let event = end.endpoint.handle(now, peer, None, ecn, data, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                end.conn().handle_event(event);
                end.recorder.note(Seen::Handled);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(incoming),
            Some(DatagramEvent::Response(transmit)) => self.carry(side, &transmit, &answer),
            None => {}
        }
        self.end(side).pass_events_on();
    }

    fn accept(&mut self, incoming: Incoming) {
        let mut answer = Vec::new();
        if self.retries && !incoming.remote_address_validated() {
            let retry = self.server.endpoint.retry(incoming, &mut answer);
            return self.carry(Side::Server, &retry.expect("no token came"), &answer);
        }
        let End {
            endpoint, config, ..
        } = &mut self.server;
        let accepted = endpoint.accept(incoming, self.now, &mut answer, config.clone());
        self.server.connection = Some(accepted.expect("a valid first packet"));
    }

    /// Does what is next to do, if that is due by `until`: a datagram arrives or a timer expires,
    /// and both ends send what they will.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        self.flush(Side::Client);
        self.flush(Side::Server);
        let sides = [Side::Client, Side::Server];
        let arrivals = sides.map(|side| self.end(side).arriving.front().map(|it| it.arrival));
        let timers = sides.map(|side| self.end(side).timer());
        let next = arrivals.into_iter().chain(timers).flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        for (side, arrival) in sides.into_iter().zip(arrivals) {
            if arrival.is_some_and(|at| at <= next)
                && let Some(datagram) = self.end(side).arriving.pop_front()
            {
                self.deliver(side, &datagram);
                return true;
            }
        }
        for (side, timer) in sides.into_iter().zip(timers) {
            if timer.is_some_and(|at| at <= next) {
                let now = self.now;
                self.end(side).conn().handle_timeout(now);
                self.end(side).pass_events_on();
            }
        }
        true
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }
}

impl End {
    fn new(recorder: Arc<Recorder>, config: Option<Arc<ServerConfig>>, peer: SocketAddr) -> Self {
        let mut endpoint = EndpointConfig::default();
        endpoint.rng_seed(Some([7; 32]));
        Self {
            recorder,
            endpoint: Endpoint::new(Arc::new(endpoint), config.clone(), true, None),
            connection: None,
            events: Vec::new(),
            told_to_endpoint: Vec::new(),
            arriving: VecDeque::new(),
            filter: Box::new(|_| true),
            peer,
            config,
        }
    }

    pub(super) fn conn(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("it has begun").1
    }

    /// The connection, if it has begun.
    pub(super) fn started(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, conn)| conn)
    }

    fn timer(&mut self) -> Option<Instant> {
        let (_, conn) = self.connection.as_mut()?;
        conn.poll_timeout()
    }

    fn pass_events_on(&mut self) {
        let Some((handle, conn)) = &mut self.connection else {
            return;
        };
        while let Some(event) = conn.poll_endpoint_events() {
            self.told_to_endpoint.push(format!("{event:?}"));
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                conn.handle_event(answer);
            }
        }
        while let Some(event) = conn.poll() {
            self.events.push(event);
        }
    }

    /// Opens a stream.
    pub(super) fn open(&mut self) -> StreamId {
        let streams = &mut self.conn().streams();
        streams.open(Dir::Uni).expect("a hundred are allowed")
    }

    /// Writes zeros to a new stream: so many, or as many as there is room for.
    pub(super) fn write(&mut self, bytes: usize) -> StreamId {
        let id = self.open();
        let data = Bytes::from(vec![0; bytes]);
        let mut stream = self.conn().send_stream(id);
        stream.write_chunks(&mut [data]).expect("there is room");
        id
    }

    /// Streams that may be written to again, in the order of their events, which are gone then.
    pub(super) fn writable(&mut self) -> Vec<StreamId> {
        let events = std::mem::take(&mut self.events).into_iter();
        let ids = events.filter_map(|event| match event {
            Event::Stream(StreamEvent::Writable { id }) => Some(id),
            _ => None,
        });
        ids.collect()
    }

    pub(super) fn close(&mut self, now: Instant) {
        self.conn().close(now, VarInt::from_u32(0), Bytes::new());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to an Instant; all that matters is how far others are from it"
)]
fn origin() -> Instant {
    Instant::now()
}

const NAME: &str = "localhost";
pub(super) const CLIENT: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
    50_000,
);
const SERVER: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)),
    443,
);
