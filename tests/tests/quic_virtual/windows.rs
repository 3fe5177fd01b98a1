//! Flow-control windows follow the path, and nobody else.

use crate::{PairConfig, config, connect, send_rate};
use e2e::{choose, seed};
use paceline::VarInt;
use paceline::testing::{ConnectionPlan, Load, Pair, Side, World};
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// What a connection begins with.
const FIRST: Bytes = Bytes::new(1 << 20);

#[test]
fn a_long_fat_path_is_filled_by_default() {
    let mut pair = connect(&config(
        "delay 150ms rate 1gbit queue 1bdp",
        "delay 150ms",
        // Only windows are in the way of a controller that takes no part.
        "fixed:rate=930mbit",
    ));
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(8));
    let before = pair.received(Side::Server);
    let time = Duration::from_secs(2);
    pair.run_for(time);
    let goodput = Bandwidth::from_transfer(pair.received(Side::Server) - before, time);
    assert!(
        goodput > Bandwidth::from_bits_per_sec(880_000_000),
        "{goodput}"
    );
    // 35 MB in flight, and no more than twice as much again.
    let (client, server) = (pair.stats(Side::Client), pair.stats(Side::Server));
    for window in [client.send_window, server.receive_window] {
        let is_sensible = window >= Bytes::new(66 << 20) && window <= Bytes::new(128 << 20);
        assert!(is_sensible, "{window}");
    }
    // The other direction has ACKs alone.
    let others = (client.receive_window, server.send_window);
    assert_eq!(others, (FIRST, FIRST));
}

#[test]
fn a_short_path_needs_no_more_than_it_began_with() {
    let mut pair = connect(&config(
        "delay 5ms rate 50mbit queue 1bdp",
        "delay 5ms",
        "bbr3",
    ));
    pair.send(Side::Client, Load::Endless);
    let rate = send_rate(&mut pair, Side::Client, Duration::from_secs(3));
    assert!(rate > Bandwidth::from_bits_per_sec(45_000_000), "{rate}");
    let (client, server) = (pair.stats(Side::Client), pair.stats(Side::Server));
    assert_eq!((client.send_window, server.receive_window), (FIRST, FIRST));
}

#[test]
fn a_slow_reader_does_not_make_the_window_grow() {
    let mut pair = connect(&config(
        "delay 20ms rate 1gbit limit 100000",
        "delay 20ms",
        "bbr3",
    ));
    let slow = Bandwidth::from_bits_per_sec(8_000_000);
    pair.read_slowly(Side::Server, slow);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.stats(Side::Server).receive_window, FIRST);
    // It gets what it reads all the same.
    let read = pair.received(Side::Server).get();
    assert!((4_900_000..=5_100_000).contains(&read), "{read}");
}

#[test]
fn a_window_that_was_set_does_not_grow() {
    let mut config = config("delay 50ms rate 1gbit limit 100000", "delay 50ms", "bbr3");
    config.server.receive_window(VarInt::from_u32(500_000));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(3));
    let window = pair.stats(Side::Server).receive_window;
    assert_eq!(window, Bytes::new(500_000));
    let rate = send_rate(&mut pair, Side::Client, Duration::from_secs(2));
    assert!(rate < Bandwidth::from_bits_per_sec(45_000_000), "{rate}");
}

#[test]
fn the_first_round_trips_find_room() {
    let link = "delay 150ms rate 1gbit limit 1000000";
    let mut pair = connect(&config(link, "delay 150ms", "bbr3"));
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(4));
    let waited = pair.stats(Side::Client).limited_by.flow_control;
    assert_eq!(waited, Duration::ZERO);
}

/// quinn-proto 0.11.19 gives a connection up when a stream has 1,024 gaps.
#[test]
fn thousands_of_gaps_in_a_stream_are_filled() {
    // Slow start overshoots by a round trip's worth: of three packets one gets through.
    let link = "delay 10ms rate 1gbit queue 1bdp";
    let mut pair = connect(&config(link, "delay 10ms", "new_reno"));
    let bytes = Bytes::new(20_000_000);
    pair.send(Side::Client, Load::Bytes(bytes.get()));
    let is_complete = pair.run_until_received(Side::Server, bytes, Duration::from_secs(5));
    assert!(is_complete, "{:?}", pair.error(Side::Server));
    let lost = pair.stats(Side::Client).path.lost_packets;
    assert!(lost > 2_000, "{lost} packets");
}

#[test]
fn gaps_on_long_fat_and_on_reordering_paths_are_filled() {
    for (link, back, cc) in [
        // One packet in three is missing, of all that the window lets be in flight.
        ("delay 150ms loss 33%", "delay 150ms", "fixed:rate=900mbit"),
        // quinn-proto 0.11.19 drops packets that more than 128 others have overtaken.
        ("delay 20ms 1ms", "delay 20ms", "fixed:rate=500mbit"),
        (
            "delay 20ms 1ms loss 20%",
            "delay 20ms",
            "fixed:rate=500mbit",
        ),
    ] {
        let mut config = config(link, back, cc);
        // What is late is taken for lost.
        config.client.max_time_threshold(0.0);
        let mut pair = connect(&config);
        let bytes = Bytes::new(20_000_000);
        pair.send(Side::Client, Load::Bytes(bytes.get()));
        let is_complete = pair.run_until_received(Side::Server, bytes, Duration::from_secs(30));
        assert!(is_complete, "{link}: {:?}", pair.error(Side::Server));
        let lost = pair.stats(Side::Client).path.lost_packets;
        assert!(lost > 5_000, "{link}: {lost} packets");
    }
}

