//! One endpoint as a node of the simulator.

use super::application::{Application, Load};
use super::certificate::NAME;
use super::codepoint::{codepoint_of, ecn_of};
use super::endpoint::{endpoint, unshared};
use super::engine::{Engine, PlainQuinn};
use super::outgoing::Outgoing;
use super::watch::{self, DatagramWatch, Departure, ReceivedWatch, Tamper, Watch};
use crate::cc_adapter::FactWatch;
use crate::clock;
use crate::config::{ClientConfig, ServerConfig, TransportConfig};
use crate::driver::{ConnectionDriver, Datagram, DriverConfig, Reason};
use bytes::{Bytes as Buffer, BytesMut};
use link_sim::sim::{Node, NodeId, Transmit};
use link_sim::{Ecn, IPV4_UDP_OVERHEAD, Packet};
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, Event, Incoming, VarInt,
};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;
use units::{Bandwidth, Bytes, Rng, Timestamp};

/// An endpoint with its one connection and what the application does on it.
pub(super) struct Host {
    endpoint: Endpoint,
    /// What a client that has not connected yet connects with.
    pending: Option<Box<PendingConnect>>,
    accepts: Option<ServerConfig>,
    peer: Option<NodeId>,
    /// Where the peer's packets seem to come from.
    peer_address: SocketAddr,
    pub(super) connection: Option<Box<(ConnectionHandle, Engine)>>,
    /// What the application sends when the handshake is finished.
    load: Option<Load>,
    pub(super) application: Application,
    outgoing: Outgoing,
    batch: Vec<u8>,
    /// What the next datagrams are cut from: one allocation serves many.
    memory: BytesMut,
    /// Whether something has happened since it was last driven.
    pub(super) is_stale: bool,
    deadline: Option<Timestamp>,
    waits_for_pacer: bool,
    pacer_wakeups: u64,
    is_connected: bool,
    error: Option<ConnectionError>,
    /// The time of the newest event.
    now: Timestamp,
    pub(super) watch: Option<Watch>,
    pub(super) datagram_watch: Option<DatagramWatch>,
    pub(super) received_watch: Option<ReceivedWatch>,
    /// For the connection as soon as there is one.
    pub(super) fact_watch: Option<FactWatch>,
    pub(super) tamper: Option<Tamper>,
    plain: Option<PlainQuinn>,
}

pub(super) struct PendingConnect {
    pub(super) config: ClientConfig,
    pub(super) transport: Arc<TransportConfig>,
    pub(super) server: NodeId,
    pub(super) start: Timestamp,
}

impl Host {
    /// Answers the first client whose packet arrives. `load` begins when the handshake is finished.
    pub(super) fn server(
        config: ServerConfig,
        plain: Option<PlainQuinn>,
        load: Option<Load>,
        (rng, largest): (Rng, Option<u16>),
    ) -> Self {
        let endpoint = endpoint(Some(config.for_endpoint()), rng, largest);
        Self {
            accepts: Some(config),
            ..Self::new(endpoint, CLIENT_ADDRESS, plain, load)
        }
    }

    /// Connects at its start time. `load` begins when the handshake is finished.
    pub(super) fn client(
        pending: PendingConnect,
        plain: Option<PlainQuinn>,
        load: Option<Load>,
        (rng, largest): (Rng, Option<u16>),
    ) -> Self {
        Self {
            peer: Some(pending.server),
            deadline: Some(pending.start),
            pending: Some(Box::new(pending)),
            ..Self::new(endpoint(None, rng, largest), SERVER_ADDRESS, plain, load)
        }
    }

