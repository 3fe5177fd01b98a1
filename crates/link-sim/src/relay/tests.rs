use super::batch_socket::{BatchSocket, Buffers, Outgoing};
use super::*;
use crate::packet::Ecn;
use crate::realtime::{Clock, wait_until};
use core::time::Duration;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use units::{Rng, Timestamp};

fn relay(to: SocketAddr, link: &str, return_link: &str) -> RelayHandle {
    Relay::spawn(config(to, link, return_link)).unwrap()
}

fn config(to: SocketAddr, link: &str, return_link: &str) -> RelayConfig {
    RelayConfig {
        link: link.parse().unwrap(),
        return_link: return_link.parse().unwrap(),
        seed: 1,
        ..RelayConfig::new(SocketAddr::new(to.ip(), 0), to)
    }
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

/// Both loopbacks; IPv6 only where the machine has it.
fn loopbacks() -> impl Iterator<Item = SocketAddr> {
    let all = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        (Ipv6Addr::LOCALHOST, 0).into(),
    ];
    all.into_iter()
        .filter(|address| UdpSocket::bind(address).is_ok())
}

/// Receives `count` datagrams and answers the sender, codepoint and first byte of each.
fn receive_marked(socket: &BatchSocket, count: usize) -> Vec<(SocketAddr, Ecn, u8)> {
    let (clock, mut buffers, mut found) = (Clock::new(), Buffers::new(), Vec::new());
    wait_until(|| {
        socket.receive(&clock, &mut buffers, |incoming| {
            found.push((incoming.from, incoming.ecn, incoming.data[0]));
        });
        found.len() >= count
    });
    assert_eq!(found.len(), count);
    found
}

const CODEPOINTS: [Ecn; 4] = [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ect1];

#[test]
fn ecn_codepoints_are_carried_both_ways() {
    for loopback in loopbacks() {
        let mut server = BatchSocket::listen(loopback).unwrap();
        let mut client = BatchSocket::listen(loopback).unwrap();
        let relay = relay(server.local_addr().unwrap(), "delay 1ms", "delay 1ms");
        for (n, ecn) in CODEPOINTS.into_iter().enumerate() {
            let contents = [n as u8; 3_000];
            client
                .send_segments(relay.local_addr(), ecn, &contents, 1_000)
                .unwrap();
        }
        let there = receive_marked(&server, 12);
        for (n, (from, ecn, first)) in there.iter().enumerate() {
            assert_eq!((*ecn, usize::from(*first)), (CODEPOINTS[n / 3], n / 3));
            let answer = Outgoing {
                to: *from,
                data: &[*first],
            };
            assert_eq!(server.send_each(*ecn, &[answer]), 1);
        }
        for (n, (_, ecn, _)) in receive_marked(&client, 12).iter().enumerate() {
            assert_eq!(*ecn, CODEPOINTS[n / 3]);
        }
    }
}

#[test]
fn a_mark_of_the_link_is_carried_out() {
    for loopback in loopbacks() {
        let server = BatchSocket::listen(loopback).unwrap();
        let mut client = BatchSocket::listen(loopback).unwrap();
        let relay = relay(server.local_addr().unwrap(), "loss 100% ecn", "");
        for ecn in CODEPOINTS {
            let contents = [ecn as u8; 3_000];
            client
                .send_segments(relay.local_addr(), ecn, &contents, 1_000)
                .unwrap();
        }
        // All but those that are not ECN-capable, which are lost.
        for (_, ecn, sent) in receive_marked(&server, 9) {
            assert_eq!(ecn, Ecn::Ce);
            assert_ne!(sent, Ecn::NotEct as u8);
        }
        assert_eq!(relay.stats().link.dropped.loss.packets, 3);
    }
}

#[test]
fn a_damaged_packet_leaves_with_one_bit_flipped() {
    let (server, client) = (socket(), socket());
    let relay = relay(server.local_addr().unwrap(), "corrupt 100%", "");
    for n in 0..20 {
        client.send_to(&[n; 100], relay.local_addr()).unwrap();
        let (received, _) = receive(&server);
        let flipped = received.iter().map(|byte| (byte ^ n).count_ones());
        assert_eq!((received.len(), flipped.sum::<u32>()), (100, 1));
    }
    assert_eq!(relay.stats().link.corrupted.packets, 20);
}

