//! Real QUIC connections in one world, one against the other.

use e2e::{choose, seed};
use paceline::VarInt;
use paceline::testing::{ConnectionPlan, Ends, LinkId, Load, Side, World};
use std::time::Duration;
use units::Bytes;

/// A plan under controller `cc` at both ends.
fn plan(there: &[LinkId], back: &[LinkId], cc: &str) -> ConnectionPlan {
    let mut plan = ConnectionPlan {
        there: there.to_vec(),
        back: back.to_vec(),
        ..ConnectionPlan::default()
    };
    plan.client.congestion(choose(cc));
    plan.server.congestion(choose(cc));
    // Flow control is to have no part in it.
    let window = VarInt::from_u32(16 << 20);
    for transport in [&mut plan.client, &mut plan.server] {
        transport.receive_window(window).send_window(16 << 20);
    }
    plan
}

/// A world with one link each way.
fn dumbbell(link: &str, return_link: &str) -> (World, LinkId, LinkId) {
    let mut world = World::new(seed::choose(1, "real endpoints")).unencrypted();
    let (link, return_link) = (link.parse(), return_link.parse());
    let (there, back) = world
        .add_links(&link.expect("a link"), &return_link.expect("a link"))
        .expect("links with a delay");
    (world, there, back)
}

/// Kilobits per second of application data that `side` of each connection receives in `time`.
fn rates(world: &mut World, ends: &[Ends], side: Side, time: Duration) -> Vec<u64> {
    let received = |world: &World| -> Vec<Bytes> {
        let sides = ends.iter().map(|ends| ends.of(side));
        sides.map(|end| world.received(end)).collect()
    };
    let before = received(world);
    world.run_for(time);
    let after = received(world);
    let bits = |(after, before): (&Bytes, &Bytes)| (*after - *before).get() * 8;
    let millis = time.as_millis() as u64;
    after
        .iter()
        .zip(&before)
        .map(|pair| bits(pair) / millis)
        .collect()
}

#[test]
fn two_equal_connections_share_a_bottleneck() {
    for cc in ["new_reno", "cubic", "bbr3"] {
        let (mut world, there, back) = dumbbell("delay 20ms rate 20mbit queue 1bdp", "delay 20ms");
        let ends = [0, 1].map(|_| {
            world.add_connection(&ConnectionPlan {
                client_load: Some(Load::Endless),
                ..plan(&[there], &[back], cc)
            })
        });
        world.run_for(Duration::from_secs(10));
        let rates = rates(&mut world, &ends, Side::Server, Duration::from_secs(30));
        let sum: u64 = rates.iter().sum();
        assert!((17_500..19_500).contains(&sum), "{cc}: {rates:?}");
        assert!(rates.iter().all(|rate| *rate > sum / 4), "{cc}: {rates:?}");
    }
}

#[test]
fn fifty_connections_fill_a_link_and_each_gets_something() {
    let (mut world, there, back) = dumbbell("delay 20ms rate 50mbit queue 1bdp", "delay 20ms");
    let ends: Vec<Ends> = (0..50)
        .map(|number| {
            let cc = ["cubic", "bbr3", "new_reno"][number % 3];
            world.add_connection(&ConnectionPlan {
                start: Duration::from_millis(number as u64 * 20),
                server_load: Some(Load::Endless),
                ..plan(&[back], &[there], cc)
            })
        })
        .collect();
    world.run_for(Duration::from_secs(5));
    let rates = rates(&mut world, &ends, Side::Client, Duration::from_secs(10));
    let sum: u64 = rates.iter().sum();
    assert!((44_000..49_000).contains(&sum), "{sum}");
    // In a queue that is full all the time a handshake can lose so many packets, and wait so long
    // between them (RFC 9002 §6.2.1), that it takes 20 seconds.
    let late = rates.iter().filter(|rate| **rate == 0).count();
    let others = rates.iter().filter(|rate| **rate != 0);
    assert!(late <= 1 && others.min() > Some(&50), "{rates:?}");
    // Whoever asks for the counters of each link and way gets the same sum.
    let ways = ends
        .iter()
        .map(|ends| world.route_stats(*ends, Side::Server).sent);
    assert_eq!(ways.sum::<u64>(), world.link_stats(there).arrived.packets);
}

