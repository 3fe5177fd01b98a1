//! A peer that moves: a new path begins anew, a new port on the old one does not.

use crate::{config, connect};
use paceline::testing::{ConnectionPlan, Datagram, Load, Pair, Side, World};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use units::Bytes;

const NEW_PORT: &str = "192.0.2.1:50001";
const NEW_HOST: &str = "198.51.100.7:50000";

/// A server that has been sending for two seconds.
fn sending(cc: &str) -> Pair {
    let link = "delay 20ms rate 50mbit queue 1bdp";
    let mut pair = connect(&config(link, link, cc));
    pair.send(Side::Server, Load::Endless);
    pair.run_for(Duration::from_secs(2));
    pair
}

fn move_to(pair: &mut Pair, address: &str) {
    let address: SocketAddr = address.parse().expect("an address");
    pair.move_client(address);
}

fn received_in(pair: &mut Pair, time: Duration) -> Bytes {
    let before = pair.received(Side::Client);
    pair.run_for(time);
    pair.received(Side::Client) - before
}

#[test]
fn a_new_path_starts_from_the_initial_window() {
    let mut pair = sending("cubic");
    let grown = pair.stats(Side::Server).cwnd;
    move_to(&mut pair, NEW_HOST);
    pair.run_for(Duration::from_millis(50));
    let fresh = pair.stats(Side::Server);
    assert!(fresh.cwnd < grown / 4, "{} after {grown}", fresh.cwnd);
    assert!(fresh.in_flight <= fresh.cwnd, "{fresh:?}");
}

#[test]
fn a_new_port_keeps_the_estimates() {
    let mut pair = sending("fixed:rate=20mbit");
    let before = pair.stats(Side::Server);
    move_to(&mut pair, NEW_PORT);
    pair.run_for(Duration::from_millis(200));
    let after = pair.stats(Side::Server);
    assert_eq!(after.min_rtt, before.min_rtt);
    assert!(after.delivered > before.delivered);
}

#[test]
fn every_controller_goes_on_wherever_the_peer_moves() {
    for cc in ["new_reno", "cubic", "bbr3"] {
        let mut pair = sending(cc);
        for address in [NEW_PORT, NEW_HOST, NEW_PORT] {
            move_to(&mut pair, address);
            pair.run_for(Duration::from_secs(1));
            let received = received_in(&mut pair, Duration::from_secs(2));
            assert!(
                received > Bytes::new(5_000_000),
                "{cc} at {address}: {received}"
            );
            let stats = pair.stats(Side::Server);
            let bound = stats.cwnd + Bytes::new(1_452);
            assert!(stats.in_flight <= bound, "{cc} at {address}: {stats:?}");
        }
    }
}

/// A server that sends to a new address takes another of the client's connection IDs, and retires
/// the former. Packets with that one are still on their way.
#[test]
fn packets_that_the_retirement_of_their_id_has_overtaken_reach_the_connection() {
    let mut world = World::new(1);
    let mut link = |text: &str| {
        let link = text.parse().expect("a link");
        world.add_link(&link, Duration::from_millis(40))
    };
    let plan = ConnectionPlan {
        there: vec![link("delay 20ms")],
        back: vec![link("rate 50mbit queue 1bdp"), link("delay 20ms 5ms")],
        server_load: Some(Load::Endless),
        ..ConnectionPlan::default()
    };
    let ends = world.add_connection(&plan);
    let arrived = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&arrived);
    world.watch_datagrams(ends.client, move |datagram| {
        if matches!(datagram, Datagram::Arrives { .. }) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    world.run_for(Duration::from_secs(2));
    let before = world.proto_stats(ends.client);
    for address in [NEW_HOST, NEW_PORT, NEW_HOST] {
        world.move_client(ends, address.parse().expect("an address"));
        world.run_for(Duration::from_secs(2));
    }
    let after = world.proto_stats(ends.client);
    let arrived = arrived.load(Ordering::Relaxed);
    assert!(arrived > 1_000, "{arrived}");
    assert_eq!(after.udp_rx.datagrams, arrived);
    let retired = after.frame_rx.retire_connection_id - before.frame_rx.retire_connection_id;
    assert!(retired >= 3, "{retired}");
    // Each is replaced in the end.
    let issued = after.frame_tx.new_connection_id - before.frame_tx.new_connection_id;
    assert_eq!(issued, retired);
}
