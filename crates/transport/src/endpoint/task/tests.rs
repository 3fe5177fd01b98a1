//! Sockets that take no more for a while, on loopback. What is counted is turns and bytes.

use crate::tls::{self, SelfSigned};
use crate::{Connection, Endpoint, TransportConfig};
use bytes::Bytes;
use cc_core::Registry;
use quinn_proto::VarInt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::task::yield_now;

/// A server and a client.
fn endpoints() -> (Endpoint, Endpoint) {
    let certificate = SelfSigned::generate(["localhost"]).unwrap();
    let transport = Arc::new(greedy());
    let mut config = certificate.server().config().unwrap();
    config.transport_config(transport.clone());
    let server = Endpoint::server(config, any()).unwrap();
    let config = tls::client_with_fingerprint(certificate.fingerprint).config();
    let mut config = config.unwrap();
    config.transport_config(transport);
    let mut client = Endpoint::client(any()).unwrap();
    client.set_default_client_config(config);
    (server, client)
}

/// Nothing but the socket bounds what such a sender sends.
fn greedy() -> TransportConfig {
    let mut config = TransportConfig::default();
    let controller = "fixed:pacing=off,cwnd=64000000";
    config
        .congestion(Registry::standard().choose(controller).unwrap())
        .send_window(64 << 20)
        .receive_window(VarInt::from_u32(64 << 20));
    config
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A connection, as client and server have it.
async fn connect(server: &Endpoint, client: &Endpoint) -> (Connection, Connection) {
    let connecting = client.connect(server.local_addr().unwrap(), "localhost");
    let accepting = async { server.accept().await.unwrap().await };
    let (client, server) = tokio::join!(connecting.unwrap(), accepting);
    (client.unwrap(), server.unwrap())
}

fn sent(connection: &Connection) -> u64 {
    connection.stats().udp_tx.bytes
}

#[tokio::test]
async fn whoever_finds_the_socket_full_goes_on_each_time_that_it_has_room() {
    let (server, client) = endpoints();
    let mut writing = Vec::new();
    for _ in 0..2 {
        let (connection, accepted) = connect(&server, &client).await;
        let stream = connection.open_uni().await.unwrap();
        writing.push((connection, stream, accepted));
    }
    // No ACK leaves that would have a connection looked at.
    server.lease.socket().refuse_one_of(1);
    client.lease.socket().refuse_one_of(3);
    for (_, stream, _) in &mut writing {
        stream.write_all(&[0; LENGTH as usize]).await.unwrap();
    }
    // It takes about forty turns.
    wait_until(400, || {
        let mut sent = writing.iter().map(|(connection, ..)| sent(connection));
        sent.all(|bytes| bytes >= LENGTH.into())
    })
    .await;
    let refused = client.stats().send_blocked;
    assert!(refused > 20, "{refused} times");
}

const LENGTH: u32 = 2 << 20;

/// Lets the endpoints have less than `limit` turns.
async fn wait_until(limit: u32, is_done: impl Fn() -> bool) {
    let mut turns = 0;
    while !is_done() {
        turns += 1;
        assert!(turns < limit, "nothing is sent any more");
        yield_now().await;
    }
}

#[tokio::test]
async fn connections_take_turns_at_a_socket_that_is_often_full() {
    let (server, client) = endpoints();
    let mut connections = Vec::new();
    for _ in 0..3 {
        let (connection, accepted) = connect(&server, &client).await;
        tokio::spawn(sink(accepted));
        connections.push(connection);
    }
    client.lease.socket().refuse_one_of(3);
    for connection in &connections {
        tokio::spawn(pour(connection.clone()));
    }
    let sent = || connections.iter().map(sent);
    // It takes about five hundred.
    wait_until(10_000, || sent().sum::<u64>() > 64 << 20).await;
    let (least, most) = (sent().min().unwrap(), sent().max().unwrap());
    assert!(least > most / 2, "{:?}", sent().collect::<Vec<_>>());
}

/// Writes until the connection ends.
async fn pour(connection: Connection) {
    let mut send = connection.open_uni().await.unwrap();
    let block = Bytes::from_static(&[0; 128 << 10]);
    while send.write_chunk(block.clone()).await.is_ok() {}
}

/// Reads what comes.
async fn sink(connection: Connection) {
    let mut recv = connection.accept_uni().await.unwrap();
    while let Ok(Some(_)) = recv.read_chunk(usize::MAX, true).await {}
}
