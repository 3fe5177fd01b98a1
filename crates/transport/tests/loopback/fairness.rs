//! Nobody is starved by who has more to do. How long something takes is counted in what others have
//! got done meanwhile, not in time.

use crate::hostile::helloes;
use crate::support::{Endpoints, any, within_a_minute};
use cc_core::Registry;
use std::cell::Cell;
use tokio::net::UdpSocket;
use transport::{Connection, RecvStream, SendStream, TransportConfig, VarInt};

/// Sends a small request and waits for the answer; tells by how much `others` grew meanwhile.
async fn ask((send, recv): &mut (SendStream, RecvStream), others: impl Fn() -> u64) -> u64 {
    let before = others();
    send.write_all(&[7; 100]).await.unwrap();
    recv.read_exact(&mut [0; 100]).await.unwrap();
    others() - before
}

/// Answers requests until the connection ends.
async fn answer(connection: Connection) {
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    let mut request = [0; 100];
    while recv.read_exact(&mut request).await.is_ok() {
        send.write_all(&request).await.unwrap();
    }
}

#[tokio::test]
async fn ninety_nine_quiet_connections_are_served_beside_a_busy_one() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        // Nothing but its turns bounds what the busy one sends at a time.
        let greedy = "fixed:pacing=off,cwnd=64000000";
        config
            .congestion(Registry::standard().choose(greedy).unwrap())
            .send_window(64 << 20)
            .receive_window(VarInt::from_u32(64 << 20));
        let endpoints = Endpoints::with(&config, &config);
        let mut quiet = Vec::new();
        for _ in 0..99 {
            let (client, server) = endpoints.connect().await;
            tokio::spawn(answer(server));
            quiet.push(client);
        }
        let (busy, sink) = endpoints.connect().await;
        tokio::spawn(async move {
            let mut recv = sink.accept_uni().await.unwrap();
            while let Ok(Some(_)) = recv.read_chunk(usize::MAX, true).await {}
        });
        let sending = async {
            let mut send = busy.open_uni().await.unwrap();
            loop {
                send.write_all(&[0; 1 << 20]).await.unwrap();
            }
        };
        let asking = async {
            let mut asked = tokio::task::JoinSet::new();
            for client in quiet {
                let busy = busy.clone();
                asked.spawn(async move {
                    let mut streams = client.open_bi().await.unwrap();
                    let mut most = 0;
                    for _ in 0..5 {
                        most = most.max(ask(&mut streams, || busy.stats().udp_tx.bytes).await);
                    }
                    most
                });
            }
            asked.join_all().await
        };
        let waits = tokio::select! {
            () = sending => unreachable!(),
            waits = asking => waits,
        };
        let longest = waits.into_iter().max().expect("99 of them");
        // 0.7 MB, as a rule: a turn gives the busy one a sixteenth of a MiB, or all of it where it
        // is alone, and an answer takes some turns.
        assert!(
            longest < 4 << 20,
            "{longest} bytes of the busy one before an answer"
        );
        let sent = busy.stats().udp_tx.bytes;
        assert!(sent > 2 * longest, "{sent} bytes: it was not busy");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_connection_is_served_beside_a_flood_of_new_ones() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let helloes = helloes(&endpoints, 1_000).await;
        let (client, server) = endpoints.connect().await;
        tokio::spawn(answer(server));
        let accepting = async {
            while let Some(attempt) = endpoints.server.accept().await {
                tokio::spawn(async move { attempt.await.map(drop) });
            }
        };
        let is_over = Cell::new(false);
        let flood = async {
            let attacker = UdpSocket::bind(any()).await.unwrap();
            for wave in helloes.chunks(50) {
                for hello in wave {
                    attacker.send_to(hello, endpoints.address()).await.unwrap();
                }
                tokio::task::yield_now().await;
            }
            is_over.set(true);
        };
        let accepted = || endpoints.server.stats().accepted_handshakes;
        let asking = async {
            let mut streams = client.open_bi().await.unwrap();
            let (mut most, mut answers) = (0, 0);
            while !is_over.get() {
                most = most.max(ask(&mut streams, accepted).await);
                answers += 1;
            }
            (most, answers)
        };
        let flooded = async { tokio::join!(flood, asking).1 };
        let (most, answers) = tokio::select! {
            () = accepting => panic!("the server is open"),
            result = flooded => result,
        };
        assert!(accepted() > 1_000, "{} accepted", accepted());
        // What a turn receives is 218 of such packets at most, and these come by fifties.
        assert!(
            most < 400 && answers > 3,
            "{most} before an answer, {answers} answers"
        );
        endpoints.close().await;
    })
    .await;
}
