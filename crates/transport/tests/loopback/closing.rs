//! How connections end, and who hears of it.

use crate::support::{Endpoints, NAME, any, client_endpoint, within_a_minute};
use paceline::{
    ConnectError, ConnectionError, Endpoint, ReadError, TransportConfig, VarInt, WriteError,
};
use std::time::Duration;
use tokio_test::{assert_pending, assert_ready};

const CODE: VarInt = VarInt::from_u32(42);

fn impatient() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.max_idle_timeout(Some(Duration::from_millis(600).try_into().unwrap()));
    config
}

#[track_caller]
fn assert_closed_by_peer(error: &ConnectionError, code: VarInt, reason: &[u8]) {
    let ConnectionError::ApplicationClosed(close) = error else {
        panic!("expected the peer's close, got {error}")
    };
    assert_eq!(close.error_code, code);
    assert_eq!(&close.reason[..], reason);
}

#[tokio::test]
async fn the_peer_sees_code_and_reason() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        assert_eq!(server.close_reason(), None);
        client.close(CODE, b"enough");
        assert_closed_by_peer(&server.closed().await, CODE, b"enough");
        assert_eq!(client.closed().await, ConnectionError::LocallyClosed);
        assert_eq!(client.close_reason(), Some(ConnectionError::LocallyClosed));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "nothing else is to happen")]
async fn the_peer_is_told_by_a_machine_that_is_late() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        client.close(CODE, b"enough");
        // By now a closing connection is to be forgotten (RFC 9000 §10.2).
        std::thread::sleep(Duration::from_millis(500));
        assert_closed_by_peer(&server.closed().await, CODE, b"enough");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn whoever_waits_is_told_of_the_end() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.max_concurrent_bidi_streams(VarInt::from_u32(1));
        config.send_window(1_000);
        let endpoints = Endpoints::with(&config, &config);
        let (client, server) = endpoints.connect().await;
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        send.write_all(&[0; 1_000]).await.unwrap();
        let stopped = send.stopped();
        let too_much = vec![0; 1_000_000];
        let waiting = async {
            tokio::join!(
                send.write_all(&too_much),
                recv.read_chunk(1, true),
                client.open_bi(),
                client.accept_uni(),
                client.accept_bi(),
                client.read_datagram(),
                client.closed(),
                stopped,
            )
        };
        let close = async {
            server.accept_bi().await.unwrap();
            server.close(CODE, b"");
        };
        let (ends, ()) = tokio::join!(waiting, close);
        let WriteError::ConnectionLost(written) = ends.0.unwrap_err() else {
            panic!("the connection is lost")
        };
        let ReadError::ConnectionLost(read) = ends.1.unwrap_err() else {
            panic!("the connection is lost")
        };
        let errors = [
            written,
            read,
            ends.2.unwrap_err(),
            ends.3.unwrap_err(),
            ends.4.unwrap_err(),
            ends.5.unwrap_err(),
            ends.6,
        ];
        for error in &errors {
            assert_closed_by_peer(error, CODE, b"");
        }
        assert!(ends.7.is_err());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn dropping_the_last_handle_closes_with_code_0() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let other = client.clone();
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"x").await.unwrap();
        drop((client, other));
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read(&mut [0]).await, Ok(Some(1)));
        assert_eq!(server.close_reason(), None);
        drop(send);
        assert_closed_by_peer(&server.closed().await, VarInt::from_u32(0), b"");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn data_that_came_before_the_close_can_still_be_read() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"last words").await.unwrap();
        send.finish().unwrap();
        assert_eq!(send.stopped().await, Ok(None));
        client.close(CODE, b"");
        server.closed().await;
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"last words");
        assert_closed_by_peer(&server.accept_uni().await.unwrap_err(), CODE, b"");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_silent_connection_times_out_on_both_sides() {
    within_a_minute(async {
        let endpoints = Endpoints::with(&impatient(), &impatient());
        let (client, server) = endpoints.connect().await;
        assert_eq!(client.closed().await, ConnectionError::TimedOut);
        assert_eq!(server.closed().await, ConnectionError::TimedOut);
        endpoints.client.wait_idle().await;
        endpoints.server.wait_idle().await;
    })
    .await;
}

