//! A peer that moves: a new path begins anew, a new port on the old one does not.

use crate::{config, connect};
use paceline::testing::{Load, Pair, Side};
use std::net::SocketAddr;
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
