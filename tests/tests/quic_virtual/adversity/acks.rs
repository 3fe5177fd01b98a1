//! Acknowledgements that no honest receiver sends. A sender takes from them no more than quinn-proto
//! lets pass, holds a bounded amount, and knows what is in flight.

use crate::adversity::forged::{ACK, CID, TAG, frame, read_varint, with_payload};
use crate::adversity::{Scene, both, transport};
use e2e::memory::{held, max_held};
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;
use transport::testing::{EndId, Load};
use transport::{ConnectionError, ConnectionStats, TransportErrorCode};
use units::Bytes;

const ACK_ECN: u8 = 0x03;
const MIB: i64 = 1 << 20;

/// The frames of a packet with a short header, in plain text; none of one with a long header.
fn frames(datagram: &[u8]) -> &[u8] {
    let is_short = datagram[0] & 0x80 == 0;
    let start = 1 + CID + usize::from(datagram[0] & 3) + 1;
    match is_short {
        true => &datagram[start..datagram.len() - TAG],
        false => &[],
    }
}

/// Largest number, delay and length of the first range of the ACK frame that a packet begins with.
fn first_ack(datagram: &[u8]) -> Option<[u64; 3]> {
    let frames = frames(datagram);
    if !matches!(*frames.first()?, ACK | ACK_ECN) {
        return None;
    }
    let mut at = 1;
    let mut fields = [0; 4];
    for field in &mut fields {
        let (value, length) = read_varint(&frames[at..]);
        (*field, at) = (value, at + length);
    }
    let [largest, delay, _, first] = fields;
    Some([largest, delay, first])
}

/// A server that sends without end to a client whose acknowledgements anybody may write, over a
/// link that loses some of what it sends.
fn sending() -> Scene {
    let mut scene = Scene::readable();
    scene.relink(LINK, LOSSY);
    scene.world.skip_verification(scene.ends.client);
    scene.world.send(scene.ends.server, Load::Endless);
    scene
}

/// What is sent never exceeds the window by more than a probe or two, by the sender's own count.
fn watch_window(scene: &mut Scene) -> Rc<Cell<Bytes>> {
    let most = Rc::<Cell<Bytes>>::default();
    let seen = Rc::clone(&most);
    let watch = move |departure: &transport::testing::Departure| {
        let excess = departure.in_flight.saturating_sub(departure.cwnd);
        seen.set(seen.get().max(excess));
    };
    scene.world.watch_departures(scene.ends.server, watch);
    most
}

/// What the sender knows, in figures that do not depend on how much came from the client.
fn figures(stats: &ConnectionStats) -> impl PartialEq + Debug + use<> {
    let path = stats.path;
    (
        (path.sent_packets, path.lost_packets, stats.delivered),
        (stats.cwnd, stats.in_flight, stats.srtt, stats.min_rtt),
        stats.spurious_losses,
    )
}

#[test]
fn what_a_duplicate_acknowledges_counts_for_nothing() {
    // A packet that has come before is dropped unread. In it a receiver could acknowledge what was
    // lost without ever naming a number that was skipped, or numbers that were never sent.
    let run = |forged: Option<fn(u64) -> u64>| {
        let mut scene = sending();
        let excess = watch_window(&mut scene);
        scene.world.tamper(scene.ends.client, move |datagram| {
            let again = match (forged, first_ack(&datagram)) {
                (Some(forged), Some([largest, delay, _])) => {
                    let largest = forged(largest);
                    with_payload(&datagram, &frame(ACK, &[largest, delay, 0, largest]))
                }
                _ => datagram.clone(),
            };
            vec![datagram, again]
        });
        scene.world.run_for(Duration::from_secs(10));
        assert_eq!(scene.errors(), [None, None]);
        assert!(excess.get() < Bytes::new(3 * 1_452), "{}", excess.get());
        figures(&scene.world.stats(scene.ends.server))
    };
    let honest = run(None);
    assert_eq!(run(Some(|largest| largest)), honest, "what was lost");
    assert_eq!(run(Some(|_| 1 << 40)), honest, "what was never sent");
    assert_eq!(run(Some(|_| (1 << 62) - 1)), honest);
}

