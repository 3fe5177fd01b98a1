//! In place of TUN devices, pairs of sockets that keep packets apart: one end is the device, the
//! other one the host.

use super::ip::tests::{v4, v6};
use super::*;
use crate::realtime::wait_until;
use core::time::Duration;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::unix::net::UnixDatagram;

#[test]
fn packets_cross_both_ways_unchanged_and_count_as_on_ethernet() {
    let (relay, client, server) = relay("delay 1ms", "");
    let there = v4(2, 17, 0, &[1; 100]);
    let back = v6(0, 6, &[2; 50]);
    client.send(&there).unwrap();
    assert_eq!(receive(&server), there);
    server.send(&back).unwrap();
    assert_eq!(receive(&client), back);
    let stats = relay.shutdown().unwrap();
    assert_eq!(stats.link.delivered.bytes.get(), 14 + 20 + 100);
    assert_eq!(stats.return_link.delivered.bytes.get(), 14 + 40 + 50);
    assert_eq!(stats.lateness.all().count(), 2);
}

#[test]
fn every_packet_of_a_burst_meets_the_link_by_itself() {
    let (relay, client, server) = relay("loss 30%", "");
    let mut arrived = 0;
    for number in 0..50_u8 {
        client.send(&v4(0, 17, 0, &[number; 8])).unwrap();
    }
    wait_until(|| relay.stats().link.arrived.packets == 50);
    let stats = relay.shutdown().unwrap();
    server.set_nonblocking(true).unwrap();
    while server.recv(&mut [0; 100]).is_ok_and(|length| length > 0) {
        arrived += 1;
    }
    assert_eq!(stats.link.delivered.packets, arrived);
    assert_eq!(stats.link.dropped.loss.packets, 50 - arrived);
    assert!((1..50).contains(&arrived));
}

#[test]
fn marks_and_damage_of_the_link_arrive_in_the_packet() {
    let (_relay, client, server) = relay("loss 100% ecn", "corrupt 100%");
    client.send(&v4(2, 17, 0, &[1; 8])).unwrap();
    assert_eq!(receive(&server), v4(3, 17, 0, &[1; 8]));
    server.send(&v6(2, 17, &[1; 8])).unwrap();
    let damaged = v6(2, 17, &[1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(receive(&client), damaged);
}

#[test]
fn what_is_not_an_ip_packet_is_counted_and_dropped() {
    let (relay, client, server) = relay("", "");
    let good = v4(0, 17, 0, &[1; 8]);
    for bad in [&b"?"[..], &good[..27], &[0x60; 39]] {
        client.send(bad).unwrap();
    }
    client.send(&good).unwrap();
    assert_eq!(receive(&server), good);
    let stats = relay.shutdown().unwrap();
    assert_eq!((stats.malformed, stats.link.arrived.packets), (3, 1));
}

#[test]
fn a_packet_that_the_far_end_does_not_take_is_counted() {
    let (relay, client, server) = relay("", "");
    drop(server);
    client.send(&v4(0, 17, 0, &[1; 8])).unwrap();
    wait_until(|| relay.stats().unsent == 1);
}

#[test]
fn it_ends_by_itself_when_a_device_is_gone() {
    let (relay, client, _server) = relay("", "");
    assert!(relay.is_running());
    drop(client);
    wait_until(|| !relay.is_running());
    relay.shutdown().unwrap_err();
}

#[test]
fn a_queue_without_a_measure_is_refused() {
    let (client, server) = (device().0, device().0);
    let config = config("rate 1mbit queue 1bdp", "");
    let error = TunRelay::spawn(&config, client, server).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

fn relay(link: &str, return_link: &str) -> (TunRelay, UnixDatagram, UnixDatagram) {
    let (client, client_host) = device();
    let (server, server_host) = device();
    let relay = TunRelay::spawn(&config(link, return_link), client, server).unwrap();
    (relay, client_host, server_host)
}

fn config(link: &str, return_link: &str) -> TunConfig {
    TunConfig {
        link: link.parse().unwrap(),
        return_link: return_link.parse().unwrap(),
        seed: 1,
    }
}

fn device() -> (OwnedFd, UnixDatagram) {
    let (device, host) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let host = UnixDatagram::from(host);
    host.set_read_timeout(Some(PATIENCE)).unwrap();
    (device, host)
}

fn receive(host: &UnixDatagram) -> Vec<u8> {
    let mut buffer = vec![0; 2_000];
    let length = host.recv(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

const PATIENCE: Duration = Duration::from_secs(10);
