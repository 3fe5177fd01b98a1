//! Which of several streams goes first.

use crate::support::{configs, connected, simulation};
use paceline::{Connection, SendStream};
use std::time::Duration;
use tokio::time::sleep;

const BYTES: u64 = 200_000;
const MILLI: Duration = Duration::from_millis(1);

async fn stream(connection: &Connection, priority: i32) -> SendStream {
    let mut stream = connection.open_uni().await.unwrap();
    stream.set_priority(priority).unwrap();
    stream.write_all(&vec![7; BYTES as usize]).await.unwrap();
    stream.finish().unwrap();
    stream
}

#[test]
fn higher_priorities_go_first_and_equal_ones_take_turns() {
    simulation(1, "delay 30ms rate 8mbit queue 100p").run(async {
        let (client, server) = connected(configs("paceline")).await;
        tokio::spawn(async move {
            while let Ok(mut stream) = server.accept_uni().await {
                tokio::spawn(async move { stream.read_to_end(BYTES as usize).await });
            }
        });
        let last = stream(&client, -1).await;
        let equal = [stream(&client, 0).await, stream(&client, 0).await];
        sleep(MILLI * 100).await;
        let first = stream(&client, 1).await;
        let unsent = |stream: &SendStream| stream.unsent().unwrap();
        let before = equal.each_ref().map(unsent);
        assert!(before.iter().all(|unsent| *unsent < BYTES), "{before:?}");
        let mut shared_first = 0;
        while unsent(&last) > 0 {
            sleep(MILLI * 5).await;
            let [one, other] = equal.each_ref().map(unsent);
            // While the first one has something to send, nothing of the others leaves.
            let has_first = unsent(&first) > 0;
            assert!(!has_first || [one, other] == before, "{one}, {other}");
            assert!(
                unsent(&last) >= BYTES - PACKETS || one.max(other) == 0,
                "{one}, {other}"
            );
            assert!(one.abs_diff(other) <= PACKETS, "{one}, {other}");
            shared_first += u32::from(has_first);
        }
        assert!(shared_first > 10, "{shared_first}");
    });
}

/// What leaves of a stream before the next one is written, and the turns of two: a few packets.
const PACKETS: u64 = 20_000;