#[test]
fn batches_of_a_socket_carry_their_codepoint_whatever_they_are_made_of() {
    for loopback in loopbacks() {
        let mut sender = BatchSocket::listen(loopback).unwrap();
        let receiver = BatchSocket::listen(loopback).unwrap();
        let to = receiver.local_addr().unwrap();
        for (n, ecn) in CODEPOINTS.into_iter().enumerate() {
            let data = [n as u8; 10];
            let datagrams: Vec<Outgoing<'_>> = (1..=10)
                .map(|length| Outgoing {
                    to,
                    data: &data[..length],
                })
                .collect();
            assert_eq!(sender.send_each(ecn, &datagrams), 10);
        }
        for (n, (_, ecn, first)) in receive_marked(&receiver, 40).iter().enumerate() {
            assert_eq!((*ecn, usize::from(*first)), (CODEPOINTS[n / 10], n / 10));
        }
    }
}

#[test]
fn an_ipv4_client_of_an_ipv6_socket_gets_its_codepoints() {
    // Linux binds this one to both families.
    let Ok(mut both) = BatchSocket::listen((Ipv6Addr::UNSPECIFIED, 0).into()) else {
        return;
    };
    let port = both.local_addr().unwrap().port();
    let mut client = BatchSocket::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for ecn in CODEPOINTS {
        client.send_segments(there, ecn, b"there", 5).unwrap();
        let (from, came, _) = receive_marked(&both, 1)[0];
        let datagrams = [Outgoing {
            to: from,
            data: b"back",
        }; 2];
        assert_eq!(both.send_each(came, &datagrams), 2);
        for (_, back, _) in receive_marked(&client, 2) {
            assert_eq!((came, back), (ecn, ecn));
        }
    }
}

#[test]
fn a_batch_of_the_sender_meets_the_link_packet_by_packet() {
    for loopback in loopbacks() {
        let server = BatchSocket::listen(loopback).unwrap();
        // Loses half of the packets: whole batches if it saw batches.
        let relay = relay(server.local_addr().unwrap(), "loss 50% seed 3", "");
        let mut client = BatchSocket::listen(loopback).unwrap();
        let segments = client.max_segments().min(10);
        for _ in 0..20 {
            let contents = vec![7; segments * 1_000];
            client
                .send_segments(relay.local_addr(), Ecn::NotEct, &contents, 1_000)
                .unwrap();
        }
        wait_until(|| relay.stats().link.arrived.packets == 20 * segments as u64);
        let stats = relay.stats().link;
        let overhead = if loopback.is_ipv4() { 42 } else { 62 };
        let size = 1_000 + overhead;
        assert_eq!(stats.arrived.bytes.get(), 20 * segments as u64 * size);
        let lost = stats.dropped.loss.packets;
        assert!(lost > 0 && lost < stats.arrived.packets);
        if segments == 10 {
            assert_ne!(lost % 10, 0, "batches were lost as a whole");
        }
    }
}

