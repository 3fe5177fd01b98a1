//! Links that carry nothing for a while, or nothing in one direction.

use crate::adversity::{DEAD, LINK, Scene, both, transport};
use cc_core::Registry;
use e2e::seed;
use paceline::ConnectionError;
use paceline::testing::{Load, World};
use std::time::Duration;

const TRANSFER: u64 = 10_000_000;

/// The names of the controllers that need no parameters.
fn controllers() -> impl Iterator<Item = String> {
    let registry = Registry::standard();
    let names: Vec<_> = registry.specs().iter().map(|spec| spec.name).collect();
    let needs_none = move |name: &&str| registry.choose(name).is_ok();
    names.into_iter().filter(needs_none).map(str::to_owned)
}

#[test]
fn a_transfer_outlives_two_seconds_of_silence_under_every_controller() {
    for cc in controllers() {
        let mut scene = Scene::connected(LINK, LINK, &cc);
        let server = scene.ends.server;
        scene.world.send(scene.ends.client, Load::Bytes(TRANSFER));
        scene.world.run_until(Duration::from_secs(1));
        scene.relink(DEAD, DEAD);
        scene.world.run_until(Duration::from_secs(3));
        let before = scene.world.received(server).get();
        scene.relink(LINK, LINK);
        // Probe timeouts double, so that the next one comes at the latest when the silence has
        // lasted as long again and the first timeout, which a full queue makes long.
        assert!(
            scene.receives(server, before + 1, Duration::from_millis(2_900)),
            "{cc}: silent for {} ms",
            scene.millis() - 3_000
        );
        assert!(
            scene.receives(server, TRANSFER, Duration::from_secs(30)),
            "{cc}: {} of {TRANSFER}",
            scene.world.received(server)
        );
        assert_eq!(scene.errors(), [None, None], "{cc}");
    }
}

#[test]
fn half_a_minute_of_silence_ends_a_connection_on_both_sides() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    scene.world.send(scene.ends.client, Load::Endless);
    scene.world.send(scene.ends.server, Load::Endless);
    scene.world.run_until(Duration::from_secs(2));
    scene.relink(DEAD, DEAD);
    // The idle timeout, restarted by what was on its way and by the first packet sent after the
    // last one received (RFC 9000 §10.1).
    scene.world.run_until(Duration::from_millis(31_900));
    assert_eq!(scene.errors(), [None, None]);
    scene.world.run_until(Duration::from_millis(33_000));
    for end in [scene.ends.client, scene.ends.server] {
        let error = scene.world.error(end);
        assert_eq!(error, Some(&ConnectionError::TimedOut));
    }
}

#[test]
fn with_a_longer_idle_timeout_half_a_minute_of_silence_is_outlived() {
    let mut config = transport("bbr3");
    config.max_idle_timeout(Some(Duration::from_secs(90).try_into().unwrap()));
    let world = World::new(seed::choose(1, "31 s of silence"));
    let mut scene = Scene::new(world, LINK, LINK, &both(&config)).connect();
    let server = scene.ends.server;
    scene.world.send(scene.ends.client, Load::Bytes(TRANSFER));
    scene.world.run_until(Duration::from_secs(1));
    scene.relink(DEAD, DEAD);
    scene.world.run_until(Duration::from_secs(32));
    scene.relink(LINK, LINK);
    let limit = Duration::from_secs(31 + 10);
    assert!(
        scene.receives(server, TRANSFER, limit),
        "{:?}",
        scene.errors()
    );
}

#[test]
fn most_acknowledgements_may_be_lost() {
    // Each acknowledges all before it: what is lost is only the time until the next.
    for (cc, loss, seconds) in [
        ("new_reno", 30, 5),
        ("cubic", 30, 5),
        ("bbr3", 30, 5),
        ("cubic", 80, 30),
        ("bbr3", 80, 30),
    ] {
        let return_link = format!("delay 20ms loss {loss}%");
        let mut scene = Scene::connected(LINK, LINK, cc);
        scene.relink(LINK, &return_link);
        scene.world.send(scene.ends.client, Load::Bytes(TRANSFER));
        let limit = Duration::from_secs(seconds);
        let done = scene.receives(scene.ends.server, TRANSFER, limit);
        let path = scene.world.stats(scene.ends.client).path;
        assert!(done, "{cc} at {loss} %: {path:?}");
        // Nothing is lost on the way there but what the queue drops.
        let dropped = scene.world.link_stats(scene.there).dropped.queue.packets;
        let spurious = path.lost_packets.saturating_sub(dropped);
        assert!(
            spurious * 50 <= path.sent_packets,
            "{cc} at {loss} %: {spurious} of {} spurious",
            path.sent_packets
        );
    }
}

#[test]
fn a_connection_whose_acknowledgements_all_vanish_ends() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    scene.world.send(scene.ends.client, Load::Endless);
    scene.world.run_until(Duration::from_secs(1));
    scene.relink(LINK, DEAD);
    scene.world.run_until(Duration::from_secs(33));
    let error = scene.world.error(scene.ends.client);
    assert_eq!(error, Some(&ConnectionError::TimedOut));
    // The server receives probes at ever longer intervals, and times out after the last.
    scene.world.run_until(Duration::from_secs(66));
    assert!(scene.world.error(scene.ends.server).is_some());
}
