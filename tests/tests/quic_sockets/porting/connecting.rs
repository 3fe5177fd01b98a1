//! Handshakes, what they agree on, and what a connection tells about itself.

use super::{accept, client_config, client_endpoint, done, q, wait_for};
use crate::porting::{Identity, Log, NAME};
use q::VarInt;
use q::crypto::rustls::HandshakeData;
use q::rustls::pki_types::CertificateDer;
use std::any::Any;
use std::net::{SocketAddr, UdpSocket};

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let endpoint = client_endpoint(identity, |_| {});
    let mut connecting = endpoint.connect(server, NAME).unwrap();
    note!(
        log,
        (connecting.remote_address() == server, connecting.local_ip())
    );
    note!(log, connecting.handshake_data().await.map(agreed));
    note!(log, connecting.handshake_data().await.map(agreed));
    let connection = connecting.await.unwrap();
    note!(
        log,
        (connection.remote_address() == server, connection.local_ip())
    );
    note!(
        log,
        connection
            .peer_identity()
            .map(|identity| chain(identity).len())
    );
    about(&connection, &mut log);
    exported(&connection).await;
    connection.force_key_update();
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(7));
    connection.set_send_window(1 << 20);
    connection.set_receive_window(VarInt::from_u32(1 << 20));
    done(&connection).await;
    wait_for(&connection).await;
    counted(&connection, &mut log);
    note!(log, endpoint.open_connections());
    connection.close(VarInt::from_u32(0), b"");
    strangers(&endpoint, server, &mut log).await;
    endpoint.wait_idle().await;
    note!(log, endpoint.open_connections());
    log
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let (endpoint, connection) = accept(identity, socket).await;
    note!(log, connection.handshake_data().map(agreed));
    note!(log, connection.peer_identity().is_none());
    note!(log, connection.local_ip());
    about(&connection, &mut log);
    exported(&connection).await;
    wait_for(&connection).await;
    done(&connection).await;
    note!(log, connection.closed().await);
    counted(&connection, &mut log);
    // A client that does not trust us, and one that asks for another name.
    for _ in 0..2 {
        let incoming = endpoint.accept().await.unwrap();
        note!(log, incoming.await.map(drop));
    }
    endpoint.wait_idle().await;
    log
}

async fn strangers(endpoint: &q::Endpoint, server: SocketAddr, log: &mut Log) {
    let stranger = client_config(&Identity::generate(), |_| {});
    let connecting = endpoint.connect_with(stranger, server, NAME).unwrap();
    note!(log, connecting.await.map(drop));
    note!(
        log,
        endpoint
            .connect(server, "example.org")
            .unwrap()
            .await
            .map(drop)
    );
}

/// The same bytes at both ends.
async fn exported(connection: &q::Connection) {
    let mut secret = [0; 32];
    let export = connection.export_keying_material(&mut secret, b"label", b"context");
    export.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(&secret).await.unwrap();
    send.finish().unwrap();
    let mut recv = connection.accept_uni().await.unwrap();
    assert_eq!(recv.read_to_end(32).await.unwrap(), secret);
}

fn about(connection: &q::Connection, log: &mut Log) {
    note!(log, connection.side());
    note!(log, connection.close_reason());
    note!(
        log,
        connection.stable_id() == connection.clone().stable_id()
    );
    note!(log, connection.rtt() >= connection.min_rtt());
    note!(
        log,
        connection
            .export_keying_material(&mut [0; 100_000], b"", b"")
            .is_err()
    );
}

fn counted(connection: &q::Connection, log: &mut Log) {
    let stats = connection.stats();
    note!(
        log,
        stats.udp_tx.datagrams >= stats.udp_tx.ios && stats.udp_tx.ios > 0
    );
    note!(
        log,
        stats.udp_tx.bytes > 1_200 && stats.udp_rx.bytes > 1_200
    );
    note!(
        log,
        stats.frame_tx.stream >= 2 && stats.frame_rx.stream >= 2
    );
    note!(log, stats.frame_tx.crypto > 0 && stats.frame_rx.acks > 0);
    note!(
        log,
        stats.path.sent_packets > 2 && stats.path.current_mtu >= 1_200
    );
    note!(
        log,
        (
            stats.path.congestion_events,
            stats.path.black_holes_detected
        )
    );
    note!(log, stats.path.cwnd > 10_000 && !stats.path.rtt.is_zero());
}

fn agreed(data: Box<dyn Any>) -> (Option<Vec<u8>>, Option<String>) {
    let data = data.downcast::<HandshakeData>().unwrap();
    (data.protocol, data.server_name)
}

fn chain(identity: Box<dyn Any>) -> Vec<CertificateDer<'static>> {
    *identity.downcast().unwrap()
}