    fn new(
        endpoint: Endpoint,
        peer_address: SocketAddr,
        plain: Option<PlainQuinn>,
        load: Option<Load>,
    ) -> Self {
        Self {
            endpoint,
            pending: None,
            accepts: None,
            peer: None,
            peer_address,
            connection: None,
            load,
            application: Application::default(),
            outgoing: Outgoing::new(),
            batch: Vec::new(),
            memory: BytesMut::new(),
            is_stale: false,
            deadline: None,
            waits_for_pacer: false,
            pacer_wakeups: 0,
            is_connected: false,
            error: None,
            now: Timestamp::ZERO,
            watch: None,
            datagram_watch: None,
            received_watch: None,
            fact_watch: None,
            tamper: None,
            plain,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    pub(super) fn error(&self) -> Option<&ConnectionError> {
        self.error.as_ref()
    }

    pub(super) fn sent(&self) -> Bytes {
        self.application.sent()
    }

    pub(super) fn sent_by_stream(&self) -> Vec<Bytes> {
        self.application.sent_by_stream()
    }

    pub(super) fn received(&self) -> Bytes {
        self.application.received()
    }

    pub(super) fn pacer_wakeups(&self) -> u64 {
        self.pacer_wakeups
    }

    pub(super) fn set_peer_address(&mut self, address: SocketAddr) {
        self.peer_address = address;
    }

    pub(super) fn driver(&self) -> &ConnectionDriver {
        self.connection.as_ref().expect(HAS_CONNECTION).1.driver()
    }

    pub(super) fn driver_mut(&mut self) -> &mut ConnectionDriver {
        self.is_stale = true;
        let connection = self.connection.as_mut().expect(HAS_CONNECTION);
        connection.1.driver_mut()
    }

    pub(super) fn proto_stats(&mut self) -> quinn_proto::ConnectionStats {
        let connection = self.connection.as_mut().expect(HAS_CONNECTION);
        connection.1.conn().stats()
    }

    pub(super) fn proto(&mut self) -> &mut Connection {
        self.is_stale = true;
        let connection = self.connection.as_mut().expect(HAS_CONNECTION);
        connection.1.conn()
    }

    pub(super) fn set_reading(&mut self, reads: bool) {
        self.is_stale = true;
        let connection = self.connection.as_mut().expect(HAS_CONNECTION);
        self.application.set_reading(reads, &mut connection.1);
    }

    pub(super) fn send(&mut self, now: Timestamp, load: Load) {
        assert!(self.is_connected, "loads start after the handshake");
        self.is_stale = true;
        let connection = self.connection.as_mut().expect(HAS_CONNECTION);
        self.application.start(now, load, &mut connection.1);
    }

    pub(super) fn read_slowly(&mut self, now: Timestamp, rate: Bandwidth) {
        self.is_stale = true;
        self.application.read_slowly(now, rate);
    }

    pub(super) fn close(&mut self, now: Timestamp) {
        self.is_stale = true;
        let engine = &mut self.connection.as_mut().expect(HAS_CONNECTION).1;
        if self.plain.is_none() {
            engine.driver_mut().leave_path_memory();
        }
        let conn = engine.conn();
        conn.close(clock::instant(now), VarInt::from_u32(0), Buffer::new());
    }

    fn connect(&mut self, now: Instant, pending: &PendingConnect) {
        let (mut config, driver) = pending.config.for_connection(NAME);
        if let Some(PlainQuinn(factory)) = &self.plain {
            let (mut transport, _) = pending.transport.for_connection();
            unshared(&mut transport).congestion_controller_factory(factory.clone());
            config.transport_config(transport);
        }
        let (handle, conn) = self
            .endpoint
            .connect(now, config, SERVER_ADDRESS, NAME)
            .expect("a fresh endpoint takes a connection");
        self.adopt(now, handle, conn, driver);
    }

    fn adopt(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        conn: Connection,
        driver: DriverConfig,
    ) {
        let engine = Engine::new(conn, driver, now, self.plain.is_some());
        if let Some(watch) = self.fact_watch.take() {
            engine.driver().watch_facts(watch);
        }
        self.connection = Some(Box::new((handle, engine)));
        self.is_stale = true;
    }

    fn accept(&mut self, now: Instant, incoming: Incoming) {
        let mut reply = Vec::new();
        let is_first = self.connection.is_none();
        let Some(accepts) = self.accepts.as_ref().filter(|_| is_first) else {
            return self.endpoint.ignore(incoming);
        };
        let (mut config, driver) = accepts.for_connection();
        if let Some(PlainQuinn(factory)) = &self.plain {
            unshared(&mut unshared(&mut config).transport)
                .congestion_controller_factory(factory.clone());
        }
        match self
            .endpoint
            .accept(incoming, now, &mut reply, Some(config))
        {
            Ok((handle, conn)) => self.adopt(now, handle, conn, driver),
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.enqueue(&transmit, &reply);
                }
                self.error = Some(error.cause);
            }
        }
    }

