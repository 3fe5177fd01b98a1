//! Calls whose results differ between the libraries.

use super::{client_endpoint, done, q, server_config, server_endpoint, wait_for};
use crate::porting::{Identity, Log, NAME, at_once};
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let endpoint = client_endpoint(identity, |_| {});
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"unordered").await.unwrap();
    send.finish().unwrap();
    send.stopped().await.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"part").await.unwrap();
    wait_for(&connection).await;
    note!(log, send.reset(VarInt::from_u32(1)));
    // Time for the reset to be acknowledged, and to spare.
    let stopped = tokio::time::timeout(Duration::from_millis(200), send.stopped());
    note!(log, stopped.await.ok());
    done(&connection).await;
    connection.closed().await;

    // By now the server has forgotten its sessions.
    let connecting = endpoint.connect(server, NAME).unwrap();
    let (connection, accepted) = connecting.into_0rtt().unwrap();
    let mut early = connection.open_uni().await.unwrap();
    early.write_all(b"early").await.unwrap();
    assert!(!accepted.await);
    // This one takes the number of the other.
    let late = connection.open_uni().await.unwrap();
    assert_eq!(late.id(), early.id());
    note!(log, early.set_priority(5));
    note!(log, early.priority());
    note!(log, late.priority());
    note!(log, early.finish());
    note!(log, at_once(connection.closed()));
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let endpoint = server_endpoint(identity, socket, |_| {});
    let connecting = endpoint.accept().await.unwrap().accept().unwrap();
    let (connection, accepted) = connecting.into_0rtt().unwrap();
    note!(log, accepted.await);
    let mut recv = connection.accept_uni().await.unwrap();
    assert!(recv.read_chunk(2, false).await.unwrap().is_some());
    note!(log, recv.read(&mut [0; 4]).await);
    let rest = recv.read_chunk(99, false).await;
    note!(log, rest.map(|chunk| chunk.map(|it| it.bytes)));
    let mut recv = connection.accept_uni().await.unwrap();
    done(&connection).await;
    note!(log, recv.received_reset().await);
    note!(log, recv.read(&mut [0; 9]).await);
    wait_for(&connection).await;
    endpoint.set_server_config(Some(server_config(identity, |_| {})));
    connection.close(VarInt::from_u32(0), b"");

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    connection.closed().await;
    endpoint.wait_idle().await;
    log
}