/// A packet so far in front that it is not held back has thousands go on before it, with as many
/// gaps.
#[test]
fn packets_that_were_held_back_go_on_in_turns() {
    // Three of four packets overrun the queue.
    let link = "delay 281ms 100ms rate 547mbit queue 10200000b";
    let mut config = config(link, "delay 281ms", "fixed:rate=2gbit");
    config.server.receive_window(VarInt::from_u32(256 << 20));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.error(Side::Server), None);
    let held_back = pair.stats(Side::Server).held_back;
    assert!(held_back > 10_000, "{held_back} packets");
}

/// Gaps or not, what is taken out of quinn-proto is in the window.
#[test]
fn a_slow_reader_has_the_peer_wait() {
    for (link, cc) in [
        ("delay 10ms rate 1gbit queue 1bdp", "new_reno"),
        ("delay 10ms rate 1gbit limit 100000", "fixed:rate=900mbit"),
    ] {
        let mut config = config(link, "delay 10ms", cc);
        let window = 8 << 20;
        config.server.receive_window(VarInt::from_u32(window));
        let mut pair = connect(&config);
        let slow = Bandwidth::from_bits_per_sec(80_000_000);
        pair.read_slowly(Side::Server, slow);
        pair.send(Side::Client, Load::Endless);
        for _ in 0..30 {
            pair.run_for(Duration::from_millis(100));
            let arrived = pair.stats(Side::Client).delivered;
            let unread = arrived.saturating_sub(pair.received(Side::Server));
            // Headers are in it, and what was taken out of quinn-proto at one time.
            let most = u64::from(window) * 5 / 4 + pair.received(Side::Server).get() / 20;
            assert!(unread <= Bytes::new(most), "{cc}: {unread} unread");
        }
        let read = pair.received(Side::Server).get();
        assert!((28_000_000..=30_100_000).contains(&read), "{cc}: {read}");
    }
}

/// A packet that is lost thrice is five round trips in coming, and all that comes behind it is in
/// the windows until then.
#[test]
fn losses_leave_windows_that_follow_the_path_what_large_ones_have() {
    for (rate, delay, loss) in [
        ("45mbit", "75ms", "10%"),
        ("45mbit", "75ms", "15%"),
        ("90mbit", "25ms", "15%"),
        ("90mbit", "75ms", "5%"),
        ("45mbit", "150ms", "20%"),
        ("45mbit", "10ms", "5%"),
    ] {
        // Controllers that respond to what they see differ by several percent from one loss to the
        // next; one that does not has the same rate with each window that is large enough.
        let (link, cc) = (
            format!("delay {delay} loss {loss}"),
            format!("fixed:rate={rate}"),
        );
        let run = |has_large| {
            let mut pair = lossy(1, &link, delay, &cc, has_large);
            pair.run_for(Duration::from_secs(15));
            pair.stats(Side::Client)
        };
        let (by_default, with_large) = (run(false), run(true));
        let percent = by_default.delivered.get() * 100 / with_large.delivered.get();
        assert!(percent >= 98, "{rate}, {link}: {percent} %");
    }
}

/// Controllers that make losses good are limited by flow control while the windows grow to what
/// repairs of many round trips need, and then no more.
#[test]
fn losses_leave_controllers_unlimited() {
    for (rate, delay, loss, cc) in [
        ("50mbit", "75ms", "10%", "paceline"),
        ("50mbit", "75ms", "15%", "bbr1"),
        ("100mbit", "25ms", "15%", "paceline"),
        ("50mbit", "150ms", "20%", "bbr1"),
    ] {
        let link = format!("delay {delay} loss {loss} rate {rate} queue 1bdp");
        let (mut limited, mut time) = (Duration::ZERO, Duration::ZERO);
        for seed in 1..=2 {
            let mut pair = lossy(seed, &link, delay, cc, false);
            pair.run_for(Duration::from_secs(15));
            let limits = pair.stats(Side::Client).limited_by;
            limited += limits.flow_control;
            time += limits.total();
        }
        assert!(limited * 8 < time, "{link}, {cc}: {limited:?} of {time:?}");
    }
}

/// A connection that sends without end, with windows that follow the path or of 128 MiB.
fn lossy(seed: u64, link: &str, delay: &str, cc: &str, has_large: bool) -> Pair {
    let mut config = PairConfig {
        seed: seed::choose(seed, "losses and windows"),
        ..config(link, &format!("delay {delay}"), cc)
    };
    if has_large {
        config.client.send_window(128 << 20);
        config.server.receive_window(VarInt::from_u32(128 << 20));
    }
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair
}

#[test]
fn windows_return_when_the_path_gets_clean() {
    let link = |loss| format!("delay 75ms loss {loss}");
    let base_rtt = Duration::from_millis(150);
    let mut world = World::new(seed::choose(1, "windows that return"));
    let back = "delay 75ms".parse().unwrap();
    let (there, back) = world
        .add_links(&link("15%").parse().unwrap(), &back)
        .unwrap();
    let mut plan = ConnectionPlan {
        there: vec![there],
        back: vec![back],
        client_load: Some(Load::Endless),
        ..ConnectionPlan::default()
    };
    plan.client.congestion(choose("fixed:rate=45mbit"));
    let ends = world.add_connection(&plan);
    let windows = |world: &World| {
        let (client, server) = (world.stats(ends.client), world.stats(ends.server));
        [client.send_window, server.receive_window]
    };
    world.run_for(Duration::from_secs(15));
    let lossy = windows(&world);
    world.change_link(there, &link("0%").parse().unwrap(), base_rtt);
    world.run_for(Duration::from_secs(30));
    // The path carries 844 kB in a round trip. The controller's window is twice that, the send
    // window twice again.
    let usual = Bytes::new(4 * 860_000);
    for (lossy, clean) in lossy.into_iter().zip(windows(&world)) {
        assert!(clean < lossy && clean < usual, "{lossy}, then {clean}");
    }
}
