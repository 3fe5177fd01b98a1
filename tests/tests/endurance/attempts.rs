//! What clients send before anybody has accepted them.

use crate::any;
use e2e::memory::held;
use paceline::Endpoint;
use paceline::tls::{SelfSigned, client_without_verification};
use tokio::net::UdpSocket;

/// The first packet of a client of its own.
async fn hello() -> Vec<u8> {
    let nobody = UdpSocket::bind(any()).await.unwrap();
    let client = Endpoint::client(any()).unwrap();
    let config = client_without_verification().config().unwrap();
    let address = nobody.local_addr().unwrap();
    let _connecting = client.connect_with(config, address, "localhost").unwrap();
    let mut buffer = [0; 1_500];
    let (len, _) = nobody.recv_from(&mut buffer).await.unwrap();
    buffer[..len].to_vec()
}

/// Sends `datagram` so often, and waits until the server has looked at all of them.
async fn send(socket: &UdpSocket, datagram: &[u8], count: usize) {
    // Of a version that nobody speaks (RFC 9000 §15), which is answered at once.
    let mut question = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8];
    question.resize(1_200, 0);
    for sent in 1..=count {
        socket.send(datagram).await.unwrap();
        if sent % 20 == 0 || sent == count {
            socket.send(&question).await.unwrap();
            // Attempts get no answer of their own.
            socket.recv(&mut [0; 1_500]).await.unwrap();
        }
    }
}

#[test]
fn what_comes_for_attempts_that_wait_is_kept_up_to_the_limits() {
    let (one, all) = (200_000, 500_000);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let certificate = SelfSigned::generate(["localhost"]).unwrap();
        let mut config = certificate.server().config().unwrap();
        config
            .incoming_buffer_size(one)
            .incoming_buffer_size_total(all);
        let server = Endpoint::server(config, any()).unwrap();
        let mut helloes = Vec::new();
        for _ in 0..5 {
            helloes.push(hello().await);
        }
        let attacker = UdpSocket::bind(any()).await.unwrap();
        attacker
            .connect(server.local_addr().unwrap())
            .await
            .unwrap();
        send(&attacker, &helloes[0], 1).await;
        let before = held();
        let mut held_by = Vec::new();
        for hello in &helloes {
            send(&attacker, hello, 1_000).await;
            held_by.push(held() - before);
        }
        // Besides what came there is the memory behind it and its book-keeping, a quarter as much.
        let is_full =
            |held: i64, limit: u64| (limit as i64 * 9 / 10..2 * limit as i64).contains(&held);
        assert!(is_full(held_by[0], one), "{held_by:?}");
        assert!(is_full(held_by[4], all), "{held_by:?}");
        server.close(0_u32.into(), b"");
    });
}
