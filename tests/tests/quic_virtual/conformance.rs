//! Pacing: bytes in any window of time stay below rate × window + quantum + one packet.

use crate::{config, connect, connected, percent, send_rate};
use e2e::choose;
use paceline::VarInt;
use paceline::testing::{Departure, Load, Pair, Side};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// Everything that leaves `side` from now on.
fn departures(pair: &mut Pair, side: Side) -> Rc<RefCell<Vec<Departure>>> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let writer = Rc::clone(&log);
    pair.watch_departures(side, move |departure| writer.borrow_mut().push(*departure));
    log
}

/// Bytes by which the fullest window exceeds rate × its length.
///
/// A token bucket's view: the level rises with what leaves and sinks at `rate`, never below zero;
/// its highest level is the excess of the fullest window, whichever that is.
fn burstiness(log: &[Departure], rate: Bandwidth) -> Bytes {
    let (mut level, mut highest) = (Bytes::ZERO, Bytes::ZERO);
    let mut last = None;
    for departure in log {
        if let Some(last) = last.replace(departure.at) {
            level = level.saturating_sub(rate * departure.at.since(last));
        }
        level += departure.bytes;
        highest = highest.max(level);
    }
    highest
}

#[test]
fn a_rate_below_the_links_is_sent_exactly_and_leaves_the_queue_empty() {
    let mut pair = connected(
        "delay 10ms rate 100mbit queue 250kb",
        "delay 10ms",
        "fixed:rate=90mbit",
    );
    pair.send(Side::Client, Load::Endless);
    let rate = send_rate(&mut pair, Side::Client, Duration::from_secs(10));

    let asked = Bandwidth::from_bits_per_sec(90_000_000);
    assert!(
        rate > percent(asked, 99) && rate < percent(asked, 101),
        "{rate}"
    );
    assert_eq!(pair.stats(Side::Client).path.lost_packets, 0);
    let queue = pair.link_stats(Side::Client).max_queue;
    assert!(queue.packets <= 10, "{queue:?}");
}

#[test]
fn every_rate_is_kept_in_every_window_and_used_when_backlogged() {
    for (rate, millis) in [
        ("64kbit", 60_000),
        ("1mbit", 20_000),
        ("10mbit", 5_000),
        ("100mbit", 1_000),
        ("1gbit", 200),
        ("5gbit", 100),
    ] {
        let mut config = config(
            "delay 5ms limit 1000000",
            "delay 5ms",
            &format!("fixed:rate={rate}"),
        );
        // MTU probes wait for nobody: quinn-proto sends them past window and pacer.
        config.client.mtu_discovery_config(None);
        // Nor is flow control to have a say.
        let window = VarInt::from_u32(128 << 20);
        config.server.receive_window(window);
        let mut pair = connect(&config);
        let log = departures(&mut pair, Side::Client);
        pair.send(Side::Client, Load::Endless);
        // Past the first round trip, in which a small flow-control window may be the limit.
        pair.run_for(Duration::from_millis(30));
        let sent = send_rate(&mut pair, Side::Client, Duration::from_millis(millis));

        let asked: Bandwidth = rate.parse().expect("a rate");
        assert!(sent >= percent(asked, 95), "{sent} of {rate}");
        let quantum = pair.congestion(Side::Client).control.send_quantum;
        let mtu = Bytes::new(pair.stats(Side::Client).path.current_mtu.into());
        let burst = burstiness(&log.borrow(), asked);
        assert!(
            burst <= quantum + mtu,
            "{burst} at {rate}, quantum {quantum}"
        );
    }
}

#[test]
fn a_cap_is_kept_whatever_the_controller_asks_for() {
    for (cc, least) in [
        // Its cycle goes below what it has measured, and that is the cap now.
        ("bbr3", 93),
        ("cubic", 99),
        ("fixed:pacing=off,cwnd=2000000", 99),
        ("fixed:rate=180mbit", 99),
    ] {
        let mut pair = connected("delay 10ms rate 200mbit limit 100000", "delay 10ms", cc);
        pair.send(Side::Client, Load::Endless);
        for cap in ["500kbit", "10mbit", "80mbit"] {
            let cap: Bandwidth = cap.parse().expect("a rate");
            pair.set_max_rate(Side::Client, Some(cap));
            // What was in flight before has arrived, and the window has grown to the new rate.
            pair.run_for(Duration::from_secs(3));
            assert_capped(&mut pair, cap, least, cc);
        }
        pair.set_max_rate(Side::Client, None);
        pair.run_for(Duration::from_secs(2));
        let free = send_rate(&mut pair, Side::Client, Duration::from_secs(1));
        let fast = Bandwidth::from_bits_per_sec(150_000_000);
        assert!(free > fast, "{cc}: {free}");
    }
}