    /// Does all there is to do at `now`: the application handles events and writes, then
    /// packets are sent.
    fn drive(&mut self, now: Timestamp) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let (handle, engine) = &mut *connection;
        let is_awaited = self.application.is_waiting();
        engine.tune_receive_window(clock::instant(now), is_awaited);
        while self.handle_events(now, *handle, engine) {}
        self.application.write(now, engine);
        self.application.read_due(now, engine);
        self.transmit(now, engine);
        let (deadline, reason) = engine.poll_timeout().unzip();
        self.waits_for_pacer = reason == Some(Reason::Pacing);
        let others = self.application.deadline();
        self.deadline =
            deadline.map_or(others, |at| Some(others.map_or(at, |other| other.min(at))));
        self.connection = Some(connection);
    }

    /// Passes on the connection's events; whether it may have more now.
    fn handle_events(
        &mut self,
        now: Timestamp,
        handle: ConnectionHandle,
        engine: &mut Engine,
    ) -> bool {
        let mut is_answered = false;
        while let Some(event) = engine.poll_endpoint_event() {
            if let Some(reply) = self.endpoint.handle_event(handle, event) {
                engine.handle_event(clock::instant(now), reply);
                is_answered = true;
            }
        }
        while let Some(event) = engine.poll_event() {
            match event {
                Event::Connected => {
                    self.is_connected = true;
                    if let Some(load) = self.load.take() {
                        self.application.start(now, load, engine);
                    }
                }
                Event::ConnectionLost { reason } => self.error = Some(reason),
                Event::Stream(event) => self.application.on_stream_event(&event, engine),
                Event::DatagramReceived => {
                    if let Some(watch) = &mut self.received_watch {
                        while let Some(data) = engine.conn().datagrams().recv() {
                            watch(now, data);
                        }
                    }
                }
                _ => {}
            }
        }
        is_answered
    }

    fn transmit(&mut self, now: Timestamp, engine: &mut Engine) {
        let instant = clock::instant(now);
        let mut batch = std::mem::take(&mut self.batch);
        while let Some(transmit) = engine.poll_transmit(instant, MAX_SEGMENTS, &mut batch) {
            let departure = engine.batch_departure();
            self.outgoing.departure = departure.map_or(now, clock::timestamp);
            if let Some(watch) = &mut self.watch {
                let segment = transmit.segment_size.unwrap_or(transmit.size);
                let (in_flight, cwnd) = engine.driver().flight();
                watch(&Departure {
                    at: self.outgoing.departure,
                    bytes: Bytes::new(transmit.size as u64),
                    datagrams: transmit.size.div_ceil(segment) as u64,
                    in_flight,
                    cwnd,
                });
            }
            self.enqueue(&transmit, &batch);
            batch.clear();
        }
        self.batch = batch;
    }

    fn enqueue(&mut self, transmit: &quinn_proto::Transmit, batch: &[u8]) {
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        let ecn = transmit.ecn.map_or(Ecn::NotEct, ecn_of);
        for datagram in batch[..transmit.size].chunks(segment) {
            if let Some(watch) = &mut self.datagram_watch {
                watch(watch::Datagram::Leaves {
                    at: self.outgoing.departure.max(self.now),
                    payload: datagram,
                });
            }
            let Some(tamper) = &mut self.tamper else {
                self.push(datagram, ecn);
                continue;
            };
            for datagram in tamper(datagram.to_vec()) {
                self.push(&datagram, ecn);
            }
        }
    }

    pub(super) fn push(&mut self, datagram: &[u8], ecn: Ecn) {
        let size = Bytes::new(datagram.len() as u64) + IPV4_UDP_OVERHEAD;
        if self.memory.capacity() < datagram.len() {
            self.memory = BytesMut::with_capacity(MEMORY.max(datagram.len()));
        }
        self.memory.extend_from_slice(datagram);
        let packet = Packet::new(size, self.memory.split());
        self.outgoing.push(self.now, packet.ecn(ecn));
    }
}

impl Node for Host {
    type Payload = BytesMut;

    fn handle_packet(&mut self, now: Timestamp, from: NodeId, packet: Packet<BytesMut>) {
        self.now = now;
        self.peer = Some(from);
        if let Some(watch) = &mut self.datagram_watch {
            watch(watch::Datagram::Arrives {
                at: now,
                payload: &packet.payload,
                ecn: packet.ecn,
            });
        }
        let instant = clock::instant(now);
        let from = self.peer_address;
        let mut reply = Vec::new();
        let ecn = codepoint_of(packet.ecn);
        let datagram = Datagram::new(instant, from, ecn, &packet.payload);
        let event = self
            .endpoint
            .handle(instant, from, None, ecn, packet.payload, &mut reply);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some(connection) = &mut self.connection {
                    connection.1.handle_datagram(instant, datagram, event);
                    self.is_stale = true;
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(instant, incoming),
            Some(DatagramEvent::Response(transmit)) => self.enqueue(&transmit, &reply),
            None => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.now = now;
        let instant = clock::instant(now);
        if let Some(pending) = self.pending.take() {
            return self.connect(instant, &pending);
        }
        if self.deadline.is_none_or(|deadline| deadline > now) {
            // A packet leaves, and that is all.
            return;
        }
        self.pacer_wakeups += u64::from(self.waits_for_pacer);
        if let Some(connection) = &mut self.connection {
            connection.1.handle_timeout(instant);
        }
        self.is_stale = true;
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let leaves = self.outgoing.next_after(self.now);
        [leaves, self.deadline].into_iter().flatten().min()
    }

    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<BytesMut>> {
        self.now = now;
        self.drive(now);
        let to = self.peer?;
        let packet = self.outgoing.pop(now)?;
        Some(Transmit { to, packet })
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("application", &self.application)
            .field("is_connected", &self.is_connected)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

pub(super) const HAS_CONNECTION: &str = "the connection has begun at this end";

/// As many as fit into one batch of the usual packets, 65,507 ÷ 1,452.
const MAX_SEGMENTS: usize = 45;

/// Bytes allocated at once for datagrams.
const MEMORY: usize = 64 * 1024;

/// Addresses that only the endpoints see (RFC 5737).
const CLIENT_ADDRESS: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 50_000));
const SERVER_ADDRESS: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 2), 443));
