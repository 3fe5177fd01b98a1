//! The same seed gives the same run: twice in one process, and on every machine and in every build
//! profile, for which the results stand in `snapshots`.
//!
//! Whoever changes what a controller, a link or a transport does changes these numbers:
//! `INSTA_UPDATE=always cargo test -p e2e --test quic_virtual recorded` and a commit that says why.

use core::fmt::Write as _;
use core::time::Duration;
use e2e::choose;
use e2e::digest::Digest;
use e2e::seed;
use e2e::sim::{Acks, Flow, Scenario};
use paceline::testing::{ConnectionPlan, EndId, Load, Side, World};
use units::Bytes;

/// Every kind of impairment that draws random numbers, two directions, a chain, four controllers.
fn small() -> Scenario {
    Scenario::new("delay 10ms 3ms distribution normal loss 0.5% rate 20mbit queue 1bdp")
        .link("second", "delay 5ms rate 30mbit aqm codel ecn queue 200p")
        .return_link("delay 10ms 2ms distribution pareto duplicate 1% rate 50mbit queue 1bdp")
        .flow(Flow::of("cubic"))
        .flow(Flow::of("bbr3").via(&[Scenario::LINK, "second"]).ecn())
        .flow(
            Flow::of("new_reno")
                .reversed()
                .start(Duration::from_secs(1))
                .acks(Acks::every(4).held(500, Duration::from_millis(5))),
        )
        .flow(Flow::of("fixed:rate=2mbit").via(&["second"]).bytes(500_000))
        .seed(7)
}

/// One line for each link and flow, and the digest of everything.
fn run_small() -> String {
    let outcome = small().run_for(Duration::from_secs(10));
    let mut text = String::new();
    for (name, link) in &outcome.links {
        let (packets, dropped) = (link.delivered.packets, link.dropped.total().packets);
        writeln!(text, "{name}: {packets} delivered, {dropped} dropped").expect(STRING);
    }
    for (index, flow) in outcome.flows.iter().enumerate() {
        let (bytes, lost) = (flow.delivered.get(), flow.packets_lost);
        writeln!(text, "flow {index}: {bytes} bytes, {lost} packets lost").expect(STRING);
    }
    let mut digest = Digest::new();
    write!(text, "digest {}", digest.add_outcome(&outcome)).expect(STRING);
    text
}

/// Three connections of real endpoints, with every kind of randomness in the links: one sends,
/// one receives, one does both and begins later.
fn quic(mut world: World) -> (World, Vec<EndId>) {
    let link = "delay 10ms 300us distribution normal loss 0.5% rate 20mbit queue 1bdp";
    let back = "delay 10ms duplicate 1% rate 50mbit aqm codel ecn queue 200p";
    let (there, back) = world
        .add_links(
            &link.parse().expect("a link"),
            &back.parse().expect("a link"),
        )
        .expect("links with a delay");
    let mut plan = |cc: &str, start: u64, loads: [Option<Load>; 2]| {
        let mut plan = ConnectionPlan {
            there: vec![there],
            back: vec![back],
            start: Duration::from_millis(start),
            client_load: loads[0],
            server_load: loads[1],
            ..ConnectionPlan::default()
        };
        plan.client.congestion(choose(cc));
        plan.server.congestion(choose(cc));
        let ends = world.add_connection(&plan);
        [ends.client, ends.server]
    };
    let endless = Some(Load::Endless);
    let ends = [
        plan("bbr3", 0, [endless, None]),
        plan("cubic", 0, [None, endless]),
        plan("new_reno", 1_000, [Some(Load::Bytes(3_000_000)), endless]),
    ];
    (world, ends.concat())
}

/// One line for each second, and the digest of everything, looked at every 50 ms.
fn run_quic(world: World) -> String {
    let (mut world, ends) = quic(world);
    let (mut text, mut digest) = (String::new(), Digest::new());
    for tick in 1..=100 {
        world.run_for(Duration::from_millis(50));
        for &end in ends.iter().filter(|end| world.is_connected(**end)) {
            let stats = world.stats(end);
            digest
                .add(world.received(end).get())
                .add(stats.path.sent_packets)
                .add(stats.path.lost_packets)
                .add(stats.udp_tx.bytes)
                .add(stats.cwnd.get())
                .add(stats.in_flight.get())
                .add(stats.delivered.get())
                .add_maybe(stats.srtt.map(units::duration::nanos))
                .add_name(world.congestion(end).state);
        }
        if tick % 20 == 0 {
            let received = ends
                .iter()
                .map(|end| world.received(*end).get().to_string());
            let received: Vec<String> = received.collect();
            writeln!(text, "{} s: {}", tick / 20, received.join(", ")).expect(STRING);
        }
    }
    write!(text, "digest {digest}").expect(STRING);
    text
}

#[test]
fn the_small_transport_gives_the_recorded_run() {
    let first = run_small();
    assert_eq!(first, run_small());
    if !seed::is_overridden() {
        insta::assert_snapshot!(first);
    }
}

#[test]
fn real_endpoints_give_the_recorded_run() {
    let first = run_quic(World::new(7));
    assert_eq!(first, run_quic(World::new(7)));
    insta::assert_snapshot!(first);
}

#[test]
fn what_is_not_encrypted_goes_the_same_way_at_the_same_time() {
    let encrypted = run_quic(World::new(7));
    assert_eq!(run_quic(World::new(7).unencrypted()), encrypted);
}

#[test]
fn another_seed_gives_another_run() {
    let run = |seed| {
        let outcome = small().seed(seed).run_for(Duration::from_secs(1));
        *Digest::new().add_outcome(&outcome)
    };
    assert_ne!(run(7), run(8));
}

#[test]
fn a_connection_that_never_begins_changes_nothing_of_the_others() {
    let run = |plans: u64| {
        let (mut world, ends) = quic(World::new(7));
        for _ in 0..plans {
            let never = world.add_link(&"delay 1ms loss 3%".parse().unwrap(), Duration::ZERO);
            world.add_connection(&ConnectionPlan {
                there: vec![never],
                back: vec![never],
                start: Duration::from_secs(60),
                client_load: Some(Load::Endless),
                ..ConnectionPlan::default()
            });
        }
        world.run_for(Duration::from_secs(3));
        let received = ends.iter().map(|end| world.received(*end));
        let sent = ends.iter().map(|end| world.stats(*end).udp_tx.bytes);
        (received.collect::<Vec<_>>(), sent.collect::<Vec<_>>())
    };
    let (received, sent) = run(0);
    assert!(received[1] > Bytes::new(1_000_000), "{received:?}");
    assert_eq!((received, sent), run(3));
}

#[test]
fn a_side_is_the_end_that_it_names() {
    let (mut world, ends) = quic(World::new(7));
    world.run_for(Duration::from_secs(1));
    let pair = paceline::testing::Ends {
        client: ends[0],
        server: ends[1],
    };
    assert_eq!(pair.of(Side::Client), ends[0]);
    let (there, back) = (
        world.route_stats(pair, Side::Client),
        world.route_stats(pair, Side::Server),
    );
    assert_eq!(there.sent, world.stats(ends[0]).udp_tx.datagrams);
    assert_eq!(back.received, world.stats(ends[0]).udp_rx.datagrams);
}

const STRING: &str = "a string takes whatever is written";