/// Sends at `least` to 101 % of `cap`, in no window more than it, and blames the pacer.
fn assert_capped(pair: &mut Pair, cap: Bandwidth, least: u64, cc: &str) {
    let log = departures(pair, Side::Client);
    let before = pair.stats(Side::Client).limited_by;
    let time = Duration::from_secs(4);
    let sent = send_rate(pair, Side::Client, time);
    let is_kept = sent >= percent(cap, least) && sent <= percent(cap, 101);
    assert!(is_kept, "{cc}: {sent} of {cap}");
    let stats = pair.stats(Side::Client);
    let quantum = stats.send_quantum + Bytes::new(stats.path.current_mtu.into());
    let burst = burstiness(&log.borrow(), cap);
    assert!(burst <= quantum, "{cc}: {burst} at {cap}");
    let paced = stats.limited_by.pacing - before.pacing;
    assert!(paced > time * 9 / 10, "{cc}: {paced:?} at {cap}");
}

#[test]
fn bursts_fill_whole_batches() {
    let mut pair = connected("delay 5ms limit 100000", "delay 5ms", "fixed:rate=1gbit");
    let log = departures(&mut pair, Side::Client);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_millis(200));

    let log = log.borrow();
    let datagrams: u64 = log.iter().map(|departure| departure.datagrams).sum();
    let batches = log.len() as u64;
    // Half a bucket, 32 KiB, is 22 packets.
    assert!(datagrams > batches * 20, "{datagrams} in {batches}");
}

#[test]
fn a_receiver_acknowledges_while_its_own_pacer_has_nothing_left() {
    let mut config = config("delay 10ms rate 10mbit queue 1bdp", "delay 10ms", "cubic");
    // At 10 kbit/s one packet takes a second to pay off.
    config
        .server
        .congestion(choose("fixed:rate=10kbit,quantum=1200"))
        .receive_window(VarInt::from_u32(16 << 20))
        .mtu_discovery_config(None);
    let mut pair = connect(&config);
    // What the handshake left behind, and three packets of data, two of which wait.
    pair.run_for(Duration::from_secs(10));
    pair.send(Side::Server, Load::Bytes(1_000));
    pair.run_for(Duration::from_millis(1));
    let acks_before = pair.stats(Side::Server).frame_tx.acks;
    // Less than what makes the server send MAX_DATA.
    pair.send(Side::Client, Load::Bytes(500_000));
    let limit = Duration::from_millis(700);
    assert!(pair.run_until_received(Side::Server, Bytes::new(500_000), limit));

    let acks = pair.stats(Side::Server).frame_tx.acks - acks_before;
    assert!(acks > 100, "{acks} ACKs");
}

#[test]
fn the_pacer_wakes_its_connection_once_for_each_burst() {
    let mut pair = connected("delay 10ms limit 10000", "delay 10ms", "fixed:rate=50mbit");
    let log = departures(&mut pair, Side::Client);
    pair.send(Side::Client, Load::Endless);
    let before = pair.pacer_wakeups(Side::Client);
    pair.run_for(Duration::from_secs(2));

    let wakeups = pair.pacer_wakeups(Side::Client) - before;
    let bursts = log.borrow().len() as u64;
    assert!(
        wakeups > 100 && wakeups <= bursts,
        "{wakeups} for {bursts} bursts"
    );
}

#[test]
fn an_idle_connection_is_not_woken_by_its_pacer() {
    let mut pair = connected("delay 10ms", "delay 10ms", "fixed:rate=1mbit");
    pair.send(Side::Client, Load::Bytes(50_000));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.received(Side::Server), Bytes::new(50_000));

    let before = (pair.pacer_wakeups(Side::Client), pair.stats(Side::Client));
    // Shorter than the idle timeout.
    pair.run_for(Duration::from_secs(5));
    let after = (pair.pacer_wakeups(Side::Client), pair.stats(Side::Client));
    assert_eq!(after.0, before.0);
    let waited = after.1.limited_by.pacing - before.1.limited_by.pacing;
    assert_eq!(waited, Duration::ZERO);
}
