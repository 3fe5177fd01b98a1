//! An endpoint that goes on over another socket, in the middle of a transfer.

use super::{accept, connect, q};
use crate::porting::{Identity, Log, socket as another_socket};
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = connect(identity, server).await;
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(b"before ").await.unwrap();
    let mut before = [0; 7];
    note!(log, recv.read_exact(&mut before).await);
    let old = endpoint.local_addr().unwrap();
    note!(
        log,
        endpoint
            .rebind(another_socket())
            .map_err(|error| error.kind())
    );
    note!(log, endpoint.local_addr().unwrap() == old);
    send.write_all(b"after").await.unwrap();
    note!(log, send.finish());
    note!(log, recv.read_to_end(9).await);
    note!(log, connection.remote_address() == server);
    // An address that is taken, as of now, for good.
    let taken = UdpSocket::bind(endpoint.local_addr().unwrap());
    note!(log, taken.map(drop).map_err(|error| error.kind()));
    connection.close(VarInt::from_u32(1), b"moved");
    endpoint.wait_idle().await;
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = accept(identity, socket).await;
    let old = connection.remote_address();
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    let mut buffer = [0; 16];
    let mut received = 0;
    while let Some(length) = recv.read(&mut buffer).await.unwrap() {
        send.write_all(&buffer[..length]).await.unwrap();
        received += length;
    }
    note!(log, received);
    note!(log, connection.remote_address() == old);
    note!(log, connection.remote_address().ip() == old.ip());
    note!(log, send.finish());
    note!(log, connection.closed().await);
    endpoint.wait_idle().await;
    log
}
