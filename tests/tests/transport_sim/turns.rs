//! Streams that want more room than there is take turns.

use crate::connected;
use std::time::Duration;
use transport::testing::{Load, Pair, Side};

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
    assert_eq!(written[0], 100 * 500);
    let rate = 8 * written[1] / 5;
    assert!(rate > 45_000_000, "{rate} bits a second");
}
