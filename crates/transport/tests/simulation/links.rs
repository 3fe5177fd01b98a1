//! What lies between sockets.

use crate::support::{address, configs, connect, receive_for, send_endlessly, simulation};
use paceline::testing::Simulation;
use paceline::{ClientConfig, Endpoint, VarInt};
use std::io;
use std::time::Duration;
use tokio::time::sleep;

const SERVER: &str = "10.0.0.1:443";

/// Bytes that each of three clients receives in ten seconds.
async fn three_clients() -> Vec<u64> {
    let (server, client) = configs("cubic");
    let server = Endpoint::server(server, address(SERVER)).unwrap();
    tokio::spawn(send_endlessly(server));
    let receive = |config: ClientConfig| async move {
        let connection = connect(config, "0.0.0.0:0", address(SERVER)).await;
        receive_for(&connection, Duration::from_secs(10)).await
    };
    let clients = [1, 2, 3].map(|_| tokio::spawn(receive(client.clone())));
    let mut received = Vec::new();
    for client in clients {
        received.push(client.await.unwrap());
    }
    received
}

#[test]
fn each_two_sockets_have_links_of_their_own_or_all_share_one_pair() {
    let simulation = simulation(1, "delay 10ms rate 10mbit queue 1bdp");
    let full = 12_500_000_u64;
    for received in simulation.run(three_clients()) {
        assert!((full * 9 / 10..full).contains(&received), "{received}");
    }
    let together: u64 = simulation.shared().run(three_clients()).iter().sum();
    assert!((full * 9 / 10..full).contains(&together), "{together}");
}

#[test]
fn links_change_while_the_application_runs() {
    let (before, after) = simulation(1, "delay 10ms rate 10mbit queue 1bdp").run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address(SERVER)).unwrap();
        tokio::spawn(send_endlessly(server));
        let connection = connect(client, "0.0.0.0:0", address(SERVER)).await;
        let received = {
            let connection = connection.clone();
            move || connection.stats().udp_rx.bytes
        };
        tokio::spawn(async move { receive_for(&connection, Duration::from_secs(20)).await });
        sleep(Duration::from_secs(5)).await;
        let first = received();
        let slow = "delay 10ms rate 2mbit queue 1bdp".parse().unwrap();
        Simulation::change_links(&slow, &slow).unwrap();
        sleep(Duration::from_secs(5)).await;
        (first, received() - first)
    });
    assert!(
        before > 5_000_000 && (before / 6..before / 4).contains(&after),
        "{before}, {after}"
    );
}

#[test]
fn packets_are_counted_by_their_way() {
    let (there, back, lost) = simulation(7, "delay 10ms loss 5%").run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address(SERVER)).unwrap();
        tokio::spawn(send_endlessly(server));
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let connecting = endpoint.connect_with(client, address(SERVER), "server.test");
        let connection = connecting.unwrap().await.unwrap();
        receive_for(&connection, Duration::from_secs(2)).await;
        endpoint.wait_idle().await;
        let (local, stats) = (endpoint.local_addr().unwrap(), connection.stats());
        let there = Simulation::packets(local, address(SERVER));
        let back = Simulation::packets(address(SERVER), local);
        assert_eq!(there.sent, stats.udp_tx.datagrams);
        assert_eq!(Simulation::packets(local, address("10.0.0.9:1")).sent, 0);
        (there, back, back.sent - back.received)
    });
    assert!(there.sent > 20 && back.sent > 200, "{there:?} {back:?}");
    assert!(lost > 0, "{back:?}");
}

#[test]
fn addresses_are_what_was_asked_for_or_of_the_simulations_choice() {
    simulation(1, "delay 1ms").run(async {
        let (server, client) = configs("cubic");
        let bind = |text: &str| Endpoint::client(address(text));
        let first = bind("0.0.0.0:0").unwrap().local_addr().unwrap();
        let second = bind("0.0.0.0:0").unwrap().local_addr().unwrap();
        assert!(first.ip() != second.ip() && !first.ip().is_unspecified());
        assert_ne!(first.port(), 0);
        let loopback = bind("127.0.0.1:0").unwrap();
        let other = bind("127.0.0.1:0").unwrap();
        assert_ne!(loopback.local_addr().unwrap(), other.local_addr().unwrap());
        let taken = bind(&loopback.local_addr().unwrap().to_string()).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(
            taken.to_string().contains("bind another address"),
            "{taken}"
        );

        // IPv6 sockets reach IPv4 ones, and each other.
        for (local, at) in [
            ("[::]:0", "10.0.0.1:443"),
            ("[::]:0", "[2001:db8::1]:443"),
            ("127.0.0.1:0", "127.0.0.1:443"),
        ] {
            let server = Endpoint::server(server.clone(), address(at)).unwrap();
            let remote = tokio::spawn(async move {
                let connection = server.accept().await.unwrap().await.unwrap();
                let remote = connection.remote_address();
                connection.closed().await;
                remote
            });
            let connection = connect(client.clone(), local, address(at)).await;
            connection.close(VarInt::from_u32(0), b"");
            // As each side sees the other.
            assert_eq!(remote.await.unwrap().is_ipv6(), at.starts_with('['));
        }
    });
}

#[test]
fn a_queue_of_round_trips_takes_a_delay() {
    let link = "rate 1mbit queue 1bdp".parse().unwrap();
    let error = Simulation::new(1).links(&link, &link).unwrap_err();
    assert!(error.to_string().contains("bdp"), "{error}");
}
