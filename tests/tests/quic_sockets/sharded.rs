//! A sharded server as its clients see it, over loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod nat;

use nat::Nat;
use paceline::quic_lb::{CidConfig, ConnectionIds, ServerId};
use paceline::tls::{self, SelfSigned};
use paceline::{
    BloomTokenLog, ClientConfig, Connection, ConnectionError, Endpoint, Incoming, RecvStream,
    SendStream, ServerConfig, ShardedBuilder, ShardedServer, Steering, TransportConfig, VarInt,
};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

/// NATs in front of 40 clients forget their ports when each of 25 connections has half of its
/// data. All of them then come from ports that are new to the server, and still each packet
/// reaches its shard.
#[tokio::test]
async fn a_thousand_connections_move_in_mid_transfer_and_none_is_lost() {
    const CLIENTS: usize = 40;
    const EACH: usize = 25;
    let server = Server::start(|builder| builder);
    let gates = Arc::new(Gates::new(CLIENTS * EACH));
    let (mut transfers, mut nats) = (JoinSet::new(), Vec::new());
    for number in 0..CLIENTS {
        let nat = Nat::start(server.address()).await;
        let client = server.client(&TransportConfig::default());
        for each in 0..EACH {
            let seed = (number * EACH + each) as u64;
            let (client, address, gates) = (client.clone(), nat.address, gates.clone());
            transfers.spawn(async move { gates.transfer(&client, address, seed).await });
        }
        nats.push(nat);
    }
    gates.half_done.wait().await;
    nats.iter().for_each(Nat::forget);
    gates.moved.wait().await;
    within_a_minute(transfers.join_all()).await;

    let served = server.end().await;
    assert_eq!(served.log.len(), CLIENTS * EACH);
    assert!(served.log.iter().all(|served| served.has_moved));
    for (shard, stats) in served.stats.iter().enumerate() {
        assert_eq!((stats.misrouted, stats.misrouted_lost), (0, 0));
        let count = served.log.iter().filter(|served| served.shard == shard);
        // Five standard deviations of the binomial distribution: once in a million runs.
        let shards = served.stats.len() as f64;
        let (mean, share) = ((CLIENTS * EACH) as f64 / shards, 1.0 / shards);
        let bound = 5.0 * (mean * (1.0 - share)).sqrt();
        let count = count.count() as f64;
        assert!((count - mean).abs() <= bound, "shard {shard}: {count}");
    }
}

/// The rule does not depend on who makes the connection IDs.
#[tokio::test]
async fn connection_ids_of_a_fleet_find_their_shard_after_a_move() {
    let key = [7; 16];
    let config = CidConfig::encrypted(0, 3, 6, key).unwrap();
    let ids = ConnectionIds::new(config, ServerId::new(&[1, 2, 3]).unwrap()).unwrap();
    let server = Server::start(move |builder| {
        builder.connection_ids(move |shard| ids.with_shard(shard).unwrap().generator())
    });
    let client = server.client(&TransportConfig::default());
    let connections = connections(&client, server.address(), 32).await;
    for connection in &connections {
        echo_of(connection, b"from the old port").await;
    }
    // The client knows of its move, and takes IDs that the server has issued meanwhile.
    client
        .rebind(std::net::UdpSocket::bind(any()).unwrap())
        .unwrap();
    for (seed, connection) in connections.iter().enumerate() {
        echo_of(connection, &noise(seed as u64, 30_000)).await;
        connection.close(VarInt::from_u32(0), b"");
    }
    let served = server.end().await;
    assert!(served.log.iter().all(|served| served.has_moved));
    assert!(served.stats.iter().all(|stats| stats.misrouted == 0));
    let shards: BTreeSet<_> = served.log.iter().map(|served| served.shard).collect();
    // Of 32 connections, that a given one of 4 shards gets none happens once in 10,000 runs.
    assert!(shards.len() + 1 >= served.stats.len(), "{shards:?}");
}

