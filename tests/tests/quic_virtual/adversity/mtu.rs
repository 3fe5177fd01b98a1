//! Paths that stop carrying packets of the size that they carried.

use crate::adversity::{LINK, Scene};
use paceline::testing::Load;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const TRANSFER: u64 = 20_000_000;

#[test]
fn packets_shrink_when_large_ones_vanish() {
    for cc in ["cubic", "bbr3"] {
        let mut scene = Scene::connected(LINK, LINK, cc);
        let limit = Rc::new(Cell::new(1_500));
        let seen = Rc::clone(&limit);
        let fits = move |datagram: Vec<u8>| {
            let fits = datagram.len() <= seen.get();
            fits.then_some(datagram).into_iter().collect()
        };
        scene.world.tamper(scene.ends.client, fits);
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

#[test]
fn a_path_that_never_carries_more_than_the_least_costs_no_data() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    // Before the first probe has come back.
    scene.world.tamper(scene.ends.client, |datagram| {
        let fits = datagram.len() <= 1_200;
        fits.then_some(datagram).into_iter().collect()
    });
    scene
        .world
        .send(scene.ends.client, Load::Bytes(TRANSFER / 10));
    let limit = Duration::from_secs(5);
    assert!(scene.receives(scene.ends.server, TRANSFER / 10, limit));
    let path = scene.world.stats(scene.ends.client).path;
    assert_eq!(path.current_mtu, 1_200);
    assert!(path.lost_plpmtud_probes >= 3, "{path:?}");
}
