//! Sockets that take no more for a while, on loopback. What is counted is turns and bytes.

use crate::clock;
use crate::driver::ConnectionDriver;
use crate::tls::{self, SelfSigned};
use crate::{Connection, Endpoint, TransportConfig};
use bytes::Bytes;
use cc_core::Registry;
use quinn_proto::{EndpointConfig, VarInt};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
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

/// A client whose handshake nobody answers and which has ten seconds for it.
fn unanswered() -> ConnectionDriver {
    let mut client = tls::client_without_verification().config().unwrap();
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(None)
        .handshake_timeout(Some(Duration::from_secs(10)));
    client.transport_config(Arc::new(transport));
    let (config, driver) = client.for_connection("localhost");
    let mut endpoint =
        quinn_proto::Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
    let now = clock::now();
    let nobody = (Ipv4Addr::LOCALHOST, 9).into();
    let (_, conn) = endpoint.connect(now, config, nobody, "localhost").unwrap();
    ConnectionDriver::new(conn, driver, now)
}

/// Sends what there is. When the next timer expires.
fn send(driver: &mut ConnectionDriver, now: Instant) -> Instant {
    let mut packets = Vec::new();
    while driver.poll_transmit(now, 1, &mut packets).is_some() {
        packets.clear();
    }
    driver.poll_timeout().unwrap().0
}

/// Lets each timer of `driver` expire `late`, until its handshake is over. When that was.
fn end_of_handshake(driver: &mut ConnectionDriver, mut now: Instant, late: Duration) -> Instant {
    while !driver.conn().is_closed() {
        now = send(driver, now) + late;
        driver.handle_timeout(now);
    }
    now
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_handshake_has_its_time_from_its_first_packet_on() {
    let start = clock::now() + 60 * SECOND;
    let end = end_of_handshake(&mut unanswered(), start, Duration::ZERO);
    assert_eq!(end, start + 10 * SECOND);
}

#[test]
fn a_handshake_does_not_end_before_what_has_arrived_is_read() {
    let (mut driver, start) = (unanswered(), clock::now());
    let end = start + 10 * SECOND;
    let mut now = send(&mut driver, start);
    while now < end {
        driver.handle_timeout(now);
        now = send(&mut driver, now);
    }
    for now in [end, end + SECOND / 1_000] {
        driver.excuse_unread(now);
        driver.handle_timeout(now);
        assert!(!driver.conn().is_closed());
    }
    driver.handle_timeout(end + SECOND / 500);
    assert!(driver.conn().is_closed());
}

#[test]
fn a_handshake_is_not_over_because_nobody_drove_it() {
    let (mut driver, start) = (unanswered(), clock::now());
    send(&mut driver, start);
    // Its first timer was due after a second.
    driver.handle_timeout(start + 31 * SECOND);
    assert!(!driver.conn().is_closed());
    let end = end_of_handshake(&mut driver, start + 31 * SECOND, Duration::ZERO);
    let lateness = end - start - 40 * SECOND;
    assert!(
        (20 * SECOND..23 * SECOND).contains(&lateness),
        "{lateness:?}"
    );
}

#[test]
fn a_handshake_ends_on_a_machine_that_is_always_behind() {
    let start = clock::now();
    let end = end_of_handshake(&mut unanswered(), start, SECOND);
    assert!(end - start < 100 * SECOND, "{:?}", end - start);
}
