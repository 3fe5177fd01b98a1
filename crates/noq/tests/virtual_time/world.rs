//! A client and a server of noq-proto with a link each way, in virtual time.

use bytes::BytesMut;
use link_sim::{Link, LinkSpec, Packet};
use noq_proto::congestion::ControllerFactory;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, FourTuple, PathId, ServerConfig, StreamId, TransportConfig,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{Bytes, Timestamp};

/// A client that sends as much as it can to a server that reads it.
pub(crate) struct World {
    /// What virtual time is counted from.
    epoch: Instant,
    now: Timestamp,
    sides: [Side; 2],
    stream: Option<StreamId>,
    /// Bytes that the server has read.
    pub(crate) received: u64,
    /// When the client's datagrams left, and their sizes.
    pub(crate) sent: Vec<(Timestamp, u64)>,
}

struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    address: SocketAddr,
    /// What leaves it.
    link: Link<Vec<u8>>,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl World {
    pub(crate) fn new(
        link: &str,
        back: &str,
        controller: Arc<dyn ControllerFactory + Send + Sync>,
    ) -> Self {
        #[expect(clippy::disallowed_methods, reason = "virtual time begins anywhere")]
        let epoch = Instant::now();
        let identity = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a certificate can be made");
        let certificate = identity.cert.der().clone();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())
            .expect("the certificate is right");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).expect("the certificate is right");
        let mut client =
            ClientConfig::with_root_certificates(Arc::new(roots)).expect("a root is there");
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(controller);
        client.transport_config(Arc::new(transport));

        let mut sides = [
            Side::new(5_000, link, None, 1),
            Side::new(4_433, back, Some(server), 2),
        ];
        let to = sides[SERVER].address;
        let connection = sides[CLIENT]
            .endpoint
            .connect(epoch, client, to, "localhost");
        sides[CLIENT].connection = Some(connection.expect("the address is right"));
        Self {
            epoch,
            now: Timestamp::ZERO,
            sides,
            stream: None,
            received: 0,
            sent: Vec::new(),
        }
    }

    /// Goes on until this time of the connection's life.
    pub(crate) fn run_until(&mut self, end: Duration) {
        let end = Timestamp::ZERO + end;
        while self.now < end {
            self.work();
            let next = self.sides.iter().flat_map(|side| {
                let timeout = side
                    .connection
                    .as_ref()
                    .and_then(|(_, it)| it.poll_timeout());
                let timeout = timeout.map(|time| timestamp(self.epoch, time));
                [side.link.poll_timeout(), timeout]
            });
            let next = next.flatten().min().expect("a connection has timers");
            self.now = next.max(self.now);
            self.deliver();
            for side in &mut self.sides {
                if let Some((_, connection)) = &mut side.connection {
                    connection.handle_timeout(self.epoch + since_start(self.now));
                }
            }
        }
    }

    pub(crate) fn client(&mut self) -> &mut Connection {
        let connection = self.sides[CLIENT].connection.as_mut();
        &mut connection.expect("the client has connected").1
    }

    /// noq's estimate.
    pub(crate) fn rtt(&mut self) -> Duration {
        self.client().rtt(PathId::ZERO).expect("the path is there")
    }

    /// Applications write and read, and what may leave does.
    fn work(&mut self) {
        let time = self.epoch + since_start(self.now);
        for index in [CLIENT, SERVER] {
            let Some((handle, connection)) = &mut self.sides[index].connection else {
                continue;
            };
            while let Some(event) = connection.poll() {
                if let Event::ConnectionLost { reason } = event {
                    panic!("the connection was lost: {reason}");
                }
            }
            let handle = *handle;
            match index {
                CLIENT => self.write(),
                _ => self.read(),
            }
            let side = &mut self.sides[index];
            let Some((_, connection)) = &mut side.connection else {
                continue;
            };
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = side.endpoint.handle_event(handle, event) {
                    connection.handle_event(event);
                }
            }
            let mut buffer = Vec::new();
            while let Some(sent) = connection.poll_transmit(time, NonZeroUsize::MIN, &mut buffer) {
                let payload = buffer[..sent.size].to_vec();
                buffer.clear();
                let bytes = payload.len() as u64;
                if index == CLIENT {
                    self.sent.push((self.now, bytes));
                }
                let packet = Packet::new(Bytes::new(bytes + 28), payload);
                side.link.handle_packet(self.now, packet);
            }
        }
    }

    fn write(&mut self) {
        let connection = &mut self.sides[CLIENT]
            .connection
            .as_mut()
            .expect("it is there")
            .1;
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else {
            return;
        };
        while connection.send_stream(stream).write(&[7; 16_384]).is_ok() {}
    }

    fn read(&mut self) {
        let connection = &mut self.sides[SERVER]
            .connection
            .as_mut()
            .expect("it is there")
            .1;
        let Some(stream) = self.stream else {
            return;
        };
        let _ = connection.streams().accept(Dir::Uni);
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }

    /// What the links let go of arrives.
    fn deliver(&mut self) {
        let time = self.epoch + since_start(self.now);
        for index in [CLIENT, SERVER] {
            let from = self.sides[index].address;
            while let Some(delivery) = self.sides[index].link.poll_output(self.now) {
                let data = BytesMut::from(delivery.packet.payload.as_slice());
                self.sides[1 - index].receive(time, from, data);
            }
        }
    }
}

impl Side {
    fn new(port: u16, link: &str, server: Option<ServerConfig>, seed: u64) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed as u8; 32]));
        let spec: LinkSpec = link.parse().expect("the link is in netem's words");
        Self {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), true),
            connection: None,
            address: (Ipv4Addr::LOCALHOST, port).into(),
            link: spec.build(Duration::from_millis(40), seed),
        }
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, data: BytesMut) {
        let path = FourTuple::new(from, Some(self.address.ip()));
        let mut response = Vec::new();
        match self.endpoint.handle(now, path, None, data, &mut response) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                self.connection = Some(accepted.unwrap_or_else(|_| panic!("it was refused")));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }
}

fn since_start(now: Timestamp) -> Duration {
    now.since(Timestamp::ZERO)
}

fn timestamp(epoch: Instant, time: Instant) -> Timestamp {
    Timestamp::ZERO + time.saturating_duration_since(epoch)
}
