//! 0-RTT: not yet possible, accepted, rejected.

use super::{client_endpoint, done, q, server_config, server_endpoint, wait_for};
use crate::porting::{Identity, Log, NAME};
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let endpoint = client_endpoint(identity, |_| {});
    // Nothing is known of the server yet.
    let connecting = endpoint.connect(server, NAME).unwrap();
    let connection = connecting.into_0rtt().err().unwrap().await.unwrap();
    wait_for(&connection).await;
    connection.close(VarInt::from_u32(0), b"");

    let connecting = endpoint.connect(server, NAME).unwrap();
    let (connection, accepted) = connecting.into_0rtt().unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(b"early").await.unwrap();
    send.finish().unwrap();
    note!(log, recv.is_0rtt());
    note!(log, accepted.await);
    note!(log, recv.read_to_end(9).await);
    let (send, recv) = connection.open_bi().await.unwrap();
    note!(log, (send.id(), recv.is_0rtt()));
    drop((send, recv));
    note!(log, connection.closed().await);

    // By now the server has forgotten its sessions.
    let connecting = endpoint.connect(server, NAME).unwrap();
    let (connection, accepted) = connecting.into_0rtt().unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(b"early").await.unwrap();
    note!(log, accepted.await);
    note!(log, send.write(b"more").await);
    note!(log, send.stopped().await);
    note!(
        log,
        send.write(b"more")
            .await
            .map_err(|error| std::io::Error::from(error).kind())
    );
    note!(log, send.reset(VarInt::from_u32(1)));
    note!(log, recv.read(&mut [0; 9]).await);
    note!(log, recv.received_reset().await);
    note!(log, recv.read_to_end(9).await);
    note!(log, recv.stop(VarInt::from_u32(1)));
    drop((send, recv));
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    note!(log, (send.id(), recv.is_0rtt()));
    send.write_all(b"late").await.unwrap();
    send.finish().unwrap();
    note!(log, recv.read_to_end(9).await);
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let endpoint = server_endpoint(identity, socket, |_| {});
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    // A session is on its way once the handshake is done.
    done(&connection).await;
    note!(log, connection.closed().await);

    let connecting = endpoint.accept().await.unwrap().accept().unwrap();
    let (connection, accepted) = connecting.into_0rtt().unwrap();
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    note!(log, (recv.is_0rtt(), recv.read_to_end(9).await));
    send.write_all(b"answer").await.unwrap();
    send.finish().unwrap();
    // What it says differs.
    accepted.await;
    note!(log, send.stopped().await);
    endpoint.set_server_config(Some(server_config(identity, |_| {})));
    connection.close(VarInt::from_u32(0), b"");

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    note!(log, (recv.is_0rtt(), recv.read_to_end(9).await));
    send.write_all(b"answer").await.unwrap();
    drop(send);
    note!(log, connection.closed().await);
    endpoint.wait_idle().await;
    log
}
