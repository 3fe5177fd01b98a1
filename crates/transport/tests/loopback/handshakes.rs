//! Handshakes in programs that are busy with other things.

use crate::support::{Endpoints, NAME, within_a_minute};
use paceline::TransportConfig;
use std::time::Duration;
use tokio::task::yield_now;

/// Twice as long as the handshakes have.
#[expect(
    clippy::disallowed_methods,
    reason = "it is what an application must not do and does"
)]
fn block_the_runtime() {
    std::thread::sleep(Duration::from_secs(1));
}

#[tokio::test]
async fn handshakes_outlive_an_application_that_blocks_the_runtime() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.handshake_timeout(Some(Duration::from_millis(500)));
        let endpoints = Endpoints::with(&config, &config);
        let connecting: Vec<_> = (0..CONNECTIONS)
            .map(|_| endpoints.client.connect(endpoints.address(), NAME).unwrap())
            .collect();
        // Before the clients' first flights, after them, before the server's, after them.
        block_the_runtime();
        let mut attempts = Vec::new();
        for _ in 0..CONNECTIONS {
            attempts.push(endpoints.server.accept().await.unwrap());
        }
        block_the_runtime();
        let accepting: Vec<_> = attempts
            .into_iter()
            .map(|attempt| attempt.accept().unwrap())
            .collect();
        block_the_runtime();
        yield_now().await;
        block_the_runtime();
        for connecting in connecting.into_iter().chain(accepting) {
            connecting.await.unwrap();
        }
    })
    .await;
}

const CONNECTIONS: usize = 50;
