//! A server sends at most three times what came from an address until the address has proved that
//! it receives (RFC 9000 §8), counted on the link. After a move quinn-proto 0.11.19 lets the packet
//! that begins within the limit be whole.

use crate::adversity::{LINK, Scene, both, transport};
use e2e::seed;
use paceline::testing::{EndId, Load, Simulation, World};
use paceline::{Endpoint, tls};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

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

/// How long a handshake takes over a path of 20 ms, where the server's certificate has so many
/// names, a chain so many such certificates, and the server's packets `mtu` bytes.
fn handshake(names: usize, chain: usize, mtu: u16) -> Duration {
    let link = "delay 10ms".parse().expect("it is a link");
    let simulation = Simulation::new(1)
        .links(&link, &link)
        .expect("it has a delay");
    simulation.run(async move {
        let names = (0..=names).map(|number| format!("number-{number}.{}", "a".repeat(50)));
        let certificate = tls::SelfSigned::generate(names).expect("names of letters");
        let chain = vec![certificate.cert.clone(); chain];
        let tls = tls::server(chain, certificate.key.clone_key());
        let mut config = tls.config().expect("the key is the certificate's");
        let mut own = transport("cubic");
        own.initial_mtu(mtu);
        config.transport_config(Arc::new(own));
        let at = "10.0.0.1:443".parse().expect("it is an address");
        let server = Endpoint::server(config, at).expect("it is free");
        tokio::spawn(async move {
            let connection = server.accept().await?.await.ok()?;
            Some(connection.closed().await)
        });
        let client = Endpoint::client("0.0.0.0:0".parse().expect("any")).expect("it is free");
        let config = tls::client_without_verification().config();
        let config = config.expect("what there is by default");
        let begun = Instant::now();
        let connecting = client.connect_with(config, at, "server.test");
        connecting
            .expect("the name is one")
            .await
            .expect("there is a server");
        begun.elapsed()
    })
}

#[test]
fn a_certificate_of_any_size_takes_the_round_trips_that_the_limit_asks_for_and_no_probe() {
    // One certificate of 400 bytes to 13 KB, in steps of 60 bytes, and chains of up to 25 KB.
    let single = (0..200).map(|names| (names, 1));
    let chains = (2..=40).map(|chain| (0, chain));
    for (names, chain) in single.chain(chains) {
        for mtu in [1_200, 1_452] {
            let took = handshake(names, chain, mtu);
            // The client's answer to the first 3,600 bytes proves its address (RFC 9000 §8.1).
            assert!(
                took <= Duration::from_millis(65),
                "{names} names, {chain} certificates, {mtu} bytes: {took:?}"
            );
        }
    }
}