/// Interfaces merge what one socket sends (GRO), and the kernel steers all of it by the first
/// packet. The shard that gets it hands on what belongs to others.
#[tokio::test]
async fn merged_packets_of_several_connections_reach_each_its_own() {
    let server = Server::start(|builder| builder);
    let mut transport = TransportConfig::default();
    transport.mtu_discovery_config(None);
    let client = server.client(&transport);
    let address = nat::merging(server.address()).await;
    let connections = connections(&client, address, 16).await;
    let mut transfers = JoinSet::new();
    for (seed, connection) in connections.into_iter().enumerate() {
        transfers.spawn(async move {
            echo_of(&connection, &noise(seed as u64, 200_000)).await;
            connection.close(VarInt::from_u32(0), b"");
        });
    }
    within_a_minute(transfers.join_all()).await;
    let is_steered = server.server.steering() == Steering::Kernel;
    let served = server.end().await;
    let misrouted: u64 = served.stats.iter().map(|stats| stats.misrouted).sum();
    assert_eq!(misrouted > 100, is_steered, "{misrouted} datagrams");
    let lost: u64 = served.stats.iter().map(|stats| stats.misrouted_lost).sum();
    assert!(lost <= misrouted / 2, "{lost} of {misrouted} datagrams");
}

#[tokio::test]
async fn a_handler_that_panics_takes_no_other_connection_along() {
    let server = Server::start(|builder| builder);
    let client = server.client(&TransportConfig::default());
    let connections = connections(&client, server.address(), 24).await;
    let (doomed, spared) = connections.split_at(8);
    for connection in doomed {
        let (mut send, _) = connection.open_bi().await.unwrap();
        send.write_all(PANIC).await.unwrap();
        send.finish().unwrap();
        within_a_minute(connection.closed()).await;
    }
    for (seed, connection) in spared.iter().enumerate() {
        echo_of(connection, &noise(seed as u64, 10_000)).await;
        connection.close(VarInt::from_u32(0), b"");
    }
    let stats = server.server.stats();
    assert!(stats.iter().all(|stats| stats.is_accepting));
    assert_eq!(
        stats.iter().map(|stats| stats.handler_panics).sum::<u64>(),
        8
    );
    server.end().await;
}

/// The token that a client has from one shard convinces whichever shard it comes to next.
#[tokio::test]
async fn shards_accept_each_others_tokens() {
    let server = Server::start(|builder| builder);
    let client = server.client(&TransportConfig::default());
    for seed in 0..20 {
        let connection = client
            .connect(server.address(), NAME)
            .unwrap()
            .await
            .unwrap();
        echo_of(&connection, &noise(seed, 1_000)).await;
        connection.close(VarInt::from_u32(0), b"");
        client.wait_idle().await;
    }
    let served = server.end().await;
    let shards: BTreeSet<_> = served.log.iter().map(|served| served.shard).collect();
    assert!(shards.len() > 1 || served.stats.len() == 1, "{shards:?}");
    for (index, served) in served.log.iter().enumerate() {
        assert_eq!(served.came_validated, index > 0, "connection {index}");
    }
}

/// Data for the client is lost, and when the server at last looks at its socket, the time to send
/// it again has passed and the client has moved.
#[tokio::test]
async fn a_shard_that_looks_late_takes_the_move_before_the_timeout() {
    let server = Server::start(|builder| builder);
    let nat = Nat::start(server.address()).await;
    let client = server.client(&TransportConfig::default());
    let connection = connections(&client, nat.address, 1).await.remove(0);
    echo_of(&connection, &noise(1, 1_000)).await;
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(STALL).await.unwrap();
    tokio::time::sleep(STALLS / 4).await;
    nat.forget();
    tokio::time::sleep(STALLS).await;
    let data = noise(2, 20);
    send.write_all(&data).await.unwrap();
    send.finish().unwrap();
    let echo = within_a_minute(recv.read_to_end(100)).await.unwrap();
    assert!(echo == [STALL, &data].concat());
    connection.close(VarInt::from_u32(0), b"");
    server.end().await;
}

#[tokio::test]
async fn a_draining_server_finishes_what_it_has_and_takes_nothing_new() {
    let server = Server::start(|builder| builder);
    let client = server.client(&TransportConfig::default());
    let old = connections(&client, server.address(), 8).await;
    server.server.drain();
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(VarInt::from_u32(500).into()));
    let config = client_config(&server.certificate, &transport);
    let new = client.connect_with(config, server.address(), NAME).unwrap();
    assert_eq!(new.await.unwrap_err(), ConnectionError::TimedOut);
    let stats = server.server.stats();
    assert!(stats.iter().all(|stats| !stats.is_accepting));
    for (seed, connection) in old.iter().enumerate() {
        echo_of(connection, &noise(seed as u64, 10_000)).await;
    }
    assert_eq!(server.server.open_connections(), 8);
    client.close(VarInt::from_u32(0), b"");
    assert_eq!(server.end().await.log.len(), 8);
}

