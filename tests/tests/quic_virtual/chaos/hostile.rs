//! Peers that finish the handshake as anybody does, and from then on send what they please: an
//! endpoint as it is, whose socket takes its connections over.

use super::endpoint;
use super::frames::{Frames, Grammar};
use super::hello;
use paceline::testing::{Simulation, plaintext_suite};
use paceline::{
    ArrivedDatagrams, ClientConfig, ConnectionError, DatagramBatch, DatagramSocket, ServerConfig,
    Side, tls,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use units::Rng;

/// The errors with which honest endpoints may end connections: none with honest peers, and with
/// hostile ones those that RFC 9000 has for what they have sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Judge(Arc<Mutex<Judgement>>);

#[derive(Debug, Default)]
struct Judgement {
    /// By the hostile peer's address.
    permitted: BTreeMap<SocketAddr, BTreeSet<u64>>,
    wrong: Vec<String>,
    /// Errors that were right.
    found: BTreeMap<u64, u64>,
}

impl Judge {
    pub(super) fn permit(&self, hostile: SocketAddr, errors: &[u64]) {
        let mut judgement = self.0.lock().unwrap();
        let permitted = judgement.permitted.entry(hostile).or_default();
        permitted.extend(errors);
    }

    /// An honest endpoint's connection with `peer` has ended.
    pub(super) fn ended(&self, peer: SocketAddr, error: &ConnectionError) {
        let ConnectionError::TransportError(found) = error else {
            return;
        };
        // A first packet that was damaged on its way is dropped, and begins no connection.
        if found.reason == "authentication failed" {
            return;
        }
        let code = match u64::from(found.code) {
            alert @ 0x100..0x200 => alert & super::frames::CRYPTO_ERROR,
            code => code,
        };
        let mut judgement = self.0.lock().unwrap();
        match judgement.permitted.get(&peer) {
            Some(permitted) if permitted.contains(&code) => {
                *judgement.found.entry(code).or_default() += 1;
            }
            permitted => {
                let wrong = format!("{peer}: {found}, where {permitted:x?} is right");
                judgement.wrong.push(wrong);
            }
        }
    }

    /// How often there was which error; all have to be right.
    pub(super) fn conclude(&self) -> BTreeMap<u64, u64> {
        let judgement = self.0.lock().unwrap();
        assert!(judgement.wrong.is_empty(), "{:#?}", judgement.wrong);
        judgement.found.clone()
    }
}

/// A socket that lets an endpoint finish its handshakes, and then sends packets of its own.
#[derive(Debug)]
pub(super) struct Takeover {
    socket: Arc<dyn DatagramSocket>,
    connections: Mutex<BTreeMap<SocketAddr, Taken>>,
}

/// What is known of the connection with one peer.
#[derive(Debug, Default)]
struct Taken {
    /// The connection ID of packets to the peer.
    id: Option<[u8; ID]>,
    is_taken: bool,
    /// Of the next packet.
    number: u32,
    /// The latest packets that came from the peer.
    seen: VecDeque<u64>,
}

impl Takeover {
    pub(super) fn bind(address: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            socket: Simulation::bind(address).unwrap(),
            connections: Mutex::default(),
        })
    }

    /// Sends on behalf of the endpoint from now on; `false` if it has sent no packet yet that could
    /// be imitated.
    pub(super) fn take(&self, peer: SocketAddr) -> bool {
        let mut connections = self.connections.lock().unwrap();
        let taken = connections.entry(peer).or_default();
        taken.is_taken = taken.id.is_some();
        taken.is_taken
    }

    /// Sends frames in a packet with a short header (RFC 9000 §17.3.1), whose first byte has these
    /// bits changed.
    pub(super) fn send(&self, peer: SocketAddr, frames: &[u8], header: u8) {
        let mut connections = self.connections.lock().unwrap();
        let taken = connections.entry(peer).or_default();
        let Some(id) = taken.id else { return };
        taken.number += 1;
        let number = FIRST_NUMBER + taken.number;
        let first = [(0x40 | 3) ^ header];
        let packet = [&first[..], &id, &number.to_be_bytes(), frames, &[0; 16]].concat();
        let _ = self
            .socket
            .try_send(&DatagramBatch::new(peer, &packet, packet.len()));
    }

    fn seen(&self, peer: SocketAddr) -> VecDeque<u64> {
        let connections = self.connections.lock().unwrap();
        connections
            .get(&peer)
            .map_or_else(VecDeque::new, |taken| taken.seen.clone())
    }
}

