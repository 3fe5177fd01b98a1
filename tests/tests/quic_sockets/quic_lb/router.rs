//! The balancer.

use crate::quic_lb::server;
use paceline::quic_lb::{CidDecoder, ServerId};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::UdpSocket;

/// Forwards packets between clients and servers, those of each client's address by a socket of
/// their own, so that all servers see it at the same address and see it move. It reads the server
/// ID and the addresses, and nothing else.
pub(crate) struct Router {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    decoder: CidDecoder,
    /// By server ID.
    servers: HashMap<ServerId, SocketAddr>,
    /// Those that take packets without one, by number.
    active: Vec<(u8, SocketAddr)>,
    /// Towards servers, by client.
    flows: HashMap<SocketAddr, Arc<UdpSocket>>,
    /// Packets sent to each server.
    counts: HashMap<SocketAddr, u64>,
    addresses: HashMap<u8, SocketAddr>,
    /// Packets whose server ID no server has.
    unknown: u64,
    last_codepoint: Option<u8>,
}

impl Router {
    pub(crate) async fn start(servers: &[(u8, SocketAddr)]) -> Self {
        let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
        let mut decoder = CidDecoder::default();
        (0..2).for_each(|codepoint| decoder.learn(server::config(codepoint)));
        let named = servers.iter().copied();
        let state = Arc::new(Mutex::new(State {
            decoder,
            servers: named.map(|(number, at)| (server::id(number), at)).collect(),
            active: servers.to_vec(),
            flows: HashMap::new(),
            counts: HashMap::new(),
            addresses: servers.iter().copied().collect(),
            unknown: 0,
            last_codepoint: None,
        }));
        let address = socket.local_addr().unwrap();
        tokio::spawn(forward(socket, Arc::clone(&state)));
        Self { address, state }
    }

    /// A socket whose address the balancer takes for a client of server `number`.
    pub(crate) fn socket_for(&self, number: u8) -> std::net::UdpSocket {
        loop {
            let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let client = socket.local_addr().unwrap();
            if self.state().fallback(client).0 == number {
                return socket;
            }
        }
    }

    /// Sends what names server `old` to server `new`.
    pub(crate) fn replace(&self, old: u8, new: u8) {
        let mut state = self.state();
        let address = state.addresses[&new];
        state.servers.insert(server::id(old), address);
    }

    /// Sends server `number` no new clients.
    pub(crate) fn retire(&self, number: u8) {
        self.state().active.retain(|server| server.0 != number);
    }

    /// How many packets server `number` was sent.
    pub(crate) fn count(&self, number: u8) -> u64 {
        let state = self.state();
        let count = state.counts.get(&state.addresses[&number]);
        count.copied().unwrap_or_default()
    }

    pub(crate) fn unknown(&self) -> u64 {
        self.state().unknown
    }

    /// That of the last connection ID behind a short header.
    pub(crate) fn last_codepoint(&self) -> Option<u8> {
        self.state().last_codepoint
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn route(&mut self, client: SocketAddr, packet: &[u8]) -> SocketAddr {
        if packet[0] & 0x80 == 0 {
            self.last_codepoint = packet.get(1).map(|first| first >> 5);
        }
        let named = self.decoder.route(packet);
        let server = named.and_then(|named| self.servers.get(&named)).copied();
        if packet[0] & 0x80 == 0 && server.is_none() {
            self.unknown += 1;
        }
        let server = server.unwrap_or_else(|| self.fallback(client).1);
        *self.counts.entry(server).or_default() += 1;
        server
    }

    fn fallback(&self, client: SocketAddr) -> (u8, SocketAddr) {
        let mut hasher = DefaultHasher::new();
        client.hash(&mut hasher);
        let index = hasher.finish() % self.active.len() as u64;
        self.active[usize::try_from(index).unwrap()]
    }
}

async fn forward(socket: Arc<UdpSocket>, state: Arc<Mutex<State>>) {
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok((len, client)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        if len == 0 {
            continue;
        }
        let server = state.lock().unwrap().route(client, &buffer[..len]);
        let known = state.lock().unwrap().flows.get(&client).cloned();
        let flow = match known {
            Some(flow) => flow,
            None => open(Arc::clone(&socket), Arc::clone(&state), client).await,
        };
        // A server that is gone takes nothing, which is its clients' concern.
        let _ = flow.send_to(&buffer[..len], server).await;
    }
}

/// A socket for this client's packets to servers, and a task for those that come back.
async fn open(
    clients: Arc<UdpSocket>,
    state: Arc<Mutex<State>>,
    client: SocketAddr,
) -> Arc<UdpSocket> {
    let flow = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
    let mut state = state.lock().unwrap();
    state.flows.insert(client, Arc::clone(&flow));
    let back = Arc::clone(&flow);
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok(len) = back.recv(&mut buffer).await {
            let _ = clients.send_to(&buffer[..len], client).await;
        }
    });
    flow
}
