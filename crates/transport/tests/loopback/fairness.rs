//! Nobody is starved by who has more to do. How long something takes is counted in what others have
//! got done meanwhile, not in time.

use crate::hostile::helloes;
use crate::support::{Endpoints, any, within_a_minute};
use bytes::Bytes;
use cc_core::Registry;
use paceline::{Connection, RecvStream, SendStream, TransportConfig, VarInt};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::UdpSocket;

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
        let endpoints = Endpoints::with(&greedy(), &greedy());
        let mut quiet = Vec::new();
        for _ in 0..99 {
            let (client, server) = endpoints.connect().await;
            tokio::spawn(answer(server));
            quiet.push(client);
        }
        let (busy, server) = endpoints.connect().await;
        tokio::spawn(sink(server, Arc::default()));
        let sending = pour(busy.clone());
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

/// Nothing but its turns bounds what such a sender sends at a time.
fn greedy() -> TransportConfig {
    let mut config = TransportConfig::default();
    let controller = "fixed:pacing=off,cwnd=64000000";
    config
        .congestion(Registry::standard().choose(controller).unwrap())
        .send_window(64 << 20)
        .receive_window(VarInt::from_u32(64 << 20));
    config
}

/// Reads what comes on the next stream, and counts it.
async fn sink(connection: Connection, count: Arc<AtomicU64>) {
    let mut recv = connection.accept_uni().await.unwrap();
    while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
        count.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Writes until the connection ends.
async fn pour(connection: Connection) {
    let mut send = connection.open_uni().await.unwrap();
    let block = Bytes::from_static(&[0; 128 << 10]);
    while send.write_chunk(block.clone()).await.is_ok() {}
}

#[tokio::test]
async fn two_hundred_connections_with_little_to_say_have_their_turn_soon() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut streams = Vec::new();
        for _ in 0..200 {
            let (client, server) = endpoints.connect().await;
            tokio::spawn(answer(server));
            streams.push(client.open_bi().await.unwrap());
        }
        // A busy endpoint has a turn for each look at the event loop, and so has this.
        let turns = Cell::new(0);
        let counting = async {
            loop {
                tokio::task::yield_now().await;
                turns.set(turns.get() + 1);
            }
        };
        let asking = async {
            let mut fewest = u64::MAX;
            for _ in 0..20 {
                let before = turns.get();
                for (send, _) in &mut streams {
                    send.write_all(&[7; 100]).await.unwrap();
                }
                for (_, recv) in &mut streams {
                    recv.read_exact(&mut [0; 100]).await.unwrap();
                }
                fewest = fewest.min(turns.get() - before);
            }
            fewest
        };
        let fewest = tokio::select! {
            () = counting => unreachable!(),
            fewest = asking => fewest,
        };
        // Each side has 200 packets to send. By sixteen in a turn that takes thirteen turns.
        assert!(fewest < 10, "{fewest} turns");
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_is_served_beside_a_busy_one_of_the_same_thread() {
    within_a_minute(async {
        let (busy, quiet) = (Endpoints::with(&greedy(), &greedy()), Endpoints::new());
        let (client, server) = busy.connect().await;
        tokio::spawn(sink(server, Arc::default()));
        tokio::spawn(pour(client.clone()));
        let (asking, answering) = quiet.connect().await;
        tokio::spawn(answer(answering));
        let mut streams = asking.open_bi().await.unwrap();
        let mut waits = Vec::new();
        for _ in 0..9 {
            waits.push(ask(&mut streams, || client.stats().udp_tx.bytes).await);
        }
        waits.sort_unstable();
        // Two turns of a MiB, as a rule. When the runtime looks at its event loop after 61 polls
        // only, which it does if a busy endpoint wakes itself, it takes 30 of them.
        assert!(waits[4] < 8 << 20, "{waits:?} bytes of the busy one");
        let sent = client.stats().udp_tx.bytes;
        assert!(sent > 2 * waits[4], "{sent} bytes: it was not busy");
        busy.close().await;
        quiet.close().await;
    })
    .await;
}

#[tokio::test]
async fn streams_that_always_have_more_to_write_share_the_room() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let counts: Vec<Arc<AtomicU64>> = (0..5).map(|_| Arc::default()).collect();
        for count in &counts {
            tokio::spawn(sink(server.clone(), Arc::clone(count)));
            tokio::spawn(pour(client.clone()));
        }
        let read = || counts.iter().map(|count| count.load(Ordering::Relaxed));
        while read().sum::<u64>() < 100 << 20 {
            tokio::task::yield_now().await;
        }
        let (least, most) = (read().min(), read().max());
        // What each has written is within 192 KiB of the others; what has arrived, a window more.
        let [least, most] = [least, most].map(|count| count.expect("there are five"));
        assert!(least > most / 2, "{:?}", read().collect::<Vec<_>>());
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
                // A busy endpoint has a turn for each look at the event loop, and so has this. In
                // a turn it sends 128 small batches, and each new connection has two to send. A
                // flood of more than that makes a queue, in which the old connection waits too.
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
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
