//! Packets that overtake each other by more numbers than quinn-proto bears, and by fewer.

use crate::{config, connect};
use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, Pair, Side, World};
use std::time::Duration;
use units::Bytes;

const RTT: Duration = Duration::from_millis(50);

/// A client that sends all it can over 100 Mbit/s, behind which is this.
fn sending(cc: &str, behind: &str) -> (World, Ends, LinkId) {
    let mut world = World::new(seed::choose(1, format_args!("{cc} over {behind}")));
    let mut link = |text: &str| world.add_link(&text.parse().expect("a link"), RTT);
    let (bottleneck, behind) = (link("rate 100mbit queue 1bdp"), link(behind));
    let mut plan = ConnectionPlan {
        there: vec![bottleneck, behind],
        back: vec![link("")],
        client_load: Some(Load::Endless),
        ..ConnectionPlan::default()
    };
    plan.client.congestion(choose(cc));
    let ends = world.add_connection(&plan);
    (world, ends, behind)
}

/// Without packets that are held back it would be 37 Mbit/s: docs/transport.md.
#[test]
fn a_path_that_reorders_further_than_quinn_proto_bears_is_used() {
    for (cc, behind, least) in [
        ("bbr1", "delay 50ms 20ms", 80_000_000),
        ("bbr1", "delay 50ms 20ms loss 3%", 60_000_000),
        ("bbr3", "delay 50ms 20ms", 60_000_000),
    ] {
        let (mut world, ends, _) = sending(cc, behind);
        world.run_for(Duration::from_secs(10));
        let goodput = world.received(ends.server).get() * 8 / 10;
        let held = world.stats(ends.server).held_back;
        assert!(goodput > least, "{cc}, {behind}: {goodput} bit/s");
        assert!(held > 1_000, "{cc}, {behind}: {held} packets");
        assert_eq!(world.stats(ends.client).held_back, 0);
    }
}

#[test]
fn once_a_path_keeps_its_order_nothing_is_held() {
    let (mut world, ends, behind) = sending("fixed:rate=80mbit", "delay 50ms 20ms");
    world.run_for(Duration::from_secs(3));
    let held = |world: &World| world.stats(ends.server).held_back;
    assert!(held(&world) > 1_000);
    let in_order = "delay 50ms loss 2%".parse().expect("a link");
    world.change_link(behind, &in_order, RTT);
    world.run_for(Duration::from_secs(3));
    let before = held(&world);
    world.run_for(Duration::from_secs(3));
    assert_eq!(held(&world), before);
}

fn held_back(pair: &Pair) -> [u64; 2] {
    [Side::Client, Side::Server].map(|side| pair.stats(side).held_back)
}

#[test]
fn where_no_packet_comes_too_late_none_is_held() {
    for link in [
        "delay 20ms rate 100mbit queue 1bdp",
        "delay 20ms rate 100mbit queue 1bdp loss 5%",
        "delay 50ms 20ms ordered loss 1% rate 100mbit queue 1bdp",
        "delay 50ms 20ms rate 20mbit queue 1bdp",
        "delay 20ms rate 100mbit queue 1bdp duplicate 5%",
    ] {
        let mut pair = connect(&config(link, link, "fixed:rate=18mbit"));
        pair.send(Side::Client, Load::Endless);
        pair.send(Side::Server, Load::Endless);
        pair.run_for(Duration::from_secs(5));
        assert!(
            pair.received(Side::Server) > Bytes::new(1_000_000),
            "{link}"
        );
        assert_eq!(held_back(&pair), [0, 0], "{link}");
    }
}
