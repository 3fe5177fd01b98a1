//! Peers that begin a handshake as anybody does, and send Handshake packets of their own in place
//! of its rest: an endpoint as it is, whose socket takes its connections over.

use super::endpoint;
use super::frames::{
    ACK, CRYPTO, CRYPTO_BUFFER_EXCEEDED, CRYPTO_ERROR, DATAGRAM, FRAME_ENCODING_ERROR, Frames,
    Grammar, HANDSHAKE_DONE, LENGTH, MAX_DATA, NEW_CONNECTION_ID, PATH_CHALLENGE,
    PROTOCOL_VIOLATION, RETIRE_CONNECTION_ID, STREAM, Violation,
};
use super::hostile::{Judge, client_config};
use super::one_server::{SERVER, Server, fetch, simulation};
use paceline::testing::{Simulation, plaintext_suite};
use paceline::{ArrivedDatagrams, DatagramBatch, DatagramSocket, Endpoint, Side, tls};
use quinn_proto::{FixedLengthConnectionIdParser, PartialDecode};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};
use units::Rng;

/// A socket that takes a connection over at its first Handshake packet.
#[derive(Debug)]
struct Early {
    socket: Arc<dyn DatagramSocket>,
    /// A server's first one has to leave, for without it the client has no keys.
    side: Side,
    taken: Mutex<BTreeMap<Peer, Taken>>,
    takes: UnboundedSender<Peer>,
}

/// Address and connection ID of who is lied to.
type Peer = (SocketAddr, Vec<u8>);

#[derive(Debug)]
struct Taken {
    /// The connection ID that the endpoint has chosen for itself.
    source: Vec<u8>,
    /// Of the next packet.
    number: u32,
}

impl Early {
    fn bind(address: SocketAddr, side: Side) -> (Arc<Self>, UnboundedReceiver<Peer>) {
        let (takes, taken) = mpsc::unbounded_channel();
        let socket = Self {
            socket: Simulation::bind(address).unwrap(),
            side,
            taken: Mutex::default(),
            takes,
        };
        (Arc::new(socket), taken)
    }

    /// Sends frames in a Handshake packet (RFC 9000 §17.2.4).
    fn send(&self, peer: &Peer, frames: &[u8]) {
        let mut all = self.taken.lock().unwrap();
        let taken = all.get_mut(peer).expect("it was taken");
        taken.number += 1;
        let (address, destination) = peer;
        // Long header, Handshake, a packet number of four bytes; version 1.
        let mut packet = vec![0xe3, 0, 0, 0, 1];
        for id in [destination, &taken.source] {
            packet.push(id.len() as u8);
            packet.extend(id);
        }
        let length = (4 + frames.len() + TAG) as u16 | 0x4000;
        packet.extend(length.to_be_bytes());
        packet.extend((FIRST_NUMBER + taken.number).to_be_bytes());
        packet.extend(frames);
        packet.extend([0; TAG]);
        let _ = self
            .socket
            .try_send(&DatagramBatch::new(*address, &packet, packet.len()));
    }
}

impl DatagramSocket for Early {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        for datagram in batch.datagrams() {
            let peer = (batch.destination, destination(datagram));
            let mut taken = self.taken.lock().unwrap();
            if taken.contains_key(&peer) {
                continue;
            }
            let source = handshake_source(datagram);
            if let Some(source) = source.clone() {
                taken.insert(peer.clone(), Taken { source, number: 0 });
            }
            drop(taken);
            if source.is_none() || self.side == Side::Server {
                let single = DatagramBatch::new(batch.destination, datagram, datagram.len());
                self.socket.try_send(&single)?;
            }
            if source.is_some() {
                // Nobody listens any more when the test is over.
                let _ = self.takes.send(peer);
            }
        }
        Ok(())
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_writable(cx)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        self.socket.poll_recv(cx, buffer)
    }
}

/// The connection ID that the datagram's first packet goes to.
fn destination(datagram: &[u8]) -> Vec<u8> {
    packets(datagram).next().expect("it has a packet").1
}

/// The connection ID that a Handshake packet in the datagram comes from, if there is one.
fn handshake_source(datagram: &[u8]) -> Option<Vec<u8>> {
    let (handshake, destination) = packets(datagram).find(|(bytes, _)| bytes[0] & 0xb0 == 0xa0)?;
    let source = &handshake[6 + destination.len()..];
    Some(source[1..][..usize::from(source[0])].to_vec())
}

/// The packets of a datagram from their first byte on, with the connection IDs that they go to.
fn packets(datagram: &[u8]) -> impl Iterator<Item = (&[u8], Vec<u8>)> {
    let ids = FixedLengthConnectionIdParser::new(ID);
    let mut rest = Some(datagram);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        let (packet, after) = PartialDecode::new(bytes.into(), &ids, &[1], true).ok()?;
        rest = after.map(|after| &bytes[bytes.len() - after.len()..]);
        Some((bytes, packet.dst_cid().to_vec()))
    })
}

/// Begins handshakes with some of the servers, and goes on by the grammar.
pub(super) async fn client(servers: Vec<SocketAddr>, judge: Judge, mut rng: Rng) {
    for _ in 0..=rng.below(4) {
        let server = servers[rng.below(servers.len() as u64) as usize];
        if let Some((client, peer)) = Client::begin(server).await {
            let own = client.socket.local_addr().unwrap();
            attack(&client.socket, &peer, (own, Side::Client), &judge, &mut rng).await;
        }
    }
}

