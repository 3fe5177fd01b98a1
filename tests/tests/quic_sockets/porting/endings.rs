//! Ends of connections and endpoints, and what is left to do after them.

use super::{accept, client_config, connect, done, q, wait_for};
use crate::porting::{Identity, Log, NAME, at_once};
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = connect(identity, server).await;
    wait_for(&connection).await;
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(b"part").await.unwrap();
    let waiting = (connection.clone(), connection.clone());
    let waiting = async { tokio::join!(waiting.0.accept_bi(), waiting.1.read_datagram()) };
    let mut waiting = Box::pin(waiting);
    assert!(at_once(waiting.as_mut()).is_pending());
    note!(log, at_once(connection.closed()));
    connection.close(VarInt::from_u32(1), b"first");
    connection.close(VarInt::from_u32(2), b"second");
    note!(log, connection.close_reason());
    note!(log, connection.closed().await);
    note!(log, waiting.await.0.map(|_| ()));
    note!(log, connection.open_uni().await.map(|_| ()));
    note!(log, connection.open_bi().await.map(|_| ()));
    note!(log, connection.accept_uni().await.map(|_| ()));
    note!(log, recv.read(&mut [0; 9]).await);
    note!(log, recv.received_reset().await);
    note!(log, recv.stop(VarInt::from_u32(1)));
    note!(log, connection.max_datagram_size().is_some());
    drop((send, recv));
    // Dropped: handles alone, then all but a stream.
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    wait_for(&connection).await;
    drop(connection);
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    let mut recv = connection.accept_uni().await.unwrap();
    drop(connection);
    note!(log, recv.read_to_end(9).await);
    drop(recv);
    // Silent.
    let config = client_config(identity, |transport| {
        let timeout = Duration::from_millis(500);
        transport.max_idle_timeout(Some(timeout.try_into().unwrap()));
    });
    let connecting = endpoint.connect_with(config, server, NAME).unwrap();
    let connection = connecting.await.unwrap();
    note!(log, connection.closed().await);
    // The server's endpoint is closed.
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    note!(log, connection.closed().await);
    endpoint.close(VarInt::from_u32(9), b"ours");
    note!(log, endpoint.accept().await.is_none());
    endpoint.wait_idle().await;
    note!(log, endpoint.open_connections());
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = accept(identity, socket).await;
    done(&connection).await;
    note!(log, connection.closed().await);
    // A stream that came before the end is there, and then no more.
    note!(log, connection.accept_bi().await.map(|(send, _)| send.id()));
    note!(log, connection.accept_bi().await.map(|_| ()));
    note!(log, connection.open_bi().await.map(|_| ()));

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    done(&connection).await;
    note!(log, connection.closed().await);

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"dropped").await.unwrap();
    drop(send);
    note!(log, connection.closed().await);

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    note!(log, connection.closed().await);

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    endpoint.close(VarInt::from_u32(8), b"theirs");
    note!(log, connection.closed().await);
    note!(log, endpoint.accept().await.is_none());
    endpoint.wait_idle().await;
    log
}