#[tokio::test]
async fn a_dropped_server_goes_on_until_its_last_connection_has_ended() {
    let Server {
        server,
        certificate,
        ..
    } = Server::start(|builder| builder);
    let address = server.local_addr();
    let client = client(&certificate, &TransportConfig::default());
    let connections = connections(&client, address, 8).await;
    drop(server);
    for (seed, connection) in connections.iter().enumerate() {
        echo_of(connection, &noise(seed as u64, 10_000)).await;
        connection.close(VarInt::from_u32(0), b"");
    }
    let port_is_free = async {
        while std::net::UdpSocket::bind(address).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within_a_minute(port_is_free).await;
}

#[tokio::test]
async fn closing_ends_every_connection_of_every_shard() {
    let server = Server::start(|builder| builder);
    let client = server.client(&TransportConfig::default());
    let connections = connections(&client, server.address(), 16).await;
    for connection in &connections {
        echo_of(connection, b"hello").await;
    }
    server.server.close(VarInt::from_u32(7), b"enough");
    for connection in &connections {
        match connection.closed().await {
            ConnectionError::ApplicationClosed(close) => {
                assert_eq!(close.error_code, VarInt::from_u32(7));
            }
            error => panic!("{error}"),
        }
    }
    let address = server.address();
    assert_eq!(server.end().await.log.len(), 16);
    std::net::UdpSocket::bind(address).expect("no socket is left");
}

#[tokio::test]
async fn one_shard_needs_no_steering() {
    let server = Server::start(|builder| builder.shards(1));
    assert_eq!(server.server.steering(), Steering::Unneeded);
    let client = server.client(&TransportConfig::default());
    for connection in connections(&client, server.address(), 2).await {
        echo_of(&connection, b"hello").await;
        connection.close(VarInt::from_u32(0), b"");
    }
    assert_eq!(server.end().await.stats.len(), 1);
}

#[test]
fn impossible_numbers_of_shards_are_refused() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    for shards in [0, 257] {
        let config = certificate.server().config().unwrap();
        let builder = ShardedServer::builder(config, any()).shards(shards);
        let error = builder.serve(|attempt| async { attempt.ignore() });
        let expected = format!("{shards} shards, expected 1 to 256");
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

/// A server that echoes streams and keeps a log of its connections.
struct Server {
    server: ShardedServer,
    certificate: SelfSigned,
    log: Arc<Mutex<Vec<Served>>>,
}

/// What a server has done.
struct Ended {
    log: Vec<Served>,
    stats: Vec<paceline::EndpointStats>,
}

/// A connection that has ended.
#[derive(Debug)]
struct Served {
    shard: usize,
    came_validated: bool,
    has_moved: bool,
}

impl Server {
    fn start(with: impl FnOnce(ShardedBuilder) -> ShardedBuilder) -> Self {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let log = Arc::<Mutex<Vec<Served>>>::default();
        let kept = Arc::clone(&log);
        let builder = ShardedServer::builder(server_config(&certificate), any()).shards(SHARDS);
        let server = with(builder).serve_each(move |shard| {
            // Nothing that a handler has need be Send.
            let log = Rc::new(Log {
                shard,
                served: Arc::clone(&kept),
            });
            move |attempt| serve(attempt, Rc::clone(&log))
        });
        Self {
            server: server.unwrap(),
            certificate,
            log,
        }
    }

    fn address(&self) -> SocketAddr {
        self.server.local_addr()
    }

    fn client(&self, transport: &TransportConfig) -> Endpoint {
        client(&self.certificate, transport)
    }

    /// Waits until all is done.
    async fn end(self) -> Ended {
        self.server.drain();
        within_a_minute(self.server.wait_idle()).await;
        assert_eq!(self.server.open_connections(), 0);
        let stats = self.server.stats();
        within_a_minute(self.server.join()).await;
        Ended {
            log: std::mem::take(&mut self.log.lock().unwrap()),
            stats: stats.into_iter().map(|stats| stats.endpoint).collect(),
        }
    }
}

fn client(certificate: &SelfSigned, transport: &TransportConfig) -> Endpoint {
    let mut client = Endpoint::client(any()).unwrap();
    client.set_default_client_config(client_config(certificate, transport));
    client
}

fn client_config(certificate: &SelfSigned, transport: &TransportConfig) -> ClientConfig {
    let config = tls::client_with_fingerprint(certificate.fingerprint).config();
    let mut config = config.unwrap();
    config.transport_config(Arc::new(transport.clone()));
    config
}

fn server_config(certificate: &SelfSigned) -> ServerConfig {
    let mut config = certificate.server().config().unwrap();
    let mut tokens = paceline::ValidationTokenConfig::default();
    tokens.sent(2).log(Arc::new(BloomTokenLog::default()));
    config.validation_token_config(tokens);
    config
}

struct Log {
    shard: usize,
    served: Arc<Mutex<Vec<Served>>>,
}

async fn serve(attempt: Incoming, log: Rc<Log>) {
    let came_validated = attempt.remote_address_validated();
    let Ok(connection) = attempt.await else {
        return;
    };
    let came_from = connection.remote_address();
    while let Ok((send, recv)) = connection.accept_bi().await {
        echo(send, recv).await;
    }
    log.served.lock().unwrap().push(Served {
        shard: log.shard,
        came_validated,
        has_moved: connection.remote_address() != came_from,
    });
}

async fn echo(mut send: SendStream, mut recv: RecvStream) {
    while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
        assert!(chunk.bytes != PANIC, "as asked");
        let stalls = chunk.bytes == STALL;
        if stalls {
            tokio::time::sleep(STALLS / 2).await;
        }
        if send.write_all(&chunk.bytes).await.is_err() {
            return;
        }
        if stalls {
            // Once the endpoint has sent it.
            tokio::time::sleep(STALLS / 10).await;
            let (_silent, receiver) = std::sync::mpsc::sync_channel::<()>(1);
            let _ = receiver.recv_timeout(2 * STALLS);
        }
    }
    let _ = send.finish();
}

/// Where connections wait for each other in mid-transfer.
struct Gates {
    /// How many may shake hands at once, lest their first packets fill the server's receive
    /// buffers.
    handshakes: Semaphore,
    half_done: Barrier,
    moved: Barrier,
}

impl Gates {
    /// For `count` connections and one who moves them.
    fn new(count: usize) -> Self {
        Self {
            handshakes: Semaphore::new(50),
            half_done: Barrier::new(count + 1),
            moved: Barrier::new(count + 1),
        }
    }

    /// Has 64 KiB echoed, half of it after the move.
    async fn transfer(&self, client: &Endpoint, address: SocketAddr, seed: u64) {
        let permit = self.handshakes.acquire().await.unwrap();
        let connection = client.connect(address, NAME).unwrap().await.unwrap();
        drop(permit);
        let data = noise(seed, 64 << 10);
        let (first, second) = data.split_at(data.len() / 2);
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        let mut received = vec![0; first.len()];
        send.write_all(first).await.unwrap();
        recv.read_exact(&mut received).await.unwrap();
        self.half_done.wait().await;
        self.moved.wait().await;
        send.write_all(second).await.unwrap();
        send.finish().unwrap();
        received.extend(recv.read_to_end(second.len()).await.unwrap());
        assert!(received == data, "connection {seed}");
        connection.close(VarInt::from_u32(0), b"");
    }
}

/// Connections made one after another.
async fn connections(client: &Endpoint, to: SocketAddr, count: usize) -> Vec<Connection> {
    let mut connections = Vec::new();
    for _ in 0..count {
        let connecting = client.connect(to, NAME).unwrap();
        connections.push(within_a_minute(connecting).await.unwrap());
    }
    connections
}

/// Has `data` echoed on a stream of its own.
async fn echo_of(connection: &Connection, data: &[u8]) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let sending = async {
        send.write_all(data).await.unwrap();
        send.finish().unwrap();
    };
    let ((), received) = tokio::join!(sending, recv.read_to_end(data.len()));
    assert!(received.unwrap() == data);
}

async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(Duration::from_secs(60), future).await;
    limited.expect("hangs")
}

/// Bytes that repeat within no packet, others for each seed.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = units::Rng::new(seed);
    let words = std::iter::repeat_with(move || random.next_u64().to_le_bytes());
    words.flatten().take(len).collect()
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

const NAME: &str = "localhost";

/// More than the machine may have cores, which steering does not depend on.
const SHARDS: usize = 4;

/// Data that the server cannot stand.
const PANIC: &[u8] = b"panic";

/// Data that the server echoes late, and looks at nothing else for a time.
const STALL: &[u8] = b"stall";

/// Several probe timeouts on a loopback path: each is 25 ms and a few round trips.
const STALLS: Duration = Duration::from_millis(200);
