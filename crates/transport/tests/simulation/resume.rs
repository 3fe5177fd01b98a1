//! What endpoints remember of paths from one connection to the next (docs/resume.md).

use crate::support::{address, configs, simulation};
use paceline::{ClientConfig, Connection, Endpoint, PathStore, ServerConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SERVER: &str = "10.0.0.1:443";
const BYTES: usize = 4_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

async fn send(connection: &Connection) {
    let mut stream = connection.open_uni().await.unwrap();
    stream.write_all(&vec![7; BYTES]).await.unwrap();
    stream.finish().unwrap();
    stream.stopped().await.unwrap();
}

async fn receive(connection: &Connection) {
    let mut stream = connection.accept_uni().await.unwrap();
    assert_eq!(stream.read_to_end(BYTES).await.unwrap().len(), BYTES);
}

/// How long connections take, one after the other with pauses between, to bring so many bytes to
/// the server, or from it.
async fn transfers(
    server: ServerConfig,
    client: ClientConfig,
    is_download: bool,
    pauses: &[Duration],
) -> Vec<Duration> {
    let listening = Endpoint::server(server, address(SERVER)).unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = listening.accept().await {
            let connection = incoming.await.unwrap();
            if is_download {
                send(&connection).await;
            } else {
                receive(&connection).await;
            }
            connection.closed().await;
        }
    });
    let mut took = Vec::new();
    for &pause in pauses {
        sleep(pause).await;
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let connecting = endpoint.connect_with(client.clone(), address(SERVER), "server.test");
        let connection = connecting.unwrap().await.unwrap();
        let begun = Instant::now();
        if is_download {
            receive(&connection).await;
        } else {
            send(&connection).await;
        }
        took.push(begun.elapsed());
        connection.close(VarInt::from_u32(0), b"done");
        endpoint.wait_idle().await;
    }
    took
}

/// Of the path of these tests.
fn run(
    is_download: bool,
    pauses: &[Duration],
    change: impl FnOnce(&mut ServerConfig, &mut ClientConfig),
) -> Vec<Duration> {
    let link = simulation(1, "delay 100ms rate 40mbit queue 1bdp").time_limit(HOUR * 3);
    link.run(async {
        let (mut server, mut client) = configs("cubic");
        change(&mut server, &mut client);
        transfers(server, client, is_download, pauses).await
    })
}

/// Three round trips fewer of ten.
fn is_resumed(fresh: Duration, other: Duration) -> bool {
    other + Duration::from_millis(400) < fresh
}

fn is_fresh(fresh: Duration, other: Duration) -> bool {
    other + Duration::from_millis(100) > fresh
}

#[test]
fn a_clients_second_upload_resumes_and_one_without_a_store_does_not() {
    let pauses = [Duration::ZERO; 2];
    let took = run(false, &pauses, |_, _| {});
    assert!(is_resumed(took[0], took[1]), "{took:?}");
    let took = run(false, &pauses, |_, client| {
        client.path_store(None);
    });
    assert!(is_fresh(took[0], took[1]), "{took:?}");
}

#[test]
fn a_server_with_a_store_resumes_to_a_client_of_the_same_network() {
    let pauses = [Duration::ZERO; 2];
    let took = run(true, &pauses, |server, _| {
        server.path_store(Some(Arc::new(PathStore::new(10))));
    });
    assert!(is_resumed(took[0], took[1]), "{took:?}");
    let took = run(true, &pauses, |_, _| {});
    assert!(is_fresh(took[0], took[1]), "{took:?}");
}

#[test]
fn a_memory_lasts_an_hour() {
    let nearly = HOUR - Duration::from_secs(60);
    let took = run(false, &[Duration::ZERO, nearly, HOUR], |_, _| {});
    assert!(is_resumed(took[0], took[1]), "{took:?}");
    assert!(is_fresh(took[0], took[2]), "{took:?}");
}

#[test]
fn a_store_that_was_cleared_remembers_nothing() {
    let store = Arc::new(PathStore::new(10));
    let kept = Arc::clone(&store);
    let link = simulation(1, "delay 100ms rate 40mbit queue 1bdp");
    let took = link.run(async {
        let (server, mut client) = configs("cubic");
        client.path_store(Some(kept));
        let clearing = async {
            // Between the two.
            sleep(Duration::from_secs(20)).await;
            assert_eq!(store.len(), 1);
            store.clear();
        };
        let pauses = [Duration::ZERO, Duration::from_secs(30)];
        tokio::join!(transfers(server, client, false, &pauses), clearing).0
    });
    assert!(is_fresh(took[0], took[1]), "{took:?}");
}
