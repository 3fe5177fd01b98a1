//! Giving up packets: when they are overdue, and what late ones teach.

use crate::plan_over;
use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Ends, Load, Side, World};
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

const RTT: Duration = Duration::from_millis(50);
const MS: Duration = Duration::from_millis(1);

/// A path that keeps the order, and a hand that takes packets of the client's from it.
struct Path {
    world: World,
    ends: Ends,
    /// Whether the next packet is taken.
    is_wanted: Rc<Cell<bool>>,
    taken: Rc<RefCell<Vec<u8>>>,
}

impl Path {
    /// A connection that is several seconds old, over which the client sends `load`.
    fn with(load: Load) -> Self {
        let mut world = World::new(seed::choose(1, "packets taken and given back")).unencrypted();
        let mut plan = plan_over(&mut world, "delay 25ms");
        plan.client.congestion(choose("cubic"));
        // Every packet is the application's.
        plan.client.mtu_discovery_config(None);
        let ends = world.add_connection(&plan);
        let limit = Duration::from_secs(1);
        world.run_until_connected(ends, limit).expect("a handshake");
        world.run_for(Duration::from_secs(4));
        world.send(ends.client, load);
        let (is_wanted, taken) = (Rc::<Cell<bool>>::default(), Rc::<RefCell<_>>::default());
        let (wanted, hand) = (Rc::clone(&is_wanted), Rc::clone(&taken));
        world.tamper(ends.client, move |datagram| {
            if wanted.take() {
                *hand.borrow_mut() = datagram;
                return Vec::new();
            }
            vec![datagram]
        });
        Self {
            world,
            ends,
            is_wanted,
            taken,
        }
    }

    /// Takes the client's next packet.
    fn take_next(&self) {
        self.is_wanted.set(true);
    }

    /// Gives it back behind those that have left meanwhile.
    fn give_back(&mut self) {
        assert!(!self.is_wanted.get(), "a packet was taken");
        let datagram = self.taken.take();
        self.world.inject(self.ends.client, &datagram);
    }

    fn lost_packets(&self) -> u64 {
        self.world.stats(self.ends.client).path.lost_packets
    }
}

#[test]
fn a_packet_a_little_late_has_others_waited_for_as_long_and_an_eighth() {
    let mut path = Path::with(Load::Every {
        bytes: 1_000,
        interval: MS * 4,
    });
    path.world.run_for(RTT * 4);
    path.take_next();
    // It leaves after 4 ms and its successor after 8.
    path.world.run_for(MS * 9);
    path.give_back();
    path.world.run_for(RTT * 4 - MS);
    assert_eq!(path.lost_packets(), 0, "it was late, and no more");

    path.take_next();
    path.world.run_for(MS * 4);
    let sent = path.world.sent(path.ends.client);
    // The late one took 55 ms. This one is overdue when it is an eighth of a round trip older than
    // that, and its bytes are there half a round trip later.
    path.world.run_for(MS * 86);
    assert!(path.world.received(path.ends.server) < sent);
    path.world.run_for(MS);
    assert!(path.world.received(path.ends.server) >= sent);
    assert_eq!(path.lost_packets(), 1);
}

#[test]
fn packets_that_are_always_late_are_given_up_a_few_times_only() {
    const ROUNDS: u64 = 30;
    let mut path = Path::with(Load::Every {
        bytes: 1_000,
        interval: MS * 2,
    });
    path.world.run_for(RTT * 4);
    for _ in 0..ROUNDS {
        path.take_next();
        path.world.run_for(RTT / 2);
        path.give_back();
        path.world.run_for(RTT * 2);
    }
    let lost = path.lost_packets();
    assert!((1..ROUNDS / 3).contains(&lost), "{lost} of {ROUNDS}");
}

#[test]
fn a_connection_that_is_closing_waits_for_no_packet_to_be_overdue() {
    let mut path = Path::with(Load::Bytes(3_000));
    path.world.run_for(RTT * 4);
    path.take_next();
    path.world.send(path.ends.client, Load::Bytes(3_000));
    // Its successors are acknowledged, and it is not overdue yet.
    path.world.run_for(RTT + MS);
    path.world.close(path.ends.client);
    path.world.run_for(Duration::from_secs(5));
    assert_eq!(path.lost_packets(), 0);
    assert!(path.world.error(path.ends.server).is_some());
}

/// What the ends of a connection have sent after ten seconds, and the round-trip times they know.
fn traces(link: &str, sends: (Side, Load), max_time_threshold: f32) -> impl PartialEq + Debug {
    let mut world = World::new(seed::choose(1, format_args!("nothing lost on `{link}`")));
    let load_of = |side| Some(sends.1).filter(|_| sends.0 == side);
    let mut plan = ConnectionPlan {
        client_load: load_of(Side::Client),
        server_load: load_of(Side::Server),
        ..plan_over(&mut world, link)
    };
    for transport in [&mut plan.client, &mut plan.server] {
        transport.congestion(choose("cubic"));
        transport.max_time_threshold(max_time_threshold);
    }
    let ends = world.add_connection(&plan);
    world.run_for(Duration::from_secs(10));
    [ends.client, ends.server].map(|end| {
        let stats = world.stats(end);
        assert_eq!(stats.path.lost_packets, 0, "{link}");
        let (udp, frames) = (stats.udp_tx, stats.frame_tx);
        (
            udp.datagrams,
            udp.bytes,
            frames.acks,
            frames.ping,
            stats.srtt,
        )
    })
}

#[test]
fn where_nothing_is_lost_and_nothing_late_no_timer_goes_off_early() {
    for link in ["delay 25ms", "delay 300ms", "delay 25ms rate 100kbit"] {
        for side in [Side::Client, Side::Server] {
            for load in [Load::Bytes(1_000), Load::Bytes(30_000)] {
                // quinn-proto decides alone.
                let fixed = traces(link, (side, load), 0.0);
                let adaptive = traces(link, (side, load), 9.0 / 4.0);
                assert_eq!(adaptive, fixed, "{link}, {load:?} from the {side:?}");
            }
        }
    }
}
