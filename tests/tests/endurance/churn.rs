//! Connections opened, used and closed leave no memory behind.

use crate::{any, asked, report, resident};
use e2e::memory::held;
use paceline::tls::{SelfSigned, client_with_fingerprint};
use paceline::{Connection, Endpoint};
use std::time::Duration;

/// So many at a time.
const BATCH: u64 = 50;

async fn use_and_close(connection: Connection) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&[7; 3_000]).await.unwrap();
    send.finish().unwrap();
    assert_eq!(recv.read_to_end(3_000).await.unwrap(), [7; 3_000]);
    connection.close(0_u32.into(), b"");
}

async fn serve(server: Endpoint) {
    while let Some(attempt) = server.accept().await {
        tokio::spawn(async move {
            let connection = attempt.await?;
            let (mut send, mut recv) = connection.accept_bi().await?;
            let asked = recv.read_to_end(3_000).await.unwrap();
            send.write_all(&asked).await.unwrap();
            send.finish().unwrap();
            Err::<(), _>(connection.closed().await)
        });
    }
}

async fn batch(server: &Endpoint, client: &Endpoint) {
    let address = server.local_addr().unwrap();
    let connections = (0..BATCH).map(|_| {
        let connecting = client.connect(address, "localhost").unwrap();
        tokio::spawn(async { use_and_close(connecting.await.unwrap()).await })
    });
    for connection in connections.collect::<Vec<_>>() {
        connection.await.unwrap();
    }
    client.wait_idle().await;
    server.wait_idle().await;
}

#[test]
fn connections_opened_used_and_closed_give_their_memory_back() {
    let total = asked("PACELINE_CONNECTIONS", 300);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let certificate = SelfSigned::generate(["localhost"]).unwrap();
        let server = Endpoint::server(certificate.server().config().unwrap(), any()).unwrap();
        let mut client = Endpoint::client(any()).unwrap();
        let config = client_with_fingerprint(certificate.fingerprint).config();
        client.set_default_client_config(config.unwrap());
        let serving = tokio::spawn(serve(server.clone()));
        // Tables grow to the most connections at one time, and caches of sessions fill.
        for _ in 0..2 {
            batch(&server, &client).await;
        }
        let before = held();
        let limit = Duration::from_secs(10 * total);
        let all = async {
            for _ in 0..total.div_ceil(BATCH) {
                batch(&server, &client).await;
            }
        };
        tokio::time::timeout(limit, all).await.expect("hangs");
        let growth = held() - before;
        report(format_args!(
            "{total} connections: {growth} bytes more held, {:?} KiB resident",
            resident()
        ));
        // Sessions that could be resumed are kept, 256 of them at most.
        let most = 500_000;
        assert!(growth < most, "{growth} bytes after {total} connections");
        assert_eq!(server.open_connections() + client.open_connections(), 0);
        client.close(0_u32.into(), b"");
        server.close(0_u32.into(), b"");
        serving.await.unwrap();
    });
}