#[test]
fn what_was_never_sent_ends_the_connection_and_is_not_believed() {
    let mut scene = sending();
    scene.world.run_for(Duration::from_secs(1));
    let before = scene.world.stats(scene.ends.server);
    let mut is_first = true;
    scene.world.tamper(scene.ends.client, move |datagram| {
        let ack = first_ack(&datagram).filter(|_| is_first);
        let Some([largest, ..]) = ack else {
            return vec![datagram];
        };
        is_first = false;
        let frames = frame(ACK, &[largest + 1_000_000, 0, 0, largest + 1_000_000]);
        vec![with_payload(&datagram, &frames)]
    });
    scene.world.run_for(Duration::from_millis(100));
    match scene.world.error(scene.ends.server) {
        Some(ConnectionError::TransportError(error)) => {
            assert_eq!(error.code, TransportErrorCode::PROTOCOL_VIOLATION);
        }
        other => panic!("the server has {other:?}"),
    }
    let after = scene.world.stats(scene.ends.server);
    let delivered = after.delivered - before.delivered;
    assert!(delivered < Bytes::new(500_000), "{delivered}");
}

/// As many single packets as ranges as fit into a datagram, every second one from `largest` down.
fn every_second(largest: u64) -> Vec<u8> {
    let count = 600.min(largest / 2);
    let mut frame = frame(ACK, &[largest, 0, count, 0]);
    frame.extend((0..count).flat_map(|_| [0, 0]));
    frame
}

#[test]
fn hundreds_of_ranges_in_each_packet_cost_no_memory() {
    let mut scene = sending();
    let excess = watch_window(&mut scene);
    scene
        .world
        .tamper(scene.ends.client, |datagram| match first_ack(&datagram) {
            Some([largest, ..]) => vec![with_payload(&datagram, &every_second(largest))],
            None => vec![datagram],
        });
    let before = held();
    let most = max_held(|| scene.world.run_for(Duration::from_secs(10)));
    // The window of what was written and is not acknowledged is part of it.
    assert!(most - before < 20 * MIB, "{} bytes", most - before);
    assert!(excess.get() < Bytes::new(3 * 1_452), "{}", excess.get());
    let stats = scene.world.stats(scene.ends.server);
    assert!(
        stats.in_flight <= stats.cwnd + Bytes::new(3 * 1_452),
        "{stats:?}"
    );
    // Half of the packets count as lost, so that next to nothing more is sent.
    if scene.errors() == [None, None] {
        let path = stats.path;
        assert!(path.lost_packets * 3 > path.sent_packets, "{path:?}");
    }
}

#[test]
fn a_true_acknowledgement_behind_idle_ones_is_found() {
    // Each packet begins with more ACK frames than are kept.
    let mut scene = sending();
    let excess = watch_window(&mut scene);
    scene.world.tamper(scene.ends.client, |datagram| {
        if first_ack(&datagram).is_none() {
            return vec![datagram];
        }
        let idle = [ACK, 0, 0, 0, 0].repeat(100);
        let all = [&idle, frames(&datagram)].concat();
        vec![with_payload(&datagram, &all)]
    });
    scene.world.run_for(Duration::from_secs(2));
    let before = held();
    scene.world.run_for(Duration::from_secs(20));
    assert_eq!(scene.errors(), [None, None]);
    let growth = held() - before;
    assert!(growth < 8 * MIB, "{growth} bytes");
    assert!(excess.get() < Bytes::new(3 * 1_452), "{}", excess.get());
    let stats = scene.world.stats(scene.ends.server);
    assert!(stats.delivered > Bytes::new(1_000_000), "{stats:?}");
    // The frame kept is the one with the largest number, so that little is taken for lost.
    let path = stats.path;
    assert!(path.lost_packets * 5 < path.sent_packets, "{path:?}");
}

