//! Data before the handshake is finished, and sessions resumed for it.

use crate::support::{
    Endpoints, NAME, noise, receive_all, send_all, server_config, within_a_minute,
};
use paceline::{
    Connection, ReadError, ResetError, StoppedError, TransportConfig, WriteError, ZeroRttAccepted,
};
use std::time::Duration;

/// A first connection, so that the client has a session to resume.
async fn get_acquainted(endpoints: &Endpoints) {
    let (client, server) = endpoints.connect().await;
    let (send, recv) = client.open_bi().await.unwrap();
    let answering = async {
        let (send, recv) = server.accept_bi().await.unwrap();
        let asked = receive_all(recv).await;
        send_all(send, &asked).await;
        server.closed().await;
    };
    let asking = async {
        // The session's ticket comes before the answer.
        tokio::join!(send_all(send, b"hello"), receive_all(recv));
        client.close(0_u32.into(), b"");
    };
    tokio::join!(answering, asking);
}

fn early(endpoints: &Endpoints) -> (Connection, ZeroRttAccepted) {
    let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
    connecting.into_0rtt().expect("a session to resume")
}

#[tokio::test]
async fn a_client_that_was_here_before_sends_at_once() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        get_acquainted(&endpoints).await;
        let data = noise(1, 3_000);

        let (client, accepted) = early(&endpoints);
        let (send, recv) = client.open_bi().await.unwrap();
        assert!(recv.is_0rtt());
        send_all(send, &data).await;
        let attempt = endpoints.server.accept().await.unwrap();
        assert!(
            attempt.remote_address_validated(),
            "by a token of the first one"
        );
        let (server, is_accepted) = attempt.accept().unwrap().into_0rtt().unwrap();
        let (reply, request) = server.accept_bi().await.unwrap();
        assert!(request.is_0rtt());
        assert_eq!(receive_all(request).await, data);
        send_all(reply, b"answer").await;

        assert_eq!(receive_all(recv).await, b"answer");
        assert!(accepted.await && is_accepted.await);
        let (_, later) = client.open_bi().await.unwrap();
        assert!(!later.is_0rtt());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_began_early_goes_on_where_it_was() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        get_acquainted(&endpoints).await;
        let data = noise(1, 1_000_000);
        let (client, accepted) = early(&endpoints);
        let mut send = client.open_uni().await.unwrap();
        send.write_all(&data[..3_000]).await.unwrap();
        let attempt = endpoints.server.accept().await.unwrap();
        let (server, is_accepted) = attempt.accept().unwrap().into_0rtt().unwrap();
        let mut recv = server.accept_uni().await.unwrap();
        let mut received = vec![0; data.len()];
        recv.read_exact(&mut received[..1_000]).await.unwrap();

        assert!(accepted.await && is_accepted.await);
        recv.read_exact(&mut received[1_000..2_000]).await.unwrap();
        // More frames than are left inside quinn-proto.
        send.write_all(&data[3_000..]).await.unwrap();
        while server.stats().frame_rx.stream < 600 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        recv.read_exact(&mut received[2_000..]).await.unwrap();
        assert_eq!(received, data);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stranger_gets_its_attempt_back() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let connecting = connecting.into_0rtt().expect_err("no session yet");
        let accepting = async { endpoints.server.accept().await.unwrap().await };
        let (client, server) = tokio::join!(connecting, accepting);
        assert!(client.is_ok() && server.is_ok());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn streams_that_the_server_rejected_have_never_been() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        get_acquainted(&endpoints).await;
        // The same server after a restart: it knows no sessions.
        let config = server_config(&endpoints.certificate, &TransportConfig::default());
        endpoints.server.set_server_config(Some(config));

        let (client, accepted) = early(&endpoints);
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        let mut waiting = client.open_uni().await.unwrap();
        // More than the server lets it send: it waits until it is rejected.
        let much = noise(1, 64 << 20);
        let writing = waiting.write_all(&much);
        let stopped = send.stopped();
        send.write_all(b"early").await.unwrap();
        let accepting = async { endpoints.server.accept().await.unwrap().await.unwrap() };
        let (is_accepted, server, written, stopped) =
            tokio::join!(accepted, accepting, writing, stopped);
        assert!(!is_accepted);
        assert_eq!(written, Err(WriteError::ZeroRttRejected));
        assert_eq!(stopped, Err(StoppedError::ZeroRttRejected));

        // A new stream has the number of the old one, which must not touch it.
        let (mut new_send, new_recv) = client.open_bi().await.unwrap();
        assert_eq!(new_send.id(), send.id());
        assert!(!new_recv.is_0rtt());
        assert_eq!(send.write(b"x").await, Err(WriteError::ZeroRttRejected));
        assert_eq!(recv.read(&mut [0]).await, Err(ReadError::ZeroRttRejected));
        let reset = recv.received_reset().await;
        assert_eq!(reset, Err(ResetError::ZeroRttRejected));
        assert!(send.finish().is_err() && send.set_priority(1).is_err());
        assert!(send.unsent().is_err());
        assert_eq!(send.sent().await, Err(WriteError::ZeroRttRejected));
        assert!(send.reset(1_u32.into()).is_ok() && recv.stop(1_u32.into()).is_ok());
        drop((send, recv));

        let echo = async {
            let (send, recv) = server.accept_bi().await.unwrap();
            let asked = receive_all(recv).await;
            send_all(send, &asked).await;
        };
        let asking = async {
            new_send.write_all(b"again").await.unwrap();
            // What left under this number before does not count.
            assert_eq!(new_send.unsent(), Ok(5));
            new_send.finish().unwrap();
            new_send.sent().await.unwrap();
            receive_all(new_recv).await
        };
        assert_eq!(tokio::join!(echo, asking).1, b"again");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_connection_lost_before_has_not_accepted() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        get_acquainted(&endpoints).await;
        let (client, accepted) = early(&endpoints);
        let mut send = client.open_uni().await.unwrap();
        endpoints.server.accept().await.unwrap().refuse();
        assert!(!accepted.await);
        let lost = client.closed().await;
        let written = send.write(b"x").await;
        assert_eq!(written, Err(WriteError::ConnectionLost(lost)));
        endpoints.close().await;
    })
    .await;
}
