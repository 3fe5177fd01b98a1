//! What a server can do about a connection attempt, and what its client hears of it.

use super::{client_config, client_endpoint, q, server_config, server_endpoint};
use crate::porting::{Identity, Log, NAME, at_once, socket};
use q::VarInt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

pub(crate) async fn client(identity: &Identity, server: SocketAddr) -> Log {
    let mut log = Log::new();
    let mut endpoint = client_endpoint(identity, |_| {});
    // A token that has come in time, or not, would make the address a known one.
    let mut config = client_config(identity, |_| {});
    config.token_store(Arc::new(q::NoneTokenStore));
    endpoint.set_default_client_config(config);
    let mut impatient = client_config(identity, |transport| {
        // An idle timeout is three probe timeouts or more.
        transport.initial_rtt(Duration::from_millis(10));
        let timeout = Duration::from_millis(300);
        transport.max_idle_timeout(Some(timeout.try_into().unwrap()));
    });
    impatient.token_store(Arc::new(q::NoneTokenStore));
    // Accepted, then refused, dropped, and sent a Retry.
    for _ in 0..2 {
        let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
        note!(log, connection.closed().await);
    }
    for _ in 0..2 {
        note!(log, endpoint.connect(server, NAME).unwrap().await.map(drop));
    }
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    note!(log, connection.closed().await);
    // Ignored, then refused after a Retry.
    let connecting = endpoint.connect_with(impatient, server, NAME);
    note!(log, connecting.unwrap().await.map(drop));
    note!(log, endpoint.connect(server, NAME).unwrap().await.map(drop));
    // Under a configuration of its own.
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    let mut open = Vec::new();
    while let std::task::Poll::Ready(stream) = at_once(connection.open_uni()) {
        open.push(stream.unwrap());
    }
    note!(log, open.len());
    open[0].write_all(b"seen").await.unwrap();
    note!(log, connection.closed().await);
    impossible(identity, &endpoint, server, &mut log);
    note!(log, endpoint.stats().outgoing_handshakes);
    note!(log, endpoint.stats().accepted_handshakes);
    endpoint.wait_idle().await;
    log
}

/// What cannot even be tried.
fn impossible(identity: &Identity, endpoint: &q::Endpoint, server: SocketAddr, log: &mut Log) {
    let v6: SocketAddr = "[::1]:443".parse().unwrap();
    note!(log, endpoint.connect(v6, NAME).map(drop));
    let nowhere = SocketAddr::new(server.ip(), 0);
    note!(log, endpoint.connect(nowhere, NAME).map(drop));
    let unspecified: SocketAddr = "0.0.0.0:443".parse().unwrap();
    note!(log, endpoint.connect(unspecified, NAME).map(drop));
    note!(log, endpoint.connect(server, "not a name").map(drop));
    let mut config = client_config(identity, |_| {});
    config.version(0x0a0a_0a0a);
    note!(log, endpoint.connect_with(config, server, NAME).map(drop));
    let plain = super::endpoint(None, socket());
    note!(log, plain.connect(server, NAME).map(drop));
    endpoint.close(VarInt::from_u32(0), b"");
    note!(log, endpoint.connect(server, NAME).map(drop));
}

pub(crate) async fn server(identity: &Identity, socket: UdpSocket) -> Log {
    let mut log = Log::new();
    let endpoint = server_endpoint(identity, socket, |_| {});
    // accept() and await; await alone.
    let incoming = next(&endpoint, &mut log).await;
    let connection = incoming.accept().unwrap().await.unwrap();
    connection.close(VarInt::from_u32(1), b"accepted");
    let connection = next(&endpoint, &mut log).await.await.unwrap();
    connection.close(VarInt::from_u32(2), b"awaited");
    next(&endpoint, &mut log).await.refuse();
    drop(next(&endpoint, &mut log).await);
    // Once a Retry has been sent, there is no second one; the attempt comes back.
    note!(
        log,
        next(&endpoint, &mut log)
            .await
            .retry()
            .map_err(|error| error.to_string())
    );
    let refused = next(&endpoint, &mut log).await.retry().unwrap_err();
    let connection = refused.into_incoming().await.unwrap();
    connection.close(VarInt::from_u32(3), b"validated");
    ignore_one(&endpoint, &mut log).await;
    next(&endpoint, &mut log).await.refuse();
    // With two streams at most.
    let config = server_config(identity, |transport| {
        transport.max_concurrent_uni_streams(VarInt::from_u32(2));
    });
    let incoming = next(&endpoint, &mut log).await;
    let connection = incoming
        .accept_with(Arc::new(config))
        .unwrap()
        .await
        .unwrap();
    note!(log, connection.accept_uni().await.is_ok());
    connection.close(VarInt::from_u32(4), b"seen");
    endpoint.wait_idle().await;
    let stats = endpoint.stats();
    note!(log, (stats.accepted_handshakes, stats.refused_handshakes));
    note!(
        log,
        (stats.ignored_handshakes > 0, stats.outgoing_handshakes)
    );
    endpoint.close(VarInt::from_u32(0), b"");
    note!(log, endpoint.accept().await.is_none());
    log
}

/// Leaves a client without an answer, until another one comes, which is sent a Retry.
async fn ignore_one(endpoint: &q::Endpoint, log: &mut Log) {
    let incoming = next(endpoint, log).await;
    let ignored = incoming.orig_dst_cid();
    incoming.ignore();
    loop {
        let incoming = endpoint.accept().await.unwrap();
        if incoming.orig_dst_cid() != ignored {
            note!(log, incoming.retry().is_ok());
            return;
        }
        incoming.ignore();
    }
}

async fn next(endpoint: &q::Endpoint, log: &mut Log) -> q::Incoming {
    let incoming = endpoint.accept().await.unwrap();
    let ips = (incoming.remote_address().ip(), incoming.local_ip());
    note!(log, ips);
    let validated = incoming.remote_address_validated();
    note!(log, (validated, incoming.may_retry()));
    note!(log, incoming.orig_dst_cid().len() >= 8);
    incoming
}
