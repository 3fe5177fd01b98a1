//! What a connection can tell about itself agrees with what its links did.

use crate::{config, connect, connected};
use paceline::testing::{Load, Side};
use std::time::Duration;

#[test]
fn every_mark_is_counted_on_both_sides() {
    let link = "delay 20ms rate 20mbit queue 2bdp loss 1% ecn";
    let mut pair = connected(link, "delay 20ms", "cubic");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(5));
    let (client, server) = (pair.stats(Side::Client), pair.stats(Side::Server));

    assert_eq!(client.ecn.sent_ect0, client.udp_tx.datagrams);
    assert_eq!(client.path.lost_packets, 0);
    let marked = pair.link_stats(Side::Client).marked.packets;
    let received = server.ecn.received_ce;
    assert!(
        received > 20 && received.abs_diff(marked) <= 5,
        "{received} of {marked}"
    );
    let reports = client.ecn.ce_reports;
    assert!(
        reports <= received && reports > received / 2,
        "{reports} of {received}"
    );
    assert!(server.ecn.received_ect0 > 1_000);
    assert_eq!(client.ecn.received_ce, 0);
}

#[test]
fn packets_that_are_overtaken_are_no_losses() {
    let mut config = config(
        "delay 20ms reorder 1% gap 5",
        "delay 20ms",
        "fixed:rate=20mbit",
    );
    // Given up too early, as nobody learns from it.
    config.client.max_time_threshold(0.0);
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(10));
    let stats = pair.stats(Side::Client);
    let (lost, spurious) = (stats.path.lost_packets, stats.spurious_losses);
    assert!(lost > 100, "{lost}");
    assert!(
        spurious <= lost && spurious > lost / 2,
        "{spurious} of {lost}"
    );
}

#[test]
fn packets_that_are_lost_are() {
    let mut pair = connected("delay 20ms loss 1%", "delay 20ms", "fixed:rate=20mbit");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(10));
    let stats = pair.stats(Side::Client);
    assert!(stats.path.lost_packets > 100);
    assert_eq!(stats.spurious_losses, 0);
}

#[test]
fn round_trips_are_where_the_link_puts_them() {
    let link = "delay 20ms rate 20mbit queue 1bdp";
    let mut pair = connected(link, "delay 20ms", "cubic");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(10));
    let stats = pair.stats(Side::Client);
    let histogram = stats.rtt_histogram;
    assert!(histogram.count() > 1_000);
    let (first, last) = (
        histogram.quantile(0).unwrap(),
        histogram.quantile(100).unwrap(),
    );
    // 40 ms of propagation; a full queue adds as much. Buckets end an eighth later.
    let millis = Duration::from_millis;
    assert!(first > millis(40) && first <= millis(45), "{first:?}");
    assert!(last > millis(60) && last <= millis(90) * 9 / 8, "{last:?}");
    let total: u64 = histogram.buckets().map(|(_, count)| u64::from(count)).sum();
    assert_eq!(total, histogram.count());
}
