//! Handles can be dropped in any state, and tell what they know.

use crate::support::{Endpoints, NAME, any, noise, receive_all, send_all, within_a_minute};
use cc_core::{Event, Observer, Registry};
use paceline::{Connection, Endpoint, Side, VarInt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[tokio::test]
async fn a_handle_prints_which_connection_it_is_of_in_a_line() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let expected = format!(
            "Connection {{ stable_id: {}, side: Client, .. }}",
            client.stable_id()
        );
        assert_eq!(format!("{client:?}"), expected);
        assert!(format!("{server:?}").contains("side: Server"));
        let (send, recv) = client.open_bi().await.unwrap();
        for stream in [format!("{send:?}"), format!("{recv:?}")] {
            assert!(stream.contains(&expected) && stream.contains("StreamId(0)"));
            assert!(stream.len() < 200, "{stream}");
        }
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn handles_may_go_at_any_time() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        // Before the first packet, during the handshake, and on the server as well.
        drop(endpoints.client.connect(endpoints.address(), NAME).unwrap());
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        let attempt = endpoints.server.accept().await.unwrap();
        drop(connecting);
        // The client has gone with its first packet, and the connection with it.
        assert!(attempt.accept().is_err());
        assert_eq!(endpoints.server.open_connections(), 0);
        let serving = tokio::spawn(serve_echoes(endpoints.server.clone()));
        let connect = || endpoints.client.connect(endpoints.address(), NAME).unwrap();
        // With streams in every state.
        let client = connect().await.unwrap();
        drop(client.open_uni().await.unwrap());
        let (mut send, recv) = client.open_bi().await.unwrap();
        send.write_all(&vec![0; 100_000]).await.unwrap();
        drop(recv);
        drop(client);
        drop(send);
        endpoints.client.wait_idle().await;
        // And everything still works.
        let client = connect().await.unwrap();
        let (send, recv) = client.open_bi().await.unwrap();
        let ((), back) = tokio::join!(send_all(send, b"ok"), receive_all(recv));
        assert_eq!(back, b"ok");
        endpoints.close().await;
        serving.await.unwrap();
    })
    .await;
}

/// Echoes streams until the endpoint is closed; what fails is the client's business.
async fn serve_echoes(server: Endpoint) {
    while let Some(attempt) = server.accept().await {
        tokio::spawn(async move {
            let connection = attempt.await?;
            loop {
                let (mut send, mut recv) = connection.accept_bi().await?;
                if tokio::io::copy(&mut recv, &mut send).await.is_err() {
                    return Err::<(), _>(connection.closed().await);
                }
            }
        });
    }
}

#[tokio::test]
async fn an_endpoint_without_handles_ends_its_task_and_frees_its_port() {
    within_a_minute(async {
        let endpoint = Endpoint::client(any()).unwrap();
        let address = endpoint.local_addr().unwrap();
        drop(endpoint);
        while std::net::UdpSocket::bind(address).is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_knows_itself_and_its_peer() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        assert_eq!(client.side(), Side::Client);
        assert_eq!(client.remote_address(), endpoints.address());
        assert_eq!(
            server.remote_address(),
            endpoints.client.local_addr().unwrap()
        );
        assert_eq!(client.stable_id(), client.clone().stable_id());
        let (other, _) = endpoints.connect().await;
        assert_ne!(client.stable_id(), other.stable_id());
        let mut keys = [[0; 32]; 2];
        client
            .export_keying_material(&mut keys[0], b"label", b"")
            .unwrap();
        server
            .export_keying_material(&mut keys[1], b"label", b"")
            .unwrap();
        assert_eq!(keys[0], keys[1]);
        assert_eq!(endpoints.server.open_connections(), 2);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn statistics_count_what_was_sent() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let data = noise(1, 1_000_000);
        let send = client.open_uni().await.unwrap();
        let receive = async { receive_all(server.accept_uni().await.unwrap()).await };
        tokio::join!(send_all(send, &data), receive);
        let stats = client.stats();
        assert!(stats.udp_tx.bytes > 1_000_000);
        assert!(
            stats.udp_tx.ios < stats.udp_tx.datagrams,
            "several packets a call"
        );
        assert!(stats.srtt.is_some() && stats.min_rtt <= stats.srtt);
        assert_eq!(stats.cwnd, client.congestion().control.cwnd);
        assert!(stats.delivered.get() > 0);
        assert!(server.stats().udp_rx.bytes > 1_000_000);
        assert!(client.rtt() >= client.min_rtt());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_controller_can_be_exchanged_under_load_and_is_observed() {
    #[derive(Clone, Default)]
    struct Counter(Arc<AtomicU64>);
    impl Observer for Counter {
        fn on_event(&mut self, _event: &Event) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let counter = Counter::default();
        client.set_observer(Box::new(counter.clone()));
        let data = noise(9, 8 << 20);
        let send = client.open_uni().await.unwrap();
        let exchange = async {
            let mut recv = server.accept_uni().await.unwrap();
            recv.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
            assert_eq!(client.congestion().algorithm, "cubic");
            client.set_congestion("new_reno").unwrap();
            assert_eq!(client.congestion().algorithm, "new_reno");
            assert!(client.set_congestion("new_bert").is_err());
            let choice = Registry::standard().choose("bbr3").unwrap();
            client.set_congestion(&choice);
            assert_eq!(client.congestion().algorithm, "bbr3");
            let cap = "400mbit".parse().unwrap();
            client.set_max_rate(Some(cap));
            assert!(client.stats().pacing_rate <= cap);
            recv.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
            client.set_max_rate(None);
            receive_all(recv).await
        };
        let ((), rest) = tokio::join!(send_all(send, &data), exchange);
        assert!(rest == data[2_000_000..], "{} bytes", rest.len());
        assert!(counter.0.load(Ordering::Relaxed) > 0);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_ipv6_endpoint_reaches_both_families() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let Ok(mut client) = Endpoint::client("[::]:0".parse().unwrap()) else {
            return; // No IPv6 on this machine.
        };
        let config = paceline::tls::client_with_fingerprint(endpoints.certificate.fingerprint);
        client.set_default_client_config(config.config().unwrap());
        let connecting = client.connect(endpoints.address(), NAME).unwrap();
        let accepting = async { endpoints.server.accept().await.unwrap().await };
        let (ours, theirs) = tokio::join!(connecting, accepting);
        exchange(&ours.unwrap(), &theirs.unwrap()).await;
        let from_v4 = endpoints.client.connect("[::1]:1".parse().unwrap(), NAME);
        assert!(from_v4.is_err());
        client.close(VarInt::from_u32(0), b"");
        endpoints.close().await;
    })
    .await;
}

async fn exchange(client: &Connection, server: &Connection) {
    send_all(client.open_uni().await.unwrap(), b"ok").await;
    let received = receive_all(server.accept_uni().await.unwrap()).await;
    assert_eq!(received, b"ok");
}
