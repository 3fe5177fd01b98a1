//! A server sends at most three times what came from an address until the address has proved that
//! it receives (RFC 9000 §8), counted on the link. After a move quinn-proto 0.11.19 lets the packet
//! that begins within the limit be whole.

use crate::adversity::{LINK, Scene, both, transport};
use e2e::seed;
use paceline::testing::{EndId, Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// UDP payload that `end` has sent, and how much of it passes: nothing once `limit` datagrams have.
fn count(world: &mut World, end: EndId, limit: u64) -> Rc<Cell<u64>> {
    let sent = Rc::new(Cell::new(0));
    let counter = Rc::clone(&sent);
    let mut left = limit;
    world.tamper(end, move |datagram| {
        if left == 0 {
            return Vec::new();
        }
        left -= 1;
        counter.set(counter.get() + datagram.len() as u64);
        vec![datagram]
    });
    sent
}

#[test]
fn a_client_that_never_answers_gets_three_times_what_it_sent() {
    for datagrams in 1..=3 {
        let world = World::new(seed::choose(1, "amplification"));
        let mut config = transport("cubic");
        config.handshake_timeout(None);
        let plan = both(&config);
        // Nothing comes back, so the client says hello again and again.
        let mut scene = Scene::new(world, LINK, "delay 20ms loss 100%", &plan);
        let received = count(&mut scene.world, scene.ends.client, datagrams);
        let sent = count(&mut scene.world, scene.ends.server, u64::MAX);
        // The server's probes go on as long as it hopes, until the idle timeout.
        scene.world.run_until(Duration::from_secs(60));
        let (received, sent) = (received.get(), sent.get());
        assert_eq!(received, datagrams * 1_200);
        assert!(sent <= 3 * received, "{sent} for {received}");
        // The limit is what held it, not a lack of things to say.
        assert!(sent > 3 * received - 1_200, "{sent} for {received}");
    }
}

#[test]
fn an_address_that_somebody_else_made_up_gets_three_times_what_came_from_it() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    scene.world.send(scene.ends.server, Load::Endless);
    scene.world.run_until(Duration::from_secs(2));
    // From now on the client's packets bear a stranger's address, and the stranger answers no
    // challenge: nothing reaches the client any more.
    scene.relink(LINK, "delay 20ms loss 100%");
    let address = "198.51.100.7:50000".parse().unwrap();
    scene.world.move_client(scene.ends, address);
    // What was sent to the old address is on its way back as acknowledgements.
    let received = count(&mut scene.world, scene.ends.client, u64::MAX);
    let sent = count(&mut scene.world, scene.ends.server, u64::MAX);
    let moved = scene.world.stats(scene.ends.server).udp_rx.bytes;
    for _ in 0..200 {
        scene.world.run_for(Duration::from_millis(10));
        let came = scene.world.stats(scene.ends.server).udp_rx.bytes - moved;
        // One datagram is under way to the server when the count begins; acknowledgements of
        // three bytes a packet would earn nothing like a window.
        assert!(sent.get() <= 3 * came + 3_000, "{} for {came}", sent.get());
    }
    assert!(received.get() > 0 && sent.get() > 0);
}
