//! Handshakes over links that lose one packet in five, each way.

use crate::{Scene, both, transport};
use e2e::seed;
use std::time::Duration;
use transport::testing::World;

const LOSSY: &str = "delay 50ms loss 20%";
const SEEDS: u64 = 100;

/// Milliseconds until both ends are connected and have exchanged data, if they do.
fn handshake(seed: u64) -> Option<u64> {
    let seed = seed::choose(seed, "20 % loss");
    let plan = both(&transport("cubic"));
    let mut scene = Scene::new(World::new(seed), LOSSY, LOSSY, &plan);
    let limit = Duration::from_secs(60);
    if scene.world.run_until_connected(scene.ends, limit).is_ok() {
        let millis = scene.millis();
        scene.assert_alive();
        return Some(millis);
    }
    // Whoever has heard of the connection gives it up within the idle timeout, and within the
    // time in which a closed connection is kept.
    scene.world.run_for(Duration::from_secs(60));
    assert!(
        scene.world.error(scene.ends.client).is_some(),
        "seed {seed}"
    );
    None
}

#[test]
fn one_packet_in_five_lost_makes_handshakes_slower_not_impossible() {
    let mut times: Vec<u64> = (1..=SEEDS).filter_map(handshake).collect();
    times.sort_unstable();
    assert_eq!(times.len() as u64, SEEDS, "all come together");
    let (half, most) = (times[times.len() / 2], times[times.len() - 1]);
    // 100 ms without loss. A first probe timeout is 1 s, and doubles (RFC 9002 §6.2).
    assert!(half <= 1_300, "half took {half} ms");
    assert!(most <= 8_000, "the slowest took {most} ms");
}
