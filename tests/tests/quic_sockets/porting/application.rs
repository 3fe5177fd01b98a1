//! An application as one writes it for quinn. `q` is quinn or this library.

pub(crate) mod attempts;
pub(crate) mod connecting;
pub(crate) mod datagrams;
pub(crate) mod differing;
pub(crate) mod early_data;
pub(crate) mod endings;
mod names;
pub(crate) mod reading;
pub(crate) mod rebinding;
pub(crate) mod writing;

use super::q;

use super::endpoint;
use crate::porting::{Identity, NAME, socket};
use q::rustls::RootCertStore;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// An endpoint that accepts, under the default transport but for what `set` changes.
fn server_endpoint(
    identity: &Identity,
    socket: UdpSocket,
    set: impl FnOnce(&mut q::TransportConfig),
) -> q::Endpoint {
    endpoint(Some(server_config(identity, set)), socket)
}

fn server_config(
    identity: &Identity,
    set: impl FnOnce(&mut q::TransportConfig),
) -> q::ServerConfig {
    let chain = vec![identity.certificate.clone()];
    let mut config = q::ServerConfig::with_single_cert(chain, identity.key()).unwrap();
    let mut transport = q::TransportConfig::default();
    set(&mut transport);
    config.transport_config(Arc::new(transport));
    config
}

/// An endpoint that connects, under the default transport but for what `set` changes.
fn client_endpoint(identity: &Identity, set: impl FnOnce(&mut q::TransportConfig)) -> q::Endpoint {
    let mut endpoint = endpoint(None, socket());
    endpoint.set_default_client_config(client_config(identity, set));
    endpoint
}

fn client_config(
    identity: &Identity,
    set: impl FnOnce(&mut q::TransportConfig),
) -> q::ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let mut config = q::ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut transport = q::TransportConfig::default();
    set(&mut transport);
    config.transport_config(Arc::new(transport));
    config
}

/// A client's connection under the default transport, with the endpoint that it needs.
async fn connect(identity: &Identity, server: SocketAddr) -> (q::Endpoint, q::Connection) {
    let endpoint = client_endpoint(identity, |_| {});
    let connection = endpoint.connect(server, NAME).unwrap().await.unwrap();
    (endpoint, connection)
}

/// A server's first connection under the default transport, with the endpoint that it needs.
async fn accept(identity: &Identity, socket: UdpSocket) -> (q::Endpoint, q::Connection) {
    let endpoint = server_endpoint(identity, socket, |_| {});
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    (endpoint, connection)
}

/// Waits until the peer has [`done`] what comes before.
async fn wait_for(connection: &q::Connection) {
    let mut recv = connection.accept_uni().await.unwrap();
    assert_eq!(recv.read_to_end(1).await.unwrap(), b"!");
}

/// Tells the peer that it may go on.
async fn done(connection: &q::Connection) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"!").await.unwrap();
    send.finish().unwrap();
}
