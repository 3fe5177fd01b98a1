//! A server that takes no more, and finishes what it has.

use crate::support::{Endpoints, NAME, hash, noise, receive_all, send_all, within_a_minute};
use paceline::ConnectionError;
use std::time::Duration;

#[tokio::test]
async fn a_drained_server_finishes_its_connections_and_leaves_new_ones_to_others() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        endpoints.server.drain();
        assert!(endpoints.server.accept().await.is_none());

        let late = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        tokio::select! {
            result = late => panic!("expected silence, got {result:?}"),
            () = until(|| endpoints.server.stats().ignored_handshakes == 1) => {}
        }

        let data = noise(1, 1 << 20);
        let (send, recv) = (server.open_uni().await.unwrap(), client.accept_uni());
        let receive = async { receive_all(recv.await.unwrap()).await };
        let (received, ()) = tokio::join!(receive, send_all(send, &data));
        assert_eq!(hash(&received), hash(&data));

        assert_eq!(endpoints.server.open_connections(), 1);
        client.close(0_u32.into(), b"");
        endpoints.server.wait_idle().await;
        assert_eq!(endpoints.server.stats().refused_handshakes, 0);
    })
    .await;
}

#[tokio::test]
async fn who_came_before_the_draining_is_still_let_in() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async {
            let first = endpoints.server.accept().await.unwrap();
            endpoints.server.drain();
            first.await.unwrap()
        };
        let (client, server) = tokio::join!(connecting, accepting);
        client.unwrap().close(0_u32.into(), b"");
        server.closed().await;
        endpoints.server.wait_idle().await;
    })
    .await;
}

#[tokio::test]
async fn draining_wakes_those_who_wait_for_an_attempt() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let drain = async {
            tokio::task::yield_now().await;
            endpoints.server.drain();
        };
        let (attempt, ()) = tokio::join!(endpoints.server.accept(), drain);
        assert!(attempt.is_none());
    })
    .await;
}

#[tokio::test]
async fn who_comes_back_from_a_retry_can_go_nowhere_else_and_is_refused() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let retry = async {
            let attempt = endpoints.server.accept().await.unwrap();
            endpoints.server.drain();
            attempt.retry().unwrap();
        };
        let (result, ()) = tokio::join!(connecting, retry);
        let error = result.unwrap_err();
        assert!(
            matches!(error, ConnectionError::ConnectionClosed(_)),
            "{error}"
        );
        assert_eq!(endpoints.server.stats().refused_handshakes, 1);
    })
    .await;
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
