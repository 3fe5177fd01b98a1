//! A client whose early data is rejected has to forget the limits that it remembers with its ticket
//! (RFC 9000 §7.4.1). quinn-proto 0.11.19 keeps one of them.

use paceline::testing::Simulation;
use paceline::{
    ClientConfig, ConnectionError, Endpoint, TransportConfig, TransportErrorCode, VarInt, tls,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// docs/transport.md says so. When this fails, quinn-proto has changed: take the limit out of it,
/// and of docs/upstream.md.
#[test]
fn the_connections_limit_of_a_ticket_outlives_that_another_server_rejects_it() {
    let link = "delay 10ms".parse().expect("a link");
    let simulation = Simulation::new(1)
        .links(&link, &link)
        .expect("no queue in bdp");
    simulation.run(async {
        let certificate = tls::SelfSigned::generate(["server.test"]).expect("a name");
        let mut servers = Vec::new();
        for (host, window) in [(1, 1 << 20), (2, 4 << 10)] {
            let mut config = certificate.server().config().expect("its own key");
            let mut transport = TransportConfig::default();
            transport.receive_window(VarInt::from_u32(window));
            config.transport_config(Arc::new(transport));
            let address = SocketAddr::from(([10, 0, 0, host], 443));
            let endpoint = Endpoint::server(config, address).expect("a free address");
            tokio::spawn(take_all(endpoint));
            servers.push(address);
        }
        // The same name, so that the first one's ticket is presented to the second.
        let tls = tls::client_with_fingerprint(certificate.fingerprint);
        let config = tls.config().expect("nothing that could be wrong");
        let [large, small] = [servers[0], servers[1]];
        assert_eq!(send(&config, small).await, Ok(()), "without a ticket");
        assert_eq!(send(&config, large).await, Ok(()));
        let error = send(&config, small).await;
        let Err(ConnectionError::ConnectionClosed(close)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(close.error_code, TransportErrorCode::FLOW_CONTROL_ERROR);
    });
}

async fn take_all(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await.ok()?;
            // Later than it comes, so that the window is what limits the sender.
            tokio::time::sleep(Duration::from_secs(1)).await;
            while let Ok(mut stream) = connection.accept_uni().await {
                stream.read_to_end(4_096).await.ok()?;
            }
            Some(())
        });
    }
}

/// 8 kB over a connection of its own, of which each stream has less than its limit.
async fn send(config: &ClientConfig, server: SocketAddr) -> Result<(), ConnectionError> {
    let endpoint = Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0))).expect("a free address");
    let connecting = endpoint.connect_with(config.clone(), server, "server.test");
    let connection = connecting.expect("a server's name").await?;
    for _ in 0..4 {
        let mut stream = connection.open_uni().await?;
        let sent = async {
            stream.write_all(&[7; 2_000]).await.ok()?;
            stream.finish().ok()
        };
        if sent.await.is_none() {
            return Err(connection.closed().await);
        }
    }
    let closed = tokio::time::timeout(Duration::from_secs(5), connection.closed());
    closed.await.map_or(Ok(()), Err)
}
