//! What becomes of an operation that is dropped while the send window is full.

use super::{Pair, session};
use crate::support::within_a_minute;
use paceline::TransportConfig;
use paceline::webtransport::{Connection, RecvStream, Session};
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// A session whose server has no room to write, until the client reads.
struct Blocked {
    client: (Connection, Session),
    server: (Connection, Session),
    unread: RecvStream,
}

async fn blocked(pair: &Pair) -> Blocked {
    let (client, server) = pair.connections().await;
    let (asked, accepted) = session(&client, &server, &pair.url("/")).await;
    let mut send = accepted.open_uni().await.unwrap();
    let flood = tokio::spawn(async move { send.write_all(&vec![0; 4 << 20]).await });
    let unread = asked.accept_uni().await.unwrap();
    // All that the client takes unread is 1 MiB, and the server holds 10 kB more.
    let is_full = async {
        let mut sent = 0;
        while sent != accepted.connection().stats().udp_tx.bytes {
            sent = accepted.connection().stats().udp_tx.bytes;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    is_full.await;
    assert!(!flood.is_finished());
    Blocked {
        client: (client, asked),
        server: (server, accepted),
        unread,
    }
}

fn pair() -> Pair {
    let mut transport = TransportConfig::default();
    transport.send_window(10_000);
    Pair::with(&transport)
}

/// Drops it where it waits.
async fn cancel<T>(operation: impl Future<Output = T>) {
    let waited = timeout(Duration::from_millis(20), operation).await;
    assert!(waited.is_err(), "there was room");
}

#[tokio::test]
async fn a_cancelled_acceptance_rejects_the_request_and_gives_its_place_back() {
    within_a_minute(async {
        let pair = pair();
        let mut blocked = blocked(&pair).await;
        let (client, server) = (&blocked.client.0, &blocked.server.0);
        let url = pair.url("/");
        // More than a server permits at once.
        for _ in 0..20 {
            let accepting = async { cancel(server.accept().await.unwrap().accept()).await };
            let (asked, ()) = tokio::join!(client.connect(url.as_str()), accepting);
            asked.unwrap_err();
        }
        let reading = tokio::spawn(async move { blocked.unread.read_to_end(4 << 20).await });
        session(client, server, &url).await;
        reading.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_stream_whose_header_is_not_written_is_reset() {
    within_a_minute(async {
        let pair = pair();
        let mut blocked = blocked(&pair).await;
        let server = &blocked.server.1;
        cancel(server.open_uni()).await;
        cancel(server.open_bi()).await;
        let reading = tokio::spawn(async move { blocked.unread.read_to_end(4 << 20).await });
        let mut send = server.open_uni().await.unwrap();
        send.write_all(b"whole").await.unwrap();
        send.finish().unwrap();
        let mut recv = blocked.client.1.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(10).await.unwrap(), b"whole");
        assert_eq!(server.connection().stats().frame_tx.reset_stream, 2);
        reading.await.unwrap().unwrap();
    })
    .await;
}
