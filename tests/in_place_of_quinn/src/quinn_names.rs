//! What dependents of quinn write, beside what is tested through libraries.

use crate::support::{ANY, Certificate, NAME, connected, limited, noise};
use futures_util::{AsyncReadExt, AsyncWriteExt};
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{
    AcceptUni, Connecting, Endpoint, EndpointConfig, OpenUni, TokioRuntime, TransportConfig,
    ValidationTokenConfig, default_runtime,
};
use std::net::UdpSocket;
use std::sync::Arc;

/// The controllers of a client and a server with these transports.
async fn controllers(
    client: TransportConfig,
    server: TransportConfig,
) -> (&'static str, &'static str) {
    let certificate = Certificate::new();
    let mut dialing = certificate.client(&[]);
    dialing.transport_config(Arc::new(client));
    let mut listening = certificate.server(&[]);
    listening.transport = Arc::new(server);
    let (connected, accepted, _endpoints) = connected(dialing, listening).await;
    let names = [&connected, &accepted].map(|connection| connection.congestion().algorithm);
    assert_eq!(
        connected.congestion_state().window(),
        connected.stats().cwnd.get()
    );
    names.into()
}

fn with(factory: Arc<dyn ControllerFactory + Send + Sync>) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .send_fairness(false)
        .congestion_controller_factory(factory)
        .allow_spin(false);
    config
}

#[tokio::test]
async fn quinns_controllers_are_ours_of_the_same_name() {
    limited(async {
        let cubic = with(Arc::new(CubicConfig::default()));
        let bbr = with(Arc::new(BbrConfig::default()));
        assert_eq!(controllers(cubic, bbr).await, ("cubic", "bbr3"));
        let new_reno = with(Arc::new(NewRenoConfig::default()));
        let mut own = TransportConfig::default();
        own.congestion("paceline").unwrap();
        assert_eq!(controllers(new_reno, own).await, ("new_reno", "paceline"));
    })
    .await;
}

/// Each is written as an application writes it: changed in place.
#[tokio::test]
async fn the_public_fields_of_a_servers_configuration_count() {
    limited(async {
        let certificate = Certificate::new();
        let mut listening = Certificate::new().server(&[]);
        let transport = Arc::get_mut(&mut listening.transport).unwrap();
        transport.max_concurrent_uni_streams(0_u8.into());
        transport.congestion("copa").unwrap();
        listening.crypto = certificate.server(&[]).crypto;
        listening.validation_token = ValidationTokenConfig::default();
        // It believes the second certificate alone.
        let (_client, server, _endpoints) = connected(certificate.client(&[]), listening).await;
        assert_eq!(server.congestion().algorithm, "copa");
    })
    .await;
}

#[tokio::test]
async fn streams_are_futures_ios_as_well() {
    limited(async {
        let certificate = Certificate::new();
        let ends = connected(certificate.client(&[]), certificate.server(&[])).await;
        let (client, server, _endpoints) = ends;
        let opening: OpenUni<'_> = client.open_uni();
        let mut send = opening.await.unwrap();
        let write = async {
            AsyncWriteExt::write_all(&mut send, &noise(LEN))
                .await
                .unwrap();
            send.close().await.unwrap();
        };
        let accepting: AcceptUni<'_> = server.accept_uni();
        let read = async {
            let mut recv = accepting.await.unwrap();
            let mut data = Vec::new();
            AsyncReadExt::read_to_end(&mut recv, &mut data)
                .await
                .unwrap();
            data
        };
        let ((), data) = tokio::join!(write, read);
        assert!(data == noise(LEN), "other bytes came");
    })
    .await;
}

#[tokio::test]
async fn a_datagram_that_waits_for_room_arrives() {
    limited(async {
        let certificate = Certificate::new();
        let ends = connected(certificate.client(&[]), certificate.server(&[])).await;
        let (client, server, _endpoints) = ends;
        client.send_datagram_wait("news".into()).await.unwrap();
        assert_eq!(server.read_datagram().await.unwrap(), "news");
    })
    .await;
}

/// With a runtime, Retry, a configuration for one attempt, and 0.5-RTT.
#[tokio::test]
async fn an_attempt_is_retried_and_accepted_with_a_configuration_of_its_own() {
    limited(async {
        let certificate = Certificate::new();
        let mut own = certificate.server(&[]);
        Arc::get_mut(&mut own.transport)
            .unwrap()
            .congestion("bbr2")
            .unwrap();
        let socket = UdpSocket::bind(ANY).unwrap();
        let runtime = default_runtime().unwrap();
        let config = Some(certificate.server(&[]));
        let listening = Endpoint::new(EndpointConfig::default(), config, socket, runtime).unwrap();
        let socket = UdpSocket::bind(ANY).unwrap();
        let runtime = Arc::new(TokioRuntime);
        let dialing = Endpoint::new(EndpointConfig::default(), None, socket, runtime).unwrap();
        let address = listening.local_addr().unwrap();
        let connecting = dialing.connect_with(certificate.client(&[]), address, NAME);
        let accept = async {
            listening.accept().await.unwrap().retry().unwrap();
            let attempt = listening.accept().await.unwrap();
            let refused = attempt.retry().unwrap_err();
            let attempt = refused.into_incoming();
            assert!(attempt.remote_address_validated());
            let connecting: Connecting = attempt.accept_with(Arc::new(own)).unwrap();
            let (connection, is_done) = connecting.into_0rtt().unwrap();
            assert!(is_done.await);
            connection
        };
        let (connected, accepted) = tokio::join!(connecting.unwrap(), accept);
        assert_eq!(accepted.congestion().algorithm, "bbr2");
        assert_eq!(connected.unwrap().congestion().algorithm, "cubic");
    })
    .await;
}

const LEN: usize = 100_000;
