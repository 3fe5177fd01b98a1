//! What kept the connection from sending more is named.

use crate::{config, connect, connected};
use paceline::testing::{Load, Pair, Side};
use paceline::{LimitedBy, VarInt};
use std::time::Duration;

/// What the client waited for while `pair` runs for `time`.
fn limited_by(pair: &mut Pair, time: Duration) -> LimitedBy {
    let before = pair.stats(Side::Client).limited_by;
    pair.run_for(time);
    let after = pair.stats(Side::Client).limited_by;
    assert_eq!(after.total() - before.total(), time, "every moment counts");
    after.since(&before)
}

const RUN: Duration = Duration::from_secs(5);
const NEARLY_ALL: Duration = Duration::from_millis(4_500);

#[test]
fn the_peers_flow_control() {
    let mut config = config(
        "delay 150ms rate 1gbit limit 100000",
        "delay 150ms",
        "fixed:pacing=off",
    );
    let window = VarInt::from_u32(6_000_000);
    config
        .server
        .receive_window(window)
        .stream_receive_window(window);
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(1));
    let limits = limited_by(&mut pair, RUN);
    assert!(limits.flow_control > NEARLY_ALL, "{limits:?}");
}

#[test]
fn the_own_send_buffer() {
    let mut config = config(
        "delay 50ms rate 1gbit limit 100000",
        "delay 50ms",
        "fixed:pacing=off",
    );
    config.client.send_window(200_000);
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    let limits = limited_by(&mut pair, RUN);
    assert!(limits.flow_control > NEARLY_ALL, "{limits:?}");
}

#[test]
fn the_application() {
    let mut pair = connected("delay 20ms rate 100mbit queue 1bdp", "delay 20ms", "cubic");
    let load = Load::Every {
        bytes: 10_000,
        interval: Duration::from_millis(20),
    };
    pair.send(Side::Client, load);
    let limits = limited_by(&mut pair, RUN);
    assert!(limits.application > NEARLY_ALL, "{limits:?}");
}

#[test]
fn the_congestion_window() {
    let mut pair = connected(
        "delay 20ms rate 100mbit queue 1bdp",
        "delay 20ms",
        "fixed:pacing=off,cwnd=50000",
    );
    pair.send(Side::Client, Load::Endless);
    let limits = limited_by(&mut pair, RUN);
    assert!(limits.congestion_window > NEARLY_ALL, "{limits:?}");
}

#[test]
fn the_pacer() {
    let mut pair = connected(
        "delay 20ms rate 100mbit queue 1bdp",
        "delay 20ms",
        "fixed:rate=50mbit",
    );
    pair.send(Side::Client, Load::Endless);
    let limits = limited_by(&mut pair, RUN);
    assert!(limits.pacing > NEARLY_ALL, "{limits:?}");
}
