//! Floods of clients' first packets through sockets in memory. What is counted is packets.

use super::*;
use crate::endpoint::newcomers::MAX_DATAGRAMS;
use crate::tls::{self, SelfSigned};
use crate::{
    ArrivedDatagrams, ClientConfig, Connection, DatagramBatch, DatagramSocket, Endpoint,
    EndpointConfig,
};
use rustls::RootCertStore;
use std::collections::VecDeque;
use std::future::IntoFuture;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::task::yield_now;

/// A socket whose datagrams go to its peer's inbox. What comes of a flood comes before that.
#[derive(Debug)]
struct Wire {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    peer: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    inbox: VecDeque<Vec<u8>>,
    waker: Option<Waker>,
    flood: Flood,
    /// Datagrams sent to others than the peer.
    answers: usize,
    /// How many there were when a datagram last left for the peer.
    answers_before: usize,
}

#[derive(Debug, Default)]
struct Flood {
    initials: Vec<Vec<u8>>,
    left: usize,
    sent: usize,
    /// One of so many datagrams is the peer's; 0 if all of the flood comes first.
    peer_each: usize,
}

impl DatagramSocket for Wire {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        if ![SERVER, CLIENT].contains(&batch.destination) {
            self.state.lock().unwrap().answers += 1;
            return Ok(());
        }
        {
            let mut state = self.state.lock().unwrap();
            state.answers_before = state.answers;
        }
        let mut peer = self.peer.lock().unwrap();
        peer.inbox.extend(batch.datagrams().map(<[u8]>::to_vec));
        peer.wake();
        Ok(())
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        let mut state = self.state.lock().unwrap();
        let is_peers = state.flood.is_peers_turn() && !state.inbox.is_empty();
        let flood = if is_peers { None } else { state.flood.next() };
        let (datagram, source) = if let Some(next) = flood {
            next
        } else if let Some(datagram) = state.inbox.pop_front() {
            let source = if self.address == SERVER {
                CLIENT
            } else {
                SERVER
            };
            (datagram, source)
        } else {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Poll::Ready(Ok(ArrivedDatagrams::one(datagram.len(), source)))
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Flood {
    fn is_peers_turn(&self) -> bool {
        self.peer_each > 0 && self.sent.is_multiple_of(self.peer_each)
    }

    fn next(&mut self) -> Option<(Vec<u8>, SocketAddr)> {
        self.left = self.left.checked_sub(1)?;
        self.sent += 1;
        let [.., high, low] = self.sent.to_be_bytes();
        let source = (Ipv4Addr::new(10, 0, high, low), 443).into();
        Some((
            self.initials[self.sent % self.initials.len()].clone(),
            source,
        ))
    }
}

/// A server that has every client prove its address, on a socket that a flood can come to.
struct Target {
    server: Endpoint,
    client: Endpoint,
    state: Arc<Mutex<State>>,
}

impl Target {
    fn new() -> Self {
        let certificate = SelfSigned::generate(["localhost"]).unwrap();
        let states: [Arc<Mutex<State>>; 2] = Default::default();
        let wires = [(SERVER, 0), (CLIENT, 1)].map(|(address, own)| Wire {
            address,
            state: Arc::clone(&states[own]),
            peer: Arc::clone(&states[1 - own]),
        });
        let [server, client] = wires.map(Arc::new);
        let (config, own) = (
            certificate.server().config().unwrap(),
            EndpointConfig::default(),
        );
        let server = Endpoint::with_socket(own.clone(), Some(config), server).unwrap();
        let mut client = Endpoint::with_socket(own, None, client).unwrap();
        client.set_default_client_config(client_config(&certificate));
        let [state, _] = states;
        state.lock().unwrap().flood.initials = initials(&certificate, 256);
        Self {
            server,
            client,
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Has a flood of `count` packets wait in the socket, in front of all else.
    fn flood(&self, count: usize) {
        self.state().flood.left = count;
        self.state().wake();
    }

    /// Sends a Retry to each new client, and keeps what comes back with its token.
    fn accept(&self) -> tokio::sync::mpsc::UnboundedReceiver<Connection> {
        let (accepted, connections) = tokio::sync::mpsc::unbounded_channel();
        let server = self.server.clone();
        tokio::spawn(async move {
            while let Some(attempt) = server.accept().await {
                if attempt.remote_address_validated() {
                    accepted.send(attempt.await.unwrap()).unwrap();
                } else {
                    attempt.retry().unwrap();
                }
            }
        });
        connections
    }

    async fn connect(&self) -> Connection {
        let connecting = self.client.connect(SERVER, "localhost").unwrap();
        connecting.await.unwrap()
    }

    /// Lets both endpoints have turns until the server has nothing to do.
    async fn settle(&self) {
        let mut calm = 0;
        while calm < 100 {
            let before = self.state().answers;
            yield_now().await;
            let is_calm = self.state().flood.left == 0 && self.state().answers == before;
            calm = if is_calm { calm + 1 } else { 0 };
        }
    }
}

fn client_config(certificate: &SelfSigned) -> ClientConfig {
    let config = tls::client_with_fingerprint(certificate.fingerprint).config();
    config.unwrap()
}

/// First packets of clients, as quinn-proto makes them.
fn initials(certificate: &SelfSigned, count: usize) -> Vec<Vec<u8>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let config = quinn_proto::ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut proto = quinn_proto::Endpoint::new(Arc::default(), None, false, None);
    let now: Instant = clock::now();
    let mut initial = || {
        let (_, mut conn) = proto
            .connect(now, config.clone(), SERVER, "localhost")
            .unwrap();
        let mut packet = Vec::new();
        let first = conn.poll_transmit(now, 1, &mut packet);
        assert_eq!(first.unwrap().size, 1_200);
        packet
    };
    (0..count).map(|_| initial()).collect()
}

#[tokio::test]
async fn a_flood_is_shed_before_it_costs_a_retry() {
    let target = Target::new();
    let _connections = target.accept();
    target.flood(20_000);
    target.settle().await;
    let stats = target.server.stats();
    assert_eq!(stats.initials_received, 20_000);
    assert_eq!(stats.initials_shed + stats.retries_sent, 20_000);
    assert_eq!(target.state().answers as u64, stats.retries_sent);
    // Those that waited when the socket was empty, and a few in each turn before.
    let turns = 20_000 * 1_200 / (256 << 10) + 2;
    let most = (MAX_DATAGRAMS + turns * MOST_BEHIND) as u64;
    let retries = stats.retries_sent;
    assert!(
        (MAX_DATAGRAMS as u64..=most).contains(&retries),
        "{retries}"
    );
}

#[tokio::test]
async fn a_burst_of_clients_is_answered_to_the_last() {
    let target = Target::new();
    let _connections = target.accept();
    target.flood(MAX_DATAGRAMS);
    target.settle().await;
    let stats = target.server.stats();
    assert_eq!(
        (stats.initials_shed, stats.retries_sent),
        (0, MAX_DATAGRAMS as u64)
    );
}

#[tokio::test]
async fn connections_are_served_before_newcomers_that_came_before() {
    let target = Target::new();
    let mut connections = target.accept();
    let connection = target.connect().await;
    let accepted = connections.recv().await.unwrap();
    target.settle().await;
    let before = target.state().answers;
    connection.send_datagram("question".into()).unwrap();
    // It lies in the socket behind these.
    target.state().flood.left = 1_000;
    assert_eq!(accepted.read_datagram().await.unwrap(), "question");
    // Four turns that leave some in the socket, and the one that empties it.
    let most = 4 * MOST_BEHIND + MOST;
    let answered = target.state().answers - before;
    assert!(answered <= most, "{answered} newcomers first");
    target.settle().await;
    assert_eq!(target.state().answers - before, 1_000);
}

#[tokio::test]
async fn a_handshake_that_has_begun_goes_on_in_a_flood() {
    let target = Target::new();
    let connecting = target.client.connect(SERVER, "localhost").unwrap();
    // Without a Retry: no token shows that the client is known.
    let attempt = target.server.accept().await.unwrap();
    let _connections = target.accept();
    target.state().flood.peer_each = 100;
    target.flood(usize::MAX);
    while target.server.stats().initials_shed == 0 {
        yield_now().await;
    }
    let accepted = attempt.into_future();
    let (client, server) = tokio::join!(connecting, accepted);
    // One to begin with, one that ends the handshake, and what is sent at once behind it. One that
    // were shed would be repeated.
    let received = server.unwrap().stats().udp_rx.datagrams;
    assert!(received <= 3, "{received} datagrams");
    drop(client);
    target.flood(0);
}

const SERVER: SocketAddr = address(1);
const CLIENT: SocketAddr = address(2);

const fn address(host: u8) -> SocketAddr {
    let ip = Ipv4Addr::new(192, 0, 2, host);
    SocketAddr::V4(std::net::SocketAddrV4::new(ip, 443))
}
