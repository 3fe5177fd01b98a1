//! Paths that stop carrying packets of the size that they carried.

use crate::adversity::{LINK, Scene, both, transport};
use e2e::seed;
use paceline::DatagramOptions;
use paceline::testing::{Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

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
fn both_have_shrunk_after(link: &str, cc: &str, seed: u64) -> Duration {
    let world = World::new(seed::choose(seed, "two that shrink"));
    let mut scene = Scene::new(world, link, link, &both(&transport(cc))).connect();
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
        let took = both_have_shrunk_after("delay 40ms rate 20mbit queue 1bdp", "cubic", seed);
        // It took 12 s where the ACKs of probes waited for the windows, or left in large packets.
        assert!(took <= Duration::from_secs(4), "seed {seed}: {took:?}");
    }
}

#[test]
fn packets_shrink_while_both_ends_wait_for_acknowledgements_behind_long_queues() {
    for seed in 1..=10 {
        // A queue of 0.6 s on a path of 20 ms.
        let link = "delay 10ms rate 2mbit queue 100p";
        let took = both_have_shrunk_after(link, "paceline", seed);
        // It took 14 s where a path counted as silent after a probe timeout of the smoothed RTT.
        assert!(took <= Duration::from_secs(6), "seed {seed}: {took:?}");
    }
}

/// A server that sends datagrams of 1,350 bytes as fast as they leave, while they fit.
struct Datagrams {
    scene: Scene,
    limit: Rc<Cell<usize>>,
}

impl Datagrams {
    fn over(link: &str, cc: &str, seed: u64) -> Self {
        let world = World::new(seed::choose(
            seed,
            format_args!("datagrams of {cc} that shrink"),
        ));
        let mut scene = Scene::new(world, link, link, &both(&transport(cc))).connect();
        let limit = Rc::new(Cell::new(1_500));
        scene.world.tamper(scene.ends.server, at_most(&limit));
        scene
            .world
            .watch_received_datagrams(scene.ends.client, |_, _| ());
        Self { scene, limit }
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.scene.world.now() + time;
        while self.scene.world.now() < until {
            self.run_on();
        }
    }

    fn run_on(&mut self) {
        let (world, server) = (&mut self.scene.world, self.scene.ends.server);
        let queued = |world: &World| world.stats(server).datagrams.queued_bytes.get();
        let send = |world: &mut World| {
            world.send_datagram(server, vec![7; 1_350], DatagramOptions::default())
        };
        // What is too large is an error.
        while queued(world) < 50_000 && send(world).is_ok() {}
        world.run_for(MS);
        assert_eq!(self.scene.errors(), [None, None]);
    }

    /// The path becomes narrower after `before`, and `after` that the server sends 3,000 bytes on
    /// a stream of their own: when they have arrived, from the fall on.
    fn stream_arrives(&mut self, before: Duration, after: Duration) -> Duration {
        self.run_for(before);
        self.limit.set(1_280);
        let fell = self.scene.world.now();
        self.run_for(after);
        let (server, client) = (self.scene.ends.server, self.scene.ends.client);
        self.scene.world.send(server, Load::Bytes(3_000));
        while self.scene.world.received(client).get() < 3_000 {
            self.run_on();
        }
        self.scene.world.now().since(fell)
    }
}

#[test]
fn a_stream_beside_datagrams_arrives_when_they_are_known_to_be_too_large() {
    // Known after so many milliseconds, at most.
    for (delay, known) in [(1, 250), (10, 700), (40, 1_700)] {
        let link = format!("delay {delay}ms rate 20mbit queue 1bdp");
        for cc in ["cubic", "bbr3", "paceline"] {
            for seed in 1..=2 {
                for after in [0, 100, 500] {
                    let mut path = Datagrams::over(&link, cc, seed.into());
                    let arrived = path.stream_arrives(MS * (1_500 + 13 * seed), MS * after);
                    let most = MS * (known.max(after) + delay + 10);
                    assert!(arrived <= most, "{link}, {cc}, {after} ms: {arrived:?}");
                }
            }
        }
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