/// Answers whoever comes by its first datagram, and goes on by the grammar.
pub(super) async fn server(
    certificate: Arc<tls::SelfSigned>,
    address: SocketAddr,
    judge: Judge,
    mut rng: Rng,
) {
    let (socket, mut taken) = Early::bind(address, Side::Server);
    let tls = certificate.server().suites(&[plaintext_suite()]);
    let (config, shared) = (tls.config().unwrap(), Arc::clone(&socket) as _);
    let endpoint = endpoint::bind(Some(config), shared);
    judge.permit(address, &[]);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    connection.closed().await;
                }
            });
        }
    });
    while let Some(peer) = taken.recv().await {
        let (socket, judge) = (Arc::clone(&socket), judge.clone());
        let mut own = Rng::derive(rng.next_u64(), 0);
        tokio::spawn(async move {
            attack(&socket, &peer, (address, Side::Server), &judge, &mut own).await;
        });
    }
}

async fn attack(
    socket: &Early,
    peer: &Peer,
    (own, side): (SocketAddr, Side),
    judge: &Judge,
    rng: &mut Rng,
) {
    let mut grammar = Grammar::new(Rng::derive(rng.next_u64(), 0), side);
    for _ in 0..=rng.below(30) {
        let Frames { bytes, errors } = grammar.handshake_packet();
        judge.permit(own, &errors);
        socket.send(peer, &bytes);
        if rng.below(4) == 0 {
            sleep(rng.duration_between(Duration::ZERO, Duration::from_millis(400))).await;
        }
    }
}

/// A client whose handshake has been taken over.
struct Client {
    socket: Arc<Early>,
    _endpoint: Endpoint,
}

impl Client {
    async fn begin(server: SocketAddr) -> Option<(Self, Peer)> {
        let (socket, mut taken) = Early::bind("0.0.0.0:0".parse().unwrap(), Side::Client);
        let shared = Arc::clone(&socket) as _;
        let endpoint = endpoint::bind(None, shared);
        let connecting = endpoint.connect_with(client_config(), server, "server.test");
        tokio::spawn(connecting.unwrap());
        let peer = timeout(Duration::from_secs(20), taken.recv()).await;
        let client = Self {
            socket,
            _endpoint: endpoint,
        };
        Some((client, peer.ok()??))
    }
}

/// What no Handshake packet may have. An application's CONNECTION_CLOSE is not among them:
/// quinn-proto takes it (docs/upstream.md).
const VIOLATIONS: [Violation; 13] = [
    ("data", STREAM | LENGTH, &[0, 1], &[7], PROTOCOL_VIOLATION),
    ("credit", MAX_DATA, &[9], &[], PROTOCOL_VIOLATION),
    (
        "a challenge",
        PATH_CHALLENGE,
        &[],
        &[7; 8],
        PROTOCOL_VIOLATION,
    ),
    (
        "an ID",
        NEW_CONNECTION_ID,
        &[1, 0],
        &[8; 25],
        PROTOCOL_VIOLATION,
    ),
    (
        "an ID's end",
        RETIRE_CONNECTION_ID,
        &[0],
        &[],
        PROTOCOL_VIOLATION,
    ),
    ("a datagram", DATAGRAM, &[1], &[7], PROTOCOL_VIOLATION),
    ("its end", HANDSHAKE_DONE, &[], &[], PROTOCOL_VIOLATION),
    (
        "an ACK of what was never sent",
        ACK,
        &[1 << 40, 0, 0, 0],
        &[],
        PROTOCOL_VIOLATION,
    ),
    (
        "an ACK of numbers below zero",
        ACK,
        &[0, 0, 0, 9],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "a message of another kind",
        CRYPTO,
        &[0, 4],
        &[1, 0, 0, 0],
        CRYPTO_ERROR,
    ),
    (
        "a message that proves nothing",
        CRYPTO,
        &[0, 36],
        &FINISHED,
        CRYPTO_ERROR,
    ),
    (
        "messages far ahead",
        CRYPTO,
        &[1 << 30, 4],
        &[9; 4],
        CRYPTO_BUFFER_EXCEEDED,
    ),
    (
        "a type that nobody knows",
        0x21,
        &[],
        &[],
        FRAME_ENCODING_ERROR,
    ),
];

/// A client's last message, with a code that is not that of the keys.
const FINISHED: [u8; 36] = {
    let mut message = [7; 36];
    [message[0], message[1], message[2], message[3]] = [20, 0, 0, 32];
    message
};

#[test]
fn each_violation_in_a_handshake_packet_has_its_error_and_others_are_served() {
    for (name, kind, integers, rest, error) in VIOLATIONS {
        let mut frames = Frames::default();
        frames.add(kind, integers, rest);
        assert_eq!(answered(frames.bytes), Some(error), "{name}");
    }
    assert_eq!(
        answered(vec![]),
        Some(PROTOCOL_VIOLATION),
        "no frame at all"
    );
}

/// The error with which the server ends a handshake with these frames in it.
fn answered(frames: Vec<u8>) -> Option<u64> {
    simulation().run(async move {
        let mut server = Server::start();
        let honest = tokio::spawn(fetch(Arc::clone(&server.certificate)));
        let (client, peer) = Client::begin(SERVER.parse().unwrap()).await.unwrap();
        client.socket.send(&peer, &frames);
        let error = server.error_of(client.socket.local_addr().unwrap()).await;
        honest.await.expect("the other one gets its bytes");
        error
    })
}

/// More than an endpoint has sent before it is taken over.
const FIRST_NUMBER: u32 = 100;
/// Bytes of quinn-proto's connection IDs.
const ID: usize = 8;
/// Bytes behind the frames of a packet.
const TAG: usize = 16;
