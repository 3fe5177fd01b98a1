//! Streams that want more room than there is take turns.

use crate::{connected, plan_over};
use e2e::{choose, seed};
use paceline::testing::{EndId, Ends, Load, Pair, Side, World};
use paceline::{Dir, VarInt};
use quinn_proto::WriteError;
use std::time::Duration;
use units::Bytes;

/// What each stream writes in five seconds, after `count` more were opened that write as fast as
/// they can.
fn written(pair: &mut Pair, count: usize) -> Vec<u64> {
    for _ in 0..count {
        pair.send(Side::Client, Load::Endless);
    }
    // The first has the window for itself, and that takes its time to leave.
    pair.run_for(Duration::from_secs(5));
    let before = pair.sent_by_stream(Side::Client);
    pair.run_for(Duration::from_secs(5));
    let after = pair.sent_by_stream(Side::Client);
    let written = after.iter().zip(&before);
    written
        .map(|(after, before)| (*after - *before).get())
        .collect()
}

/// The least and the most of these.
fn ends(written: &[u64]) -> (u64, u64) {
    let (least, most) = (written.iter().min(), written.iter().max());
    (
        *least.expect("there are some"),
        *most.expect("there are some"),
    )
}

#[test]
fn they_write_as_much_as_each_other_however_fast_the_path() {
    for (link, cc) in [
        ("delay 20ms rate 2mbit queue 2bdp", "cubic"),
        ("delay 20ms rate 50mbit queue 1bdp", "bbr3"),
        ("delay 1ms rate 200mbit queue 4bdp", "cubic"),
    ] {
        let written = written(&mut connected(link, "delay 0ms", cc), 5);
        let (least, most) = ends(&written);
        // The share by which one may be ahead and a write beyond it, at the begin and at the end.
        assert!(most - least <= 4 * (64 << 10), "{link}: {written:?}");
    }
}

#[test]
fn taking_turns_costs_nothing_and_a_stream_that_comes_later_does_not_catch_up() {
    let link = "delay 10ms rate 40mbit queue 1bdp";
    let received = |streams: usize| {
        let mut pair = connected(link, "delay 0ms", "cubic");
        written(&mut pair, streams);
        pair.received(Side::Server).get()
    };
    let (one, eight) = (received(1), received(8));
    assert!(
        eight > one - one / 100,
        "{one} bytes on one, {eight} on eight"
    );

    let mut pair = connected(link, "delay 0ms", "cubic");
    written(&mut pair, 2);
    let written = written(&mut pair, 1);
    let (least, most) = ends(&written);
    assert!(least > most - most / 50, "{written:?}");
}

#[test]
fn a_stream_that_seldom_writes_keeps_nobody_waiting() {
    let mut pair = connected("delay 10ms rate 50mbit queue 1bdp", "delay 0ms", "cubic");
    pair.send(
        Side::Client,
        Load::Every {
            bytes: 100,
            interval: Duration::from_millis(10),
        },
    );
    let written = written(&mut pair, 1);
    // One may be due at the very end.
    assert!(written[0].abs_diff(100 * 500) <= 100, "{written:?}");
    let rate = 8 * written[1] / 5;
    assert!(rate > 45_000_000, "{rate} bits a second");
}

/// A client whose data waits for credit and for nothing else.
fn waiting_for_credit() -> (World, Ends) {
    let mut world = World::new(seed::choose(1, "streams that wait for credit")).unencrypted();
    let mut plan = plan_over(&mut world, "delay 25ms");
    plan.client
        .congestion(choose("fixed:pacing=off,cwnd=8000000"))
        .send_window(8 << 20);
    plan.server.receive_window(VarInt::from_u32(WINDOW));
    let ends = world.add_connection(&plan);
    let limit = Duration::from_secs(1);
    world.run_until_connected(ends, limit).expect("a handshake");
    world.set_reading(ends.server, false);
    world.send(ends.client, Load::Endless);
    (world, ends)
}

const WINDOW: u32 = 1 << 20;

/// Opens a stream on which a write finds no room, and whose writer tries no more.
fn give_up_writing(world: &mut World, end: EndId) {
    world.proto(end, |conn| {
        let id = conn.streams().open(Dir::Uni).expect("another stream");
        let result = conn.send_stream(id).write(b"x");
        assert_eq!(result, Err(WriteError::Blocked));
    });
}

#[test]
fn a_stream_that_was_told_of_room_and_writes_nothing_is_waited_for_no_longer_than_a_turn() {
    let (mut world, ends) = waiting_for_credit();
    give_up_writing(&mut world, ends.client);
    world.run_for(Duration::from_secs(1));
    let host = world.stats(ends.client).limited_by.host;
    // Credit arrives after 25 ms, and what it is for 25 ms later.
    world.set_reading(ends.server, true);
    world.run_for(Duration::from_millis(51));
    let received = world.received(ends.server);
    assert_eq!(received, Bytes::new(2 * u64::from(WINDOW)));
    let host = world.stats(ends.client).limited_by.host - host;
    assert_eq!(host, Duration::ZERO);
}

#[test]
fn nothing_is_kept_of_streams_that_are_over() {
    let (mut world, ends) = waiting_for_credit();
    world.set_reading(ends.server, true);
    for _ in 0..50 {
        world.send(ends.client, Load::Bytes(100_000));
        world.run_for(Duration::from_millis(100));
    }
    world.run_for(Duration::from_secs(2));
    // The one that goes on.
    assert_eq!(world.kept_streams(ends.client), 1);
    assert_eq!(world.kept_streams(ends.server), 1);
}
