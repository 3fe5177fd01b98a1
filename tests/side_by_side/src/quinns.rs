//! This transport and quinn as each other's client and server.

use crate::support::{
    ANY, MEGABYTE, NAME, certificate, limited, noise, quinn_client, quinn_server,
};
use paceline::quic_lb::{CidConfig, ConnectionIds, Secrets};
use paceline::tls::{self, SelfSigned};
use paceline::{Endpoint, EndpointConfig, VarInt};
use std::net::UdpSocket;

#[tokio::test]
async fn our_client_reads_back_what_it_sends_to_quinns_server() {
    limited(async {
        let certificate = certificate();
        let server = quinn_server(&certificate, &[]);
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let connection = server.accept().await.unwrap().await.unwrap();
            let (mut send, mut recv) = connection.accept_bi().await.unwrap();
            let question = recv.read_to_end(MEGABYTE).await.unwrap();
            send.write_all(&question).await.unwrap();
            send.finish().unwrap();
            connection.closed().await
        });
        let config = tls::client_with_fingerprint(certificate.fingerprint);
        let client = Endpoint::client(ANY).unwrap();
        let connecting = client.connect_with(config.config().unwrap(), address, NAME);
        let connection = connecting.unwrap().await.unwrap();
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        let question = noise(MEGABYTE);
        send.write_all(&question).await.unwrap();
        send.finish().unwrap();
        assert!(recv.read_to_end(MEGABYTE).await.unwrap() == question);
        connection.close(VarInt::from_u32(0), b"done");
        serving.await.unwrap();
    })
    .await;
}

/// The server's keys are aws-lc-rs' where quinn-proto's own would be ring's.
#[tokio::test]
async fn quinns_client_reads_back_what_it_sends_to_our_fleet_after_a_retry() {
    limited(async {
        let certificate = certificate();
        let server = fleet_server(&certificate);
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            server.accept().await.unwrap().retry().unwrap();
            let connection = server.accept().await.unwrap().await.unwrap();
            let (mut send, mut recv) = connection.accept_bi().await.unwrap();
            let question = recv.read_to_end(MEGABYTE).await.unwrap();
            send.write_all(&question).await.unwrap();
            send.finish().unwrap();
            connection.closed().await
        });
        let client = quinn_client(&certificate);
        let connection = client.connect(address, NAME).unwrap().await.unwrap();
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        let question = noise(MEGABYTE);
        send.write_all(&question).await.unwrap();
        send.finish().unwrap();
        assert!(recv.read_to_end(MEGABYTE).await.unwrap() == question);
        connection.close(0_u32.into(), b"done");
        client.wait_idle().await;
        serving.await.unwrap();
    })
    .await;
}

/// One that is ready for a load balancer.
fn fleet_server(certificate: &SelfSigned) -> Endpoint {
    let secret = "07".repeat(32);
    let secrets = format!("overlap 86400\nreset {secret}\nepoch 1 from 0 {secret}");
    let secrets = Secrets::new(secrets.as_bytes()).unwrap();
    let ids = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!").unwrap();
    let ids = ConnectionIds::new(ids, "0000002a".parse().unwrap()).unwrap();
    let mut config = EndpointConfig::default();
    ids.install(&mut config);
    config.reset_key(secrets.reset_key(&ids));
    let tls = certificate.server().tickets(secrets.ticketer());
    let mut server = tls.config().unwrap();
    server.token_key(secrets.token_key());
    let socket = UdpSocket::bind(ANY).unwrap();
    Endpoint::new(config, Some(server), socket).unwrap()
}