#[test]
fn a_connection_that_joins_late_and_leaves_early_is_made_room_for() {
    let (mut world, there, back) = dumbbell("delay 10ms rate 20mbit queue 1bdp", "delay 10ms");
    let sends = |start| ConnectionPlan {
        start: Duration::from_secs(start),
        client_load: Some(Load::Endless),
        ..plan(&[there], &[back], "cubic")
    };
    let ends = [0, 5].map(|start| world.add_connection(&sends(start)));
    world.run_until(Duration::from_secs(2));
    let rates = |world: &mut World, time| rates(world, &ends, Side::Server, time);
    let alone = rates(&mut world, Duration::from_secs(3));
    assert!(alone[0] > 18_000 && alone[1] == 0, "{alone:?}");
    world.run_until(Duration::from_secs(10));
    let shared = rates(&mut world, Duration::from_secs(10));
    assert!(shared.iter().all(|rate| *rate > 5_000), "{shared:?}");
    world.close(ends[1].client);
    world.run_for(Duration::from_secs(2));
    let alone = rates(&mut world, Duration::from_secs(3));
    assert!(alone[0] > 18_000 && alone[1] == 0, "{alone:?}");
}

/// What the long way and the two short ones get.
fn two_bottlenecks(seed: u64) -> [u64; 3] {
    let mut world = World::new(seed::choose(seed, "real endpoints")).unencrypted();
    let (rtt, link) = (
        Duration::from_millis(30),
        "rate 20mbit delay 10ms queue 1bdp".parse().expect("a link"),
    );
    let [first, second] = [0, 1].map(|_| world.add_link(&link, rtt));
    let back = world.add_link(&"delay 10ms".parse().expect("a link"), rtt);
    let ways = [&[first, second][..], &[first], &[second]];
    let ends = ways.map(|way| {
        world.add_connection(&ConnectionPlan {
            client_load: Some(Load::Endless),
            ..plan(way, &[back], "cubic")
        })
    });
    world.run_for(Duration::from_secs(10));
    let rates = rates(&mut world, &ends, Side::Server, Duration::from_secs(20));
    rates.try_into().expect("three connections")
}

/// Where both queues overflow at the same time the long way has no more losses than the short ones,
/// and CUBIC heeds no round trips: nine runs of 90 seconds give it all between a fifth and a half,
/// and single stretches of 20 seconds more. The sum of three runs.
#[test]
fn a_long_way_over_two_bottlenecks_gets_less_than_the_short_ones() {
    let mut sums = [0; 3];
    for seed in 1..=3 {
        let rates = two_bottlenecks(seed);
        let [long, first, second] = rates;
        assert!(long + first > 17_000 && long + second > 17_000, "{rates:?}");
        assert!(long > 500, "{rates:?}");
        sums = core::array::from_fn(|way| sums[way] + rates[way]);
    }
    let [long, first, second] = sums;
    assert!(long < first && long < second, "{sums:?}");
}

#[test]
fn data_in_both_directions_shares_each_link_with_the_acks_of_the_other() {
    let link = "delay 10ms rate 20mbit queue 1bdp";
    let (mut world, there, back) = dumbbell(link, link);
    let plan = plan(&[there], &[back], "cubic");
    let up = world.add_connection(&ConnectionPlan {
        client_load: Some(Load::Endless),
        ..plan.clone()
    });
    let down = world.add_connection(&ConnectionPlan {
        server_load: Some(Load::Endless),
        ..plan
    });
    world.run_for(Duration::from_secs(3));
    let time = Duration::from_secs(10);
    let before = world.received(down.client);
    let up = rates(&mut world, &[up], Side::Server, time)[0];
    let down = (world.received(down.client) - before).get() * 8 / time.as_millis() as u64;
    assert!(up > 15_000 && down > 15_000, "{up} and {down} kbit/s");
}

#[test]
fn a_link_that_changes_changes_for_all() {
    let (mut world, there, back) = dumbbell("delay 10ms rate 20mbit queue 1bdp", "delay 10ms");
    let ends = [0, 1].map(|_| {
        world.add_connection(&ConnectionPlan {
            client_load: Some(Load::Endless),
            ..plan(&[there], &[back], "bbr3")
        })
    });
    world.run_for(Duration::from_secs(5));
    let rtt = Duration::from_millis(20);
    let slower = "delay 10ms rate 5mbit queue 1bdp".parse().unwrap();
    world.change_link(there, &slower, rtt);
    world.run_for(Duration::from_secs(5));
    let rates = rates(&mut world, &ends, Side::Server, Duration::from_secs(10));
    let sum: u64 = rates.iter().sum();
    assert!((4_300..4_900).contains(&sum), "{rates:?}");
}
