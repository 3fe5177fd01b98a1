use super::*;
use crate::realtime::wait_until;
use core::time::Duration;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use units::Rng;

fn relay(to: SocketAddr, link: &str, return_link: &str) -> RelayHandle {
    let listen = SocketAddr::new(to.ip(), 0);
    Relay::spawn(RelayConfig {
        listen,
        to,
        link: link.parse().unwrap(),
        return_link: return_link.parse().unwrap(),
        seed: 1,
    })
    .unwrap()
}

/// A blocking socket that gives up after long enough for any machine.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 65_535];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(length);
    (buffer, from)
}

/// Different lengths, the empty one included, and different contents.
fn datagrams(count: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(count);
    let length = |n: u64| [0, 1, 100, 1_200, 1_452][(n % 5) as usize];
    (0..count)
        .map(|n| {
            let random = core::iter::repeat_with(|| rng.next_u64() as u8);
            random.take(length(n)).chain([n as u8; 2]).collect()
        })
        .map(|datagram: Vec<u8>| {
            if datagram.len() == 2 {
                Vec::new()
            } else {
                datagram
            }
        })
        .collect()
}

#[test]
fn datagrams_cross_both_ways_unchanged_and_in_order() {
    let (server, client) = (socket(), socket());
    let relay = relay(
        server.local_addr().unwrap(),
        "delay 2ms rate 1gbit queue 1000p",
        "delay 1ms",
    );
    let sent = datagrams(50);
    for datagram in &sent {
        client.send_to(datagram, relay.local_addr()).unwrap();
    }
    for datagram in &sent {
        let (received, from) = receive(&server);
        assert_eq!(&received, datagram);
        server.send_to(&received, from).unwrap();
    }
    for datagram in &sent {
        assert_eq!(&receive(&client).0, datagram);
    }
    let stats = relay.shutdown().unwrap();
    for link in [&stats.link, &stats.return_link] {
        assert_eq!(link.delivered.packets, 50);
    }
    assert_eq!(stats.lateness.all().count(), 100);
    assert_eq!((stats.clients, stats.refused, stats.unsent), (1, 0, 0));
}

#[test]
fn each_client_is_a_peer_of_its_own_and_gets_its_own_answers() {
    let server = socket();
    let relay = relay(server.local_addr().unwrap(), "", "");
    let clients: Vec<UdpSocket> = (0..5).map(|_| socket()).collect();
    let mut peers = BTreeSet::new();
    for (n, client) in clients.iter().enumerate() {
        client.send_to(&[n as u8], relay.local_addr()).unwrap();
        let (data, from) = receive(&server);
        assert_eq!(data, [n as u8]);
        peers.insert(from);
        server.send_to(&[n as u8 + 100], from).unwrap();
    }
    assert_eq!(peers.len(), 5);
    for (n, client) in clients.iter().enumerate() {
        let (data, from) = receive(client);
        assert_eq!((data, from), (vec![n as u8 + 100], relay.local_addr()));
    }
}

#[test]
fn the_ecn_codepoint_is_carried_both_ways() {
    use super::port::{Buffers, Port};
    let loopback = (Ipv4Addr::LOCALHOST, 0).into();
    let (server, client) = (
        Port::listen(loopback).unwrap(),
        Port::listen(loopback).unwrap(),
    );
    let relay = relay(server.local_addr().unwrap(), "", "");
    let mut buffers = Buffers::new();
    let mut receive = |port: &Port| {
        let mut found = None;
        wait_until(|| {
            port.receive(&mut buffers, |from, _, ecn, _| found = Some((from, ecn)));
            found.is_some()
        });
        found.unwrap()
    };
    for ecn in [
        crate::Ecn::NotEct,
        crate::Ecn::Ect0,
        crate::Ecn::Ect1,
        crate::Ecn::Ce,
    ] {
        client.send(relay.local_addr(), ecn, b"there", 5).unwrap();
        let (from, there) = receive(&server);
        server.send(from, ecn, b"back", 4).unwrap();
        assert_eq!((there, receive(&client).1), (ecn, ecn));
    }
}

#[test]
fn a_batch_of_the_sender_meets_the_link_packet_by_packet() {
    use super::port::Port;
    let server = socket();
    // Loses half of the packets: whole batches if it saw batches.
    let relay = relay(server.local_addr().unwrap(), "loss 50% seed 3", "");
    let client = Port::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let segments = client.max_segments().min(10);
    for _ in 0..20 {
        let contents = vec![7; segments * 1_000];
        client
            .send(relay.local_addr(), crate::Ecn::NotEct, &contents, 1_000)
            .unwrap();
    }
    wait_until(|| relay.stats().link.arrived.packets == 20 * segments as u64);
    let stats = relay.stats().link;
    assert_eq!(stats.arrived.bytes.get(), 20 * segments as u64 * 1_042);
    let lost = stats.dropped.loss.packets;
    assert!(lost > 0 && lost < stats.arrived.packets);
    if segments == 10 {
        assert_ne!(lost % 10, 0, "batches were lost as a whole");
    }
}

#[test]
fn a_server_that_is_not_there_yet_does_not_end_the_relay() {
    let client = socket();
    let nobody = socket();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let relay = relay(address, "", "");
    // The kernel answers the first with ICMP and fails the next.
    for _ in 0..10 {
        client.send_to(b"?", relay.local_addr()).unwrap();
    }
    wait_until(|| relay.stats().link.delivered.packets == 10);
    let server = UdpSocket::bind(address).unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    client.send_to(b"!", relay.local_addr()).unwrap();
    client.send_to(b"!", relay.local_addr()).unwrap();
    assert_eq!(receive(&server).0, b"!");
    assert!(relay.is_running());
}

#[test]
fn what_does_not_come_from_the_server_does_not_reach_a_client() {
    let (server, client, stranger) = (socket(), socket(), socket());
    let relay = relay(server.local_addr().unwrap(), "", "");
    client.send_to(b"hello", relay.local_addr()).unwrap();
    let (_, relayed_from) = receive(&server);
    stranger.send_to(b"garbage", relayed_from).unwrap();
    server.send_to(b"answer", relayed_from).unwrap();
    assert_eq!(receive(&client).0, b"answer");
    assert_eq!(relay.stats().return_link.arrived.packets, 1);
}

#[test]
fn it_relays_between_ipv6_sockets() {
    let Ok(server) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) else {
        // A machine without IPv6 has nothing to test.
        return;
    };
    let relay = relay(server.local_addr().unwrap(), "", "");
    let client = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    client.send_to(&[0; 100], relay.local_addr()).unwrap();
    assert_eq!(receive(&server).0.len(), 100);
    assert_eq!(relay.stats().link.arrived.bytes.get(), 162);
}

#[test]
fn a_used_port_and_a_queue_without_a_measure_are_refused() {
    let taken = socket();
    let config = |link: &str, listen| RelayConfig {
        listen,
        to: (Ipv4Addr::LOCALHOST, 9).into(),
        link: link.parse().unwrap(),
        return_link: LinkSpec::default(),
        seed: 1,
    };
    let error = Relay::spawn(config("", taken.local_addr().unwrap())).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    let free = (Ipv4Addr::LOCALHOST, 0).into();
    let error = Relay::spawn(config("rate 1mbit queue 1bdp", free)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn dropping_the_handle_frees_the_port() {
    let server = socket();
    let relay = relay(server.local_addr().unwrap(), "delay 1s", "");
    let address = relay.local_addr();
    socket().send_to(b"under way", address).unwrap();
    drop(relay);
    UdpSocket::bind(address).unwrap();
}