#[test]
fn datagrams_of_any_length_that_leave_together_stay_in_order() {
    let (server, client) = (socket(), socket());
    let relay = relay(server.local_addr().unwrap(), "delay 300ms", "");
    let sent = datagrams(100);
    for datagram in &sent {
        client.send_to(datagram, relay.local_addr()).unwrap();
    }
    for datagram in &sent {
        assert_eq!(&receive(&server).0, datagram);
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
fn clients_beyond_the_limit_are_refused_and_counted() {
    let server = socket();
    let to = server.local_addr().unwrap();
    let relay = Relay::spawn(RelayConfig {
        max_clients: 3,
        ..config(to, "", "")
    })
    .unwrap();
    let clients: Vec<UdpSocket> = (0..5).map(|_| socket()).collect();
    for (n, client) in clients.iter().enumerate() {
        client.send_to(&[n as u8], relay.local_addr()).unwrap();
        wait_until(|| {
            let stats = relay.stats();
            stats.link.arrived.packets + stats.refused == n as u64 + 1
        });
    }
    let stats = relay.shutdown().unwrap();
    assert_eq!((stats.clients, stats.refused), (3, 2));
    assert_eq!(stats.link.arrived.packets, 3);
}

#[test]
fn hundreds_of_clients_cross_at_the_same_time() {
    let server = socket();
    let relay = relay(server.local_addr().unwrap(), "delay 5ms", "delay 5ms");
    let clients: Vec<UdpSocket> = (0..300).map(|_| socket()).collect();
    for (n, client) in clients.iter().enumerate() {
        let number = (n as u16).to_le_bytes();
        client.send_to(&number, relay.local_addr()).unwrap();
    }
    for _ in &clients {
        let (data, from) = receive(&server);
        server.send_to(&data, from).unwrap();
    }
    for (n, client) in clients.iter().enumerate() {
        assert_eq!(receive(client).0, (n as u16).to_le_bytes());
    }
    assert_eq!(relay.shutdown().unwrap().clients, 300);
}

#[test]
fn a_link_changes_while_packets_are_on_it() {
    let (server, client) = (socket(), socket());
    let relay = relay(server.local_addr().unwrap(), "delay 100ms", "");
    let wait = |name: &[u8]| assert_eq!(receive(&server).0, name);
    client.send_to(b"slow", relay.local_addr()).unwrap();
    wait_until(|| relay.stats().link.arrived.packets == 1);
    let lost = relay.reconfigure(Direction::ToServer, "loss 100%".parse().unwrap());
    client.send_to(b"lost", relay.local_addr()).unwrap();
    wait_until(|| relay.stats().link.arrived.packets == 2);
    let fast = relay.reconfigure(Direction::ToServer, LinkSpec::default());
    assert!(lost.unwrap() <= fast.unwrap());
    client.send_to(b"fast", relay.local_addr()).unwrap();
    wait(b"fast");
    wait(b"slow");
    let stats = relay.shutdown().unwrap();
    assert_eq!(stats.link.dropped.loss.packets, 1);
    assert_eq!(stats.link.held.packets, 0);
}

#[test]
fn a_change_is_heeded_at_once_by_a_relay_that_sleeps() {
    let (server, client) = (socket(), socket());
    // The second packet would leave after more than a minute.
    let slow = "rate 8bit queue 10p";
    let relay = relay(server.local_addr().unwrap(), slow, "");
    for _ in 0..2 {
        client.send_to(b"!", relay.local_addr()).unwrap();
    }
    wait_until(|| relay.stats().link.arrived.packets == 2);
    relay
        .reconfigure(Direction::ToServer, "delay 1ms".parse().unwrap())
        .unwrap();
    client.send_to(b"?", relay.local_addr()).unwrap();
    assert_eq!(receive(&server).0, b"?");
}

#[test]
fn a_change_concerns_one_link_and_a_refused_one_none() {
    let (server, client) = (socket(), socket());
    let relay = relay(server.local_addr().unwrap(), "", "loss 100%");
    let nameless = "rate 1mbit queue 1bdp".parse().unwrap();
    let error = relay.reconfigure(Direction::ToClient, nameless);
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    client.send_to(b"there", relay.local_addr()).unwrap();
    let (_, from) = receive(&server);
    server.send_to(b"lost", from).unwrap();
    wait_until(|| relay.stats().return_link.dropped.loss.packets == 1);
    relay
        .reconfigure(Direction::ToClient, LinkSpec::default())
        .unwrap();
    server.send_to(b"back", from).unwrap();
    assert_eq!(receive(&client).0, b"back");
}

/// Their sender never rests: most come while the system call that reads them is under way.
#[test]
fn no_datagram_has_come_before_it_was_sent() {
    const ALL: u32 = 100_000;
    let receiver = BatchSocket::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let (clock, address) = (Clock::new(), receiver.local_addr().unwrap());
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let client = socket();
            for _ in 0..ALL {
                let sent = clock.now().as_nanos().to_be_bytes();
                client.send_to(&sent, address).unwrap();
            }
        });
        let mut buffers = Buffers::new();
        while !sender.is_finished() {
            receiver.receive(&clock, &mut buffers, |incoming| {
                let sent = u64::from_be_bytes(incoming.data.try_into().unwrap());
                let sent = Timestamp::from_nanos(sent);
                assert!(incoming.at >= sent, "{:?} {sent:?}", incoming.at);
            });
        }
    });
}

#[test]
fn it_tells_how_much_processor_time_it_takes() {
    let server = socket();
    let relay = relay(server.local_addr().unwrap(), "", "");
    let cpu = relay.stats().cpu;
    assert!(cpu > Duration::ZERO);
    assert!(relay.shutdown().unwrap().cpu > cpu);
}

#[test]
fn a_used_port_and_a_queue_without_a_measure_are_refused() {
    let taken = socket();
    let config = |link: &str, listen| RelayConfig {
        link: link.parse().unwrap(),
        ..RelayConfig::new(listen, (Ipv4Addr::LOCALHOST, 9).into())
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
