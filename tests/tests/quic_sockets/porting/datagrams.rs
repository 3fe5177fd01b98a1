//! Datagrams: in use or not, too large, more than there is room for.

use super::{accept, client_config, connect, done, q, wait_for};
use crate::porting::{Identity, Log, NAME, at_once};
use bytes::Bytes;
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::task::Poll;

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = connect(identity, server).await;
    wait_for(&connection).await;
    note!(
        log,
        connection
            .max_datagram_size()
            .is_some_and(|most| most > 1_100)
    );
    // The default is another one.
    note!(log, connection.datagram_send_buffer_space() > 100_000);
    note!(log, connection.send_datagram(Bytes::from_static(b"one")));
    note!(
        log,
        connection
            .send_datagram_wait(Bytes::from_static(b"two"))
            .await
    );
    note!(log, connection.read_datagram().await);
    note!(log, connection.read_datagram().await);
    note!(log, at_once(connection.read_datagram()));
    let most = connection.max_datagram_size().unwrap();
    note!(log, connection.send_datagram(vec![0; most + 1].into()));
    note!(
        log,
        connection
            .send_datagram_wait(vec![0; most + 1].into())
            .await
    );
    note!(log, connection.send_datagram(vec![0; 70_000].into()));
    done(&connection).await;
    note!(log, connection.closed().await);
    // What came before the end is there.
    note!(log, connection.read_datagram().await);
    note!(log, connection.read_datagram().await);
    note!(log, connection.send_datagram(Bytes::from_static(b"late")));
    note!(
        log,
        connection
            .send_datagram_wait(Bytes::from_static(b"late"))
            .await
    );

    full(identity, &endpoint, server, &mut log).await;
    disabled(identity, &endpoint, server, &mut log).await;
    endpoint.wait_idle().await;
    log
}

/// A buffer of two datagrams.
async fn full(identity: &Identity, endpoint: &q::Endpoint, server: SocketAddr, log: &mut Log) {
    let config = client_config(identity, |transport| {
        transport.datagram_send_buffer_size(1_500);
    });
    let connecting = endpoint.connect_with(config, server, NAME).unwrap();
    let connection = connecting.await.unwrap();
    wait_for(&connection).await;
    // Nothing leaves before the next await.
    note!(log, connection.send_datagram(vec![1; 700].into()));
    note!(log, connection.datagram_send_buffer_space());
    note!(log, connection.send_datagram(vec![2; 700].into()));
    let third = Bytes::from(vec![3; 700]);
    note!(
        log,
        at_once(connection.send_datagram_wait(third.clone())).is_pending()
    );
    note!(log, connection.send_datagram(third));
    note!(
        log,
        connection.send_datagram_wait(vec![4; 700].into()).await
    );
    done(&connection).await;
    note!(log, connection.closed().await);
}

/// Switched off on this side, which tells the peer that none are taken.
async fn disabled(identity: &Identity, endpoint: &q::Endpoint, server: SocketAddr, log: &mut Log) {
    let config = client_config(identity, |transport| {
        transport.datagram_receive_buffer_size(None);
    });
    let connecting = endpoint.connect_with(config, server, NAME).unwrap();
    let connection = connecting.await.unwrap();
    wait_for(&connection).await;
    note!(log, connection.max_datagram_size().is_some());
    note!(log, connection.send_datagram(Bytes::from_static(b"none")));
    done(&connection).await;
    note!(log, connection.closed().await);
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = accept(identity, socket).await;
    done(&connection).await;
    for _ in 0..2 {
        let datagram = connection.read_datagram().await.unwrap();
        note!(log, datagram);
        note!(log, connection.send_datagram(datagram));
    }
    wait_for(&connection).await;
    note!(log, connection.send_datagram(Bytes::from_static(b"last")));
    // The end would overtake it.
    while connection.stats().frame_tx.datagram < 3 {
        tokio::task::yield_now().await;
    }
    connection.close(VarInt::from_u32(1), b"enough");

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    done(&connection).await;
    wait_for(&connection).await;
    while let Poll::Ready(datagram) = at_once(connection.read_datagram()) {
        note!(log, datagram.map(|bytes| (bytes[0], bytes.len())));
    }
    connection.close(VarInt::from_u32(2), b"enough");

    let connection = endpoint.accept().await.unwrap().await.unwrap();
    note!(log, connection.max_datagram_size().is_some());
    note!(log, connection.send_datagram(Bytes::from_static(b"none")));
    done(&connection).await;
    wait_for(&connection).await;
    connection.close(VarInt::from_u32(3), b"enough");
    endpoint.wait_idle().await;
    log
}