/// Has the client's acknowledgements report these counts, by the largest number and the number of
/// such acknowledgements so far, and lets the server send for a while. Its state in the middle and
/// in the end.
fn lie(counts: impl Fn(u64, u64) -> [u64; 3] + 'static) -> (Scene, [ConnectionStats; 2]) {
    let mut scene = Scene::readable();
    scene.world.send(scene.ends.server, Load::Endless);
    let number = Rc::<RefCell<u64>>::default();
    scene.world.tamper(scene.ends.client, move |datagram| {
        let Some([largest, delay, first]) = first_ack(&datagram) else {
            return vec![datagram];
        };
        *number.borrow_mut() += 1;
        let [ect0, ect1, ce] = counts(largest, *number.borrow());
        let fields = [largest, delay, 0, first, ect0, ect1, ce];
        vec![with_payload(&datagram, &frame(ACK_ECN, &fields))]
    });
    let server = scene.ends.server;
    let mut stats = || {
        scene.world.run_for(Duration::from_secs(2));
        scene.world.stats(server)
    };
    let stats = [stats(), stats()];
    assert_eq!(scene.errors(), [None, None]);
    (scene, stats)
}

fn sends_ecn(stats: &[ConnectionStats; 2]) -> bool {
    stats[1].ecn.sent_ect0 > stats[0].ecn.sent_ect0 + 100
}

#[test]
fn counts_that_are_true_are_believed() {
    // Or the other tests of counts could pass because nothing is.
    let (_, stats) = lie(|largest, _| [largest + 1, 0, 0]);
    assert!(sends_ecn(&stats), "{:?}", stats[1].ecn);
    assert_eq!(stats[1].ecn.ce_marked, 0);
    let (_, stats) = lie(|largest, number| [largest + 1, 0, number.min(10)]);
    assert!(sends_ecn(&stats), "{:?}", stats[1].ecn);
    assert_eq!(stats[1].ecn.ce_marked, 10);
}

#[test]
fn no_more_marks_are_believed_than_packets_were_sent() {
    for ce in [1 << 30, (1 << 62) - 1] {
        let (_, stats) = lie(move |largest, _| [largest + 1, 0, ce]);
        let marked = stats[1].ecn.ce_marked;
        let sent = stats[1].path.sent_packets;
        assert!(marked > 0 && marked <= sent, "{marked} of {sent}");
        assert_eq!(stats[1].ecn.ce_reports, 1, "what is marked already");
    }
}

#[test]
fn counts_that_fall_or_are_of_another_codepoint_end_the_use_of_ecn() {
    let fall = |largest: u64, number: u64| match number {
        0..50 => [largest + 1, 0, 5],
        _ => [largest + 1, 0, 4],
    };
    let fewer = |largest: u64, number: u64| match number {
        0..50 => [largest + 1, 0, 0],
        _ => [7, 0, 0],
    };
    let other = |largest: u64, number: u64| match number {
        0..50 => [largest + 1, 0, 0],
        _ => [largest, 1, 0],
    };
    let erased = |_: u64, _: u64| [0, 0, 0];
    let cases: [(&str, fn(u64, u64) -> [u64; 3], u64); 4] = [
        ("fewer marks", fall, 5),
        ("fewer of ECT(0)", fewer, 0),
        ("ECT(1)", other, 0),
        ("none", erased, 0),
    ];
    for (name, counts, marked) in cases {
        let (mut scene, stats) = lie(counts);
        assert!(!sends_ecn(&stats), "{name}: {:?}", stats[1].ecn);
        assert_eq!(stats[1].ecn.ce_marked, marked, "{name}");
        // The connection goes on without.
        let received = scene.world.received(scene.ends.client);
        scene.world.run_for(Duration::from_secs(1));
        assert!(scene.world.received(scene.ends.client) > received, "{name}");
    }
}

#[test]
fn a_receiver_that_pads_its_packets_does_not_keep_them_all() {
    // They count in flight, and nobody has to acknowledge them.
    let mut config = transport("cubic");
    config.pad_to_mtu(true);
    let world = transport::testing::World::new(1).unencrypted();
    let mut scene = Scene::new(world, LINK, LINK, &both(&config)).connect();
    let client: EndId = scene.ends.client;
    scene.world.send(scene.ends.server, Load::Endless);
    scene.world.run_for(Duration::from_secs(20));
    let stats = scene.world.stats(client);
    assert!(stats.path.sent_packets > 10_000, "{stats:?}");
    let bound = Bytes::new(1_001 * 1_452);
    assert!(stats.in_flight <= bound, "{} in flight", stats.in_flight);
}

/// 50 Mbit/s; 40 ms there and back.
const LINK: &str = "delay 20ms rate 50mbit queue 1bdp";
const LOSSY: &str = "delay 20ms rate 50mbit queue 1bdp loss 1%";
