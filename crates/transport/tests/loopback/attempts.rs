//! What a server does with those who knock.

use crate::support::{Endpoints, NAME, server_config, within_a_minute};
use paceline::{ConnectionError, TransportConfig, VarInt};
use std::sync::Arc;

#[tokio::test]
async fn a_refused_attempt_fails_at_once() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let refuse = async { endpoints.server.accept().await.unwrap().refuse() };
        let (result, ()) = tokio::join!(connecting, refuse);
        let error = result.unwrap_err();
        assert!(
            matches!(error, ConnectionError::ConnectionClosed(_)),
            "{error}"
        );
        assert_eq!(endpoints.server.stats().refused_handshakes, 1);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_attempt_is_refused() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let forget = async { drop(endpoints.server.accept().await.unwrap()) };
        let (result, ()) = tokio::join!(connecting, forget);
        let error = result.unwrap_err();
        assert!(
            matches!(error, ConnectionError::ConnectionClosed(_)),
            "{error}"
        );
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_retries_has_proved_its_address() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async {
            let first = endpoints.server.accept().await.unwrap();
            assert!(!first.remote_address_validated());
            assert!(first.may_retry());
            first.retry().unwrap();
            let second = endpoints.server.accept().await.unwrap();
            assert!(second.remote_address_validated());
            let back = second.retry().unwrap_err().into_incoming();
            assert_eq!(
                back.remote_address(),
                endpoints.client.local_addr().unwrap()
            );
            back.await.unwrap()
        };
        let (client, server) = tokio::join!(connecting, accepting);
        assert_eq!(
            server.remote_address(),
            endpoints.client.local_addr().unwrap()
        );
        client.unwrap();
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_ignored_client_tries_again() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async {
            endpoints.server.accept().await.unwrap().ignore();
            endpoints.server.accept().await.unwrap().await.unwrap()
        };
        let (client, _server) = tokio::join!(connecting, accepting);
        client.unwrap();
        assert_eq!(endpoints.server.stats().ignored_handshakes, 1);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_connection_can_have_a_configuration_of_its_own() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut transport = TransportConfig::default();
        transport.max_concurrent_uni_streams(VarInt::from_u32(0));
        let mut config = server_config(&endpoints.certificate, &transport);
        config.congestion("new_reno").unwrap();
        let config = Arc::new(config);
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async {
            let attempt = endpoints.server.accept().await.unwrap();
            attempt.accept_with(config).unwrap().await.unwrap()
        };
        let (client, server) = tokio::join!(connecting, accepting);
        let client = client.unwrap();
        assert_eq!(server.congestion().algorithm, "new_reno");
        assert_eq!(client.congestion().algorithm, "cubic");
        let mut opening = tokio_test::task::spawn(client.open_uni());
        tokio_test::assert_pending!(opening.poll());
        drop(opening);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn fifty_clients_at_once_are_all_served() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let server = endpoints.server.clone();
        let serving = tokio::spawn(async move {
            while let Some(attempt) = server.accept().await {
                tokio::spawn(async move {
                    let connection = attempt.await.unwrap();
                    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
                    tokio::io::copy(&mut recv, &mut send).await.unwrap();
                    send.finish().unwrap();
                    connection.closed().await;
                });
            }
        });
        let clients = (0..50_u8).map(|number| {
            let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
            tokio::spawn(async move {
                let connection = connecting.await.unwrap();
                let (mut send, mut recv) = connection.open_bi().await.unwrap();
                send.write_all(&[number; 20_000]).await.unwrap();
                send.finish().unwrap();
                assert_eq!(recv.read_to_end(20_000).await.unwrap(), [number; 20_000]);
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        assert_eq!(endpoints.server.stats().accepted_handshakes, 50);
        endpoints.client.wait_idle().await;
        endpoints.close().await;
        serving.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn attempts_beyond_the_limit_are_not_kept() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut config = server_config(&endpoints.certificate, &TransportConfig::default());
        config.max_incoming(1);
        endpoints.server.set_server_config(Some(config));
        let address = endpoints.address();
        let first = endpoints.client.connect(address, NAME).unwrap();
        let waiting = endpoints.server.accept().await.unwrap();
        // It waits for its decision, so the next one finds no room; its client sends again.
        let second = endpoints.client.connect(address, NAME).unwrap();
        let first_there = waiting.accept().unwrap();
        let accepting = async { endpoints.server.accept().await.unwrap().await };
        let (first, first_there, second, second_there) =
            tokio::join!(first, first_there, second, accepting);
        first.unwrap();
        first_there.unwrap();
        second.unwrap();
        second_there.unwrap();
        endpoints.close().await;
    })
    .await;
}
