//! Codes that one side gives, as the other's application meets them.

use crate::h3::{Pair, code_of, limited, noise};
use bytes::Buf;
use h3::error::{Code, ConnectionError, StreamError};
use h3::quic::ConnectionErrorIncoming;
use http::Response;
use paceline::{IdleTimeout, TransportConfig, VarInt};
use std::time::Duration;

/// A code that means nothing to anybody, beyond 32 bits.
const OWN_CODE: u64 = 0x21 + 0x1F * 1_000_000_000_000;

fn own_code() -> Code {
    Code::from(OWN_CODE)
}

#[tokio::test]
async fn a_reset_in_mid_body_reaches_the_reader_with_its_code() {
    let mut pair = Pair::new().await;
    let (mut client, mut server) = pair.request().await;
    server.send_response(Response::new(())).await.unwrap();
    server.send_data(noise(1_000)).await.unwrap();
    client.recv_response().await.unwrap();
    let chunk = limited(client.recv_data()).await.unwrap().unwrap();
    assert!(chunk.has_remaining());
    drop(chunk);
    server.stop_stream(own_code());
    let read_on = async {
        loop {
            if client.recv_data().await.map(|data| data.is_some())? {
                continue;
            }
            break Ok::<_, StreamError>(());
        }
    };
    assert_eq!(code_of(limited(read_on).await), OWN_CODE);
    // A second call returns the same error, and not one that blames the peer.
    assert_eq!(code_of(limited(client.recv_data()).await), OWN_CODE);
    pair.exchange().await;
}

#[tokio::test]
async fn a_reader_that_stops_reaches_the_writer_with_its_code() {
    let mut pair = Pair::new().await;
    let (mut client, mut server) = pair.request().await;
    client.stop_sending(own_code());
    let write_on = async {
        loop {
            server.send_data(noise(1_000)).await?;
        }
    };
    let stopped: Result<(), _> = limited(write_on).await;
    assert_eq!(code_of(stopped), OWN_CODE);
    // What is read from a stream that was stopped is not its end.
    let read = limited(client.recv_data()).await.map(|data| data.is_some());
    assert!(matches!(read, Err(StreamError::Undefined(_))), "{read:?}");
    pair.exchange().await;
}

#[tokio::test]
async fn a_reader_that_is_dropped_says_why_by_its_side() {
    let mut pair = Pair::new().await;
    let (client, server) = pair.request().await;
    let ((_client_send, client_recv), (mut server_send, _server_recv)) =
        (client.split(), server.split());
    drop(client_recv);
    let write_on = async {
        loop {
            server_send.send_data(noise(1_000)).await?;
        }
    };
    let stopped: Result<(), _> = limited(write_on).await;
    assert_eq!(code_of(stopped), Code::H3_REQUEST_CANCELLED.value());

    let (client, server) = pair.request().await;
    let ((mut client_send, _client_recv), (_server_send, server_recv)) =
        (client.split(), server.split());
    drop(server_recv);
    let write_on = async {
        loop {
            client_send.send_data(noise(1_000)).await?;
        }
    };
    let stopped: Result<(), _> = limited(write_on).await;
    assert_eq!(code_of(stopped), Code::H3_NO_ERROR.value());
}

#[tokio::test]
async fn a_server_that_closes_without_error_is_no_error() {
    let Pair {
        requests: _requests,
        closed,
        server,
        quic,
    } = Pair::new().await;
    drop(server);
    let error = limited(closed).await.unwrap();
    assert!(error.is_h3_no_error(), "{error}");
    let paceline::ConnectionError::ApplicationClosed(close) = quic[0].closed().await else {
        panic!("it was not the server who closed");
    };
    assert_eq!(close.error_code, VarInt::from_u32(0x100));
}

#[tokio::test]
async fn an_applications_close_reaches_requests_with_its_code() {
    let mut pair = Pair::new().await;
    let (mut client, _server) = pair.request().await;
    pair.quic[1].close(VarInt::from_u64(OWN_CODE).unwrap(), b"enough");
    let response = limited(client.recv_response()).await;
    let Err(StreamError::ConnectionError(ConnectionError::Remote(
        ConnectionErrorIncoming::ApplicationClose { error_code },
    ))) = response
    else {
        panic!("{response:?}");
    };
    assert_eq!(error_code, OWN_CODE);
}

#[tokio::test]
async fn an_own_close_is_the_connections_error_and_not_the_peers_code() {
    let mut pair = Pair::new().await;
    let (mut client, _server) = pair.request().await;
    pair.quic[0].close(VarInt::from_u32(7), b"");
    let response = limited(client.recv_response()).await;
    let Err(StreamError::ConnectionError(ConnectionError::Remote(
        ConnectionErrorIncoming::Undefined(error),
    ))) = response
    else {
        panic!("{response:?}");
    };
    let error = error.downcast_ref::<paceline::ConnectionError>();
    assert_eq!(error, Some(&paceline::ConnectionError::LocallyClosed));
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let mut config = TransportConfig::default();
    let timeout = IdleTimeout::try_from(Duration::from_millis(50)).unwrap();
    config.max_idle_timeout(Some(timeout));
    let pair = Pair::with(config).await;
    let error = limited(pair.closed).await.unwrap();
    assert!(matches!(error, ConnectionError::Timeout), "{error}");
}

#[tokio::test]
async fn codes_that_cannot_be_written_become_the_largest() {
    let mut pair = Pair::new().await;
    let (mut client, mut server) = pair.request().await;
    server.stop_stream(Code::from(u64::MAX));
    let response = limited(client.recv_response()).await;
    assert_eq!(code_of(response), VarInt::MAX.into_inner());
}
