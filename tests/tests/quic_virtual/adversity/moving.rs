//! Clients whose address changes while data flows.

use crate::adversity::{LINK, Scene};
use e2e::seed;
use paceline::testing::Load;
use std::net::SocketAddr;
use std::time::Duration;
use units::Rng;

const TRANSFER: u64 = 3_000_000;

#[test]
fn rebinding_in_mid_transfer_loses_nothing() {
    for seed in 1..=12 {
        let mut rng = Rng::new(seed::choose(seed, "rebinding"));
        let cc = ["new_reno", "cubic", "bbr3"][rng.below(3) as usize];
        let link = format!("{LINK} loss {}%", rng.below(3));
        let mut scene = Scene::connected(&link, &link, cc);
        let (client, server) = (scene.ends.client, scene.ends.server);
        scene.world.send(client, Load::Bytes(TRANSFER));
        scene.world.send(server, Load::Bytes(TRANSFER));
        let mut moves = 0;
        while scene.world.received(server).get() < TRANSFER
            || scene.world.received(client).get() < TRANSFER
        {
            // A NAT that forgets gives another port, a change of networks another host.
            let host = if rng.below(2) == 0 {
                1
            } else {
                1 + rng.below(200)
            };
            let port = 50_000 + rng.below(1_000);
            let address: SocketAddr = format!("192.0.2.{host}:{port}").parse().unwrap();
            scene.world.move_client(scene.ends, address);
            moves += 1;
            scene
                .world
                .run_for(Duration::from_millis(20 + rng.below(400)));
            assert_eq!(scene.errors(), [None, None], "seed {seed}, move {moves}");
            assert!(moves < 300, "seed {seed}: {cc} over {link} does not end");
        }
        assert!(moves > 2, "{moves}");
    }
}
