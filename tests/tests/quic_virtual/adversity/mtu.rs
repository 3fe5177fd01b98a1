//! Paths that stop carrying packets of the size that they carried.

use crate::adversity::{LINK, Scene, both, transport};
use e2e::seed;
use paceline::testing::{Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const TRANSFER: u64 = 20_000_000;

/// Datagrams of at most so many bytes pass.
fn at_most(limit: &Rc<Cell<usize>>) -> impl FnMut(Vec<u8>) -> Vec<Vec<u8>> + use<> {
    let limit = Rc::clone(limit);
    move |datagram| {
        let fits = datagram.len() <= limit.get();
        fits.then_some(datagram).into_iter().collect()
    }
}

#[test]
fn packets_shrink_when_large_ones_vanish() {
    for cc in ["cubic", "bbr3"] {
        let mut scene = Scene::connected(LINK, LINK, cc);
        let limit = Rc::new(Cell::new(1_500));
        scene.world.tamper(scene.ends.client, at_most(&limit));
        scene.world.send(scene.ends.client, Load::Bytes(TRANSFER));
        scene.world.run_until(Duration::from_secs(1));
        let before = scene.world.stats(scene.ends.client).path;
        assert_eq!(
            (before.current_mtu, before.black_holes_detected),
            (1_452, 0)
        );

        limit.set(1_300);
        let done = scene.receives(scene.ends.server, TRANSFER, Duration::from_secs(15));
        let after = scene.world.stats(scene.ends.client).path;
        assert!(done, "{cc}: {after:?}");
        assert!(after.black_holes_detected >= 1, "{cc}: {after:?}");
        assert!(after.current_mtu <= 1_300, "{cc}: {after:?}");
    }
}

/// How long after large packets have begun to vanish, in both directions, the last of two ends that
/// send without a limit has made its own smaller.
fn both_have_shrunk_after(seed: u64) -> Duration {
    let link = "delay 40ms rate 20mbit queue 1bdp";
    let world = World::new(seed::choose(seed, "two that shrink"));
    let mut scene = Scene::new(world, link, link, &both(&transport("cubic"))).connect();
    let limit = Rc::new(Cell::new(1_500));
    let ends = [scene.ends.client, scene.ends.server];
    for end in ends {
        scene.world.tamper(end, at_most(&limit));
        scene.world.send(end, Load::Endless);
    }
    scene
        .world
        .run_until(Duration::from_millis(1_500 + seed * 13));
    let narrowed = scene.world.now();
    limit.set(1_280);
    let mtu = |scene: &Scene, end| scene.world.stats(end).path.current_mtu;
    while ends.iter().any(|end| mtu(&scene, *end) > 1_280) {
        assert_eq!(scene.errors(), [None, None], "seed {seed}");
        scene.world.run_for(Duration::from_millis(1));
    }
    scene.world.now().since(narrowed)
}

#[test]
fn packets_shrink_while_both_ends_wait_for_acknowledgements() {
    for seed in 1..=10 {
        let took = both_have_shrunk_after(seed);
        // It took 12 s where the ACKs of probes waited for the windows, or left in large packets.
        assert!(took <= Duration::from_secs(4), "seed {seed}: {took:?}");
    }
}

#[test]
fn a_path_that_never_carries_more_than_the_least_costs_no_data() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    // Before the first probe has come back.
    let limit = Rc::new(Cell::new(1_200));
    scene.world.tamper(scene.ends.client, at_most(&limit));
    scene
        .world
        .send(scene.ends.client, Load::Bytes(TRANSFER / 10));
    let limit = Duration::from_secs(5);
    assert!(scene.receives(scene.ends.server, TRANSFER / 10, limit));
    let path = scene.world.stats(scene.ends.client).path;
    assert_eq!(path.current_mtu, 1_200);
    assert!(path.lost_plpmtud_probes >= 3, "{path:?}");
}
