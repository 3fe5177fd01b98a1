//! Another controller, or another cap, while data flows: what is in flight stays there, nothing
//! stalls, and every byte arrives as it was sent.

use crate::{config, percent};
use cc_core::Registry;
use e2e::{choose, seed};
use paceline::testing::{Load, Pair, PairConfig, Side};
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// 100 Mbit/s, 40 ms, a queue of one BDP.
const LINK: &str = "delay 20ms rate 100mbit queue 1bdp";
const SECOND: Duration = Duration::from_secs(1);

/// Every registered controller; those that need a rate get 80 Mbit/s.
fn controllers() -> impl Iterator<Item = String> {
    let registry = Registry::standard();
    let names: Vec<_> = registry.specs().iter().map(|spec| spec.name).collect();
    names.into_iter().map(|name| match name {
        "brutal" | "fixed" => format!("{name}:rate=80mbit"),
        _ => name.to_owned(),
    })
}

/// A client under `cc` in the middle of sending so many bytes.
fn sending(cc: &str, seed: u64, bytes: u64) -> Pair {
    let config = PairConfig {
        is_unencrypted: true,
        seed: seed::choose(seed, format_args!("{cc} in mid-transfer")),
        ..config(LINK, "delay 20ms", cc)
    };
    let mut pair = crate::connect(&config);
    pair.send(Side::Client, Load::Bytes(bytes));
    pair.run_for(Duration::from_millis(700));
    pair
}

/// Application data that arrives within a second from now on.
fn goodput(pair: &mut Pair) -> Bandwidth {
    let before = pair.received(Side::Server);
    pair.run_for(SECOND);
    Bandwidth::from_transfer(pair.received(Side::Server) - before, SECOND)
}

/// Changes `pair`'s client while `change` is all that happens.
#[track_caller]
fn keeping_what_is_in_flight(pair: &mut Pair, change: impl FnOnce(&mut Pair)) {
    let before = pair.stats(Side::Client);
    change(pair);
    let after = pair.stats(Side::Client);
    // What the change lets leave has left.
    assert!(after.in_flight >= before.in_flight, "{after:?}");
    assert_eq!(after.delivered, before.delivered);
    assert_eq!(after.path.lost_packets, before.path.lost_packets);
    assert_eq!((after.srtt, after.min_rtt), (before.srtt, before.min_rtt));
}

#[track_caller]
fn assert_arrives(pair: &mut Pair, bytes: u64, what: &str) {
    let limit = Duration::from_secs(20);
    let arrives = pair.run_until_received(Side::Server, Bytes::new(bytes), limit);
    assert!(
        arrives,
        "{what}: {} of {bytes}",
        pair.received(Side::Server)
    );
    assert!(pair.error(Side::Client).is_none(), "{what}");
}

/// Each pair with one of three seeds, in turn.
#[test]
fn every_controller_takes_over_from_every_other() {
    // More than the link carries until the second after the switch is over.
    let bytes = 20_000_000;
    let mut seeds = (1..=3).cycle();
    for from in controllers() {
        for to in controllers().filter(|to| *to != from) {
            let seed = seeds.next().expect("endless");
            let mut pair = sending(&from, seed, bytes);
            keeping_what_is_in_flight(&mut pair, |pair| {
                pair.set_congestion(Side::Client, &choose(&to));
            });
            let what = format!("{from} to {to}, seed {seed}");
            // LEDBAT++ begins with a slowdown to two packets (§4.4 of its draft).
            let least = if to == "ledbat_pp" { 25 } else { 60 };
            let goodput = goodput(&mut pair);
            let rate = Bandwidth::from_bits_per_sec(least * 1_000_000);
            assert!(goodput > rate, "{what}: {goodput}");
            assert_arrives(&mut pair, bytes, &what);
            // The new one's search for the bandwidth, but not a window that was never filled.
            let path = pair.stats(Side::Client).path;
            assert!(
                path.lost_packets * 4 < path.sent_packets,
                "{what}: {path:?}"
            );
        }
    }
}

#[test]
fn a_cap_comes_and_goes_under_every_controller() {
    let bytes = 28_000_000;
    let cap: Bandwidth = "30mbit".parse().expect("a rate");
    for seed in 1..=3 {
        for cc in controllers() {
            let what = format!("{cc}, seed {seed}");
            let mut pair = sending(&cc, seed, bytes);
            keeping_what_is_in_flight(&mut pair, |pair| {
                pair.set_max_rate(Side::Client, Some(cap));
            });
            // What was in flight or lost before the cap.
            pair.run_for(SECOND);
            let capped = goodput(&mut pair);
            let is_kept = capped > percent(cap, 95) && capped < cap;
            assert!(is_kept, "{what}: {capped} under a cap of {cap}");
            keeping_what_is_in_flight(&mut pair, |pair| pair.set_max_rate(Side::Client, None));
            let free = goodput(&mut pair);
            let least = match cc.as_str() {
                // It has left slow start for good.
                "ledbat_pp" => 25,
                // It probes seven round trips later at worst, and then takes eight.
                "paceline" => 50,
                _ => 60,
            };
            let rate = Bandwidth::from_bits_per_sec(least * 1_000_000);
            assert!(free > rate, "{what}: {free} without it");
            assert_arrives(&mut pair, bytes, &what);
        }
    }
}