#[tokio::test]
async fn keep_alive_outlives_the_idle_timeout() {
    within_a_minute(async {
        let mut config = impatient();
        config.keep_alive_interval(Some(Duration::from_millis(50)));
        let endpoints = Endpoints::with(&impatient(), &config);
        let (client, server) = endpoints.connect().await;
        // Three idle timeouts, were it not for the keep-alive.
        tokio::time::sleep(Duration::from_millis(1_800)).await;
        assert_eq!(client.close_reason(), None);
        assert_eq!(server.close_reason(), None);
        endpoints.close().await;
    })
    .await;
}

#[test]
fn a_peer_that_vanishes_is_noticed_within_the_idle_timeout() {
    let here = tokio::runtime::Runtime::new().unwrap();
    let there = tokio::runtime::Runtime::new().unwrap();
    let endpoints = there.block_on(async { Endpoints::new() });
    let address = endpoints.address();
    let accepting = there.spawn(async move {
        let connection = endpoints.server.accept().await.unwrap().await.unwrap();
        (endpoints.certificate, connection)
    });
    here.block_on(within_a_minute(async {
        let certificate = paceline::tls::client_without_verification();
        let mut client = Endpoint::client(any()).unwrap();
        let mut config = certificate.config().unwrap();
        config.transport_config(impatient().into());
        client.set_default_client_config(config);
        let connection = client.connect(address, NAME).unwrap().await.unwrap();
        let server = accepting.await.unwrap();
        // No task is left over there to send anything, not even a close.
        there.shutdown_background();
        let mut send = connection.open_uni().await.unwrap();
        let error = loop {
            if let Err(error) = send.write(&[0; 10_000]).await {
                break error;
            }
        };
        assert_eq!(error, WriteError::ConnectionLost(ConnectionError::TimedOut));
        client.wait_idle().await;
        drop(server);
    }));
}

#[test]
fn the_end_of_the_runtime_ends_connections_and_endpoints() {
    let there = tokio::runtime::Runtime::new().unwrap();
    let (endpoints, client) = there.block_on(within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, _) = endpoints.connect().await;
        (endpoints, client)
    }));
    drop(there);
    let here = tokio::runtime::Runtime::new().unwrap();
    here.block_on(within_a_minute(async {
        client.closed().await;
        assert!(endpoints.server.accept().await.is_none());
        let again = endpoints.client.connect(any(), NAME);
        assert!(matches!(again, Err(ConnectError::EndpointStopping)));
        endpoints.client.wait_idle().await;
    }));
}

#[tokio::test]
async fn closing_an_endpoint_closes_all_of_it() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (first, first_there) = endpoints.connect().await;
        let (_second, second_there) = endpoints.connect().await;
        let mut accept = tokio_test::task::spawn(endpoints.server.accept());
        assert_pending!(accept.poll());
        endpoints.server.close(CODE, b"bye");
        assert!(accept.is_woken());
        assert!(assert_ready!(accept.poll()).is_none());
        drop(accept);
        assert_eq!(first_there.closed().await, ConnectionError::LocallyClosed);
        assert_eq!(second_there.closed().await, ConnectionError::LocallyClosed);
        assert_closed_by_peer(&first.closed().await, CODE, b"bye");
        endpoints.server.wait_idle().await;
        let refused = endpoints.client.connect(endpoints.address(), NAME);
        let error = refused.unwrap().await.unwrap_err();
        assert!(
            matches!(error, ConnectionError::ConnectionClosed(_)),
            "{error}"
        );
        let config = paceline::tls::client_without_verification().config();
        let result = endpoints
            .server
            .connect_with(config.unwrap(), endpoints.address(), NAME);
        assert!(matches!(result, Err(ConnectError::EndpointStopping)));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn connections_go_on_without_a_handle_of_their_endpoint() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        drop(endpoints);
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"still here").await.unwrap();
        send.finish().unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"still here");
    })
    .await;
}

#[tokio::test]
async fn nobody_at_the_other_end_is_a_timeout() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let client = client_endpoint(&endpoints.certificate, &impatient());
        // A socket that answers nothing, then a port that answers with ICMP.
        let silent = std::net::UdpSocket::bind(any()).unwrap();
        let address = silent.local_addr().unwrap();
        let result = client.connect(address, NAME).unwrap().await;
        assert_eq!(result.unwrap_err(), ConnectionError::TimedOut);
        drop(silent);
        let result = client.connect(address, NAME).unwrap().await;
        assert_eq!(result.unwrap_err(), ConnectionError::TimedOut);
        endpoints.close().await;
    })
    .await;
}
