//! A server that sends, and clients that receive.

use paceline::testing::Simulation;
use paceline::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt, tls};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

pub(crate) fn simulation(seed: u64, link: &str) -> Simulation {
    let link = link.parse().unwrap();
    Simulation::new(seed).links(&link, &link).unwrap()
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Both ends' configurations, with this controller.
pub(crate) fn configs(controller: &str) -> (ServerConfig, ClientConfig) {
    let certificate = tls::SelfSigned::generate(["server.test"]).unwrap();
    let mut transport = TransportConfig::default();
    transport.congestion(controller).unwrap();
    let transport = Arc::new(transport);
    let mut server = certificate.server().config().unwrap();
    server.transport_config(Arc::clone(&transport));
    let client = tls::client_with_fingerprint(certificate.fingerprint);
    let mut client = client.config().unwrap();
    client.transport_config(transport);
    (server, client)
}

/// Sends without end to whoever connects.
pub(crate) async fn send_endlessly(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await.ok()?;
            let mut stream = connection.open_uni().await.ok()?;
            while stream.write_all(&[7; 16_384]).await.is_ok() {}
            Some(())
        });
    }
}

pub(crate) async fn connect(config: ClientConfig, local: &str, server: SocketAddr) -> Connection {
    let endpoint = Endpoint::client(address(local)).unwrap();
    let connecting = endpoint.connect_with(config, server, "server.test");
    connecting.unwrap().await.unwrap()
}

/// Receives for so long; returns the bytes, and closes.
pub(crate) async fn receive_for(connection: &Connection, duration: Duration) -> u64 {
    let end = Instant::now() + duration;
    let mut stream = connection.accept_uni().await.unwrap();
    let mut received = 0;
    let mut buffer = vec![0; 65_536];
    while let Ok(read) = timeout(end - Instant::now(), stream.read(&mut buffer)).await {
        received += read.unwrap().unwrap() as u64;
    }
    connection.close(VarInt::from_u32(0), b"done");
    received
}

/// Both ends of a connection, the client's first.
pub(crate) async fn connected(
    (server, client): (ServerConfig, ClientConfig),
) -> (Connection, Connection) {
    let server_address = address("10.0.0.1:443");
    let listening = Endpoint::server(server, server_address).unwrap();
    let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
    let connecting = endpoint.connect_with(client, server_address, "server.test");
    let accepting = async { listening.accept().await.unwrap().await };
    let (client, server) = tokio::join!(connecting.unwrap(), accepting);
    (client.unwrap(), server.unwrap())
}