impl DatagramSocket for Takeover {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let mut connections = self.connections.lock().unwrap();
        let taken = connections.entry(batch.destination).or_default();
        if taken.is_taken {
            return Ok(());
        }
        if let Some((first, rest)) = batch.contents.split_first()
            && first & 0x80 == 0
        {
            taken.id = rest.first_chunk().copied();
        }
        drop(connections);
        self.socket.try_send(batch)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_writable(cx)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        let arrived = self.socket.poll_recv(cx, buffer);
        if let Poll::Ready(Ok(arrived)) = &arrived
            && let Some(first) = buffer.first().filter(|first| *first & 0x80 == 0)
        {
            let bytes = &buffer[1 + ID..][..usize::from(first & 3) + 1];
            let mut connections = self.connections.lock().unwrap();
            let taken = connections.entry(arrived.source).or_default();
            let number = complete(bytes, taken.seen.back().copied());
            taken.seen.push_back(number);
            if taken.seen.len() > MAX_SEEN {
                taken.seen.pop_front();
            }
        }
        arrived
    }
}

/// The packet number nearest to the next one that ends like this (RFC 9000 §A.3).
fn complete(bytes: &[u8], newest: Option<u64>) -> u64 {
    let end = bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    let window = 1_u64 << (8 * bytes.len());
    let next = newest.map_or(0, |newest| newest + 1);
    let candidate = next & !(window - 1) | end;
    if candidate + window / 2 <= next {
        candidate + window
    } else if candidate > next + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// Comes to one of the servers after the other, by turns with and without a right first packet.
pub(super) async fn client(servers: Vec<SocketAddr>, judge: Judge, mut rng: Rng) {
    for _ in 0..=rng.below(4) {
        let server = servers[rng.below(servers.len() as u64) as usize];
        let mut own = Rng::derive(rng.next_u64(), 0);
        if own.below(3) == 0 {
            hello::send(server, &judge, &mut own);
            sleep(own.duration_between(Duration::ZERO, Duration::from_secs(1))).await;
            continue;
        }
        let socket = Takeover::bind("0.0.0.0:0".parse().unwrap());
        let own_address = socket.local_addr().unwrap();
        let endpoint = endpoint::bind(None, Arc::clone(&socket) as _);
        let connecting = endpoint.connect_with(client_config(), server, "server.test");
        let connecting = timeout(Duration::from_secs(20), connecting.unwrap()).await;
        let Ok(Ok(connection)) = connecting else {
            continue;
        };
        let _ = connection.send_datagram(vec![1; 10].into());
        judge.permit(own_address, &[]);
        attack(&socket, server, own_address, &judge, (own, Side::Client)).await;
    }
}

/// Takes whoever comes, and repays them.
pub(super) async fn server(
    certificate: Arc<tls::SelfSigned>,
    address: SocketAddr,
    judge: Judge,
    mut rng: Rng,
) {
    let socket = Takeover::bind(address);
    let config = certificate.server().suites(&[plaintext_suite()]).config();
    let config: ServerConfig = config.unwrap();
    let taken = Arc::clone(&socket) as _;
    let endpoint = endpoint::bind(Some(config), taken);
    judge.permit(address, &[]);
    while let Some(incoming) = endpoint.accept().await {
        let (judge, socket) = (judge.clone(), Arc::clone(&socket));
        let own = Rng::derive(rng.next_u64(), 0);
        tokio::spawn(async move {
            let connection = incoming.await.ok()?;
            let peer = connection.remote_address();
            attack(&socket, peer, address, &judge, (own, Side::Server)).await;
            Some(())
        });
    }
}

/// Sends packets by the grammar, in bursts.
async fn attack(
    socket: &Takeover,
    peer: SocketAddr,
    own: SocketAddr,
    judge: &Judge,
    (mut rng, side): (Rng, Side),
) {
    for _ in 0..50 {
        if socket.take(peer) {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let mut grammar = Grammar::new(Rng::derive(rng.next_u64(), 0), side);
    for _ in 0..rng.below(80) {
        let Frames { bytes, errors } = grammar.packet(&socket.seen(peer));
        judge.permit(own, &errors);
        let header = match rng.below(60) {
            // Reserved bits, and the key's phase.
            0 => {
                let errors = [
                    super::frames::KEY_UPDATE_ERROR,
                    super::frames::PROTOCOL_VIOLATION,
                ];
                judge.permit(own, &errors);
                (rng.below(8) as u8) << 2
            }
            _ => 0,
        };
        socket.send(peer, &bytes, header);
        if rng.below(4) == 0 {
            sleep(rng.duration_between(Duration::ZERO, Duration::from_millis(400))).await;
        }
    }
}

/// Of a client whose packets are not encrypted once the server has answered.
pub(super) fn client_config() -> ClientConfig {
    let tls = tls::client_without_verification().suites(&[plaintext_suite()]);
    tls.config().unwrap()
}

/// Bytes of quinn-proto's connection IDs.
const ID: usize = 8;

/// More than an endpoint has sent before it is taken over.
const FIRST_NUMBER: u32 = 1_000;

/// Packets that may be acknowledged.
const MAX_SEEN: usize = 64;
