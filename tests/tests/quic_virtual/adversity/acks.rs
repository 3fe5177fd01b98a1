//! Acknowledgements that no honest receiver sends. A sender takes from them no more than
//! quinn-proto lets pass, holds a bounded amount, and knows what is in flight.

use crate::adversity::forged::{ACK, CID, TAG, frame, read_varint, with_payload};
use crate::adversity::{Scene, both, transport};
use e2e::memory::{held, max_held};
use paceline::testing::{EndId, Load};
use paceline::{ConnectionError, ConnectionStats, TransportErrorCode};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;
use units::Bytes;

const ACK_ECN: u8 = 0x03;
const MAX_DATA: u8 = 0x10;
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

/// The ACK frame of a packet.
struct Acknowledgement<'a> {
    largest: u64,
    delay: u64,
    /// Smallest and largest number of each range, from the largest down.
    ranges: Vec<(u64, u64)>,
    /// How many packets came with ECT(0), ECT(1) and CE.
    counts: [u64; 3],
    /// The frames before and behind it.
    others: [&'a [u8]; 2],
}

impl<'a> Acknowledgement<'a> {
    fn of(datagram: &'a [u8]) -> Option<Self> {
        let all = frames(datagram);
        // A receiver's window goes before its acknowledgement.
        let start = match *all.first()? {
            MAX_DATA => 1 + read_varint(&all[1..]).1,
            _ => 0,
        };
        let (before, mut rest) = all.split_at(start);
        if !matches!(*rest.first()?, ACK | ACK_ECN) {
            return None;
        }
        let mut integer = || {
            let (value, length) = read_varint(rest);
            rest = &rest[length..];
            value
        };
        let has_counts = integer() == u64::from(ACK_ECN);
        let [largest, delay, count, first] = std::array::from_fn(|_| integer());
        let mut ranges = vec![(largest - first, largest)];
        for _ in 0..count {
            // RFC 9000 §19.3.1.
            let (start, _) = ranges[ranges.len() - 1];
            let end = start - integer() - 2;
            ranges.push((end - integer(), end));
        }
        let counts = std::array::from_fn(|_| if has_counts { integer() } else { 0 });
        Some(Self {
            largest,
            delay,
            ranges,
            counts,
            others: [before, rest],
        })
    }
}

/// Has the client send what `forge` makes of the acknowledgement in each of its packets, with the
/// other frames as they are.
fn forge_acks(scene: &mut Scene, mut forge: impl FnMut(&Acknowledgement<'_>) -> Vec<u8> + 'static) {
    scene.world.tamper(scene.ends.client, move |datagram| {
        let packet = match Acknowledgement::of(&datagram) {
            Some(ack) => {
                let [before, behind] = ack.others;
                with_payload(&datagram, &[before, &forge(&ack), behind].concat())
            }
            None => datagram,
        };
        vec![packet]
    });
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
    let watch = move |departure: &paceline::testing::Departure| {
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
            let again = match (forged, Acknowledgement::of(&datagram)) {
                (Some(forged), Some(ack)) => {
                    let largest = forged(ack.largest);
                    with_payload(&datagram, &frame(ACK, &[largest, ack.delay, 0, largest]))
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

/// Has the client acknowledge everything up to the number that `forged` makes of the largest one,
/// and sees the server close the connection without believing a word.
fn assert_ends(forged: fn(u64) -> u64) {
    let mut scene = sending();
    scene.world.run_for(Duration::from_secs(1));
    let before = scene.world.stats(scene.ends.server);
    forge_acks(&mut scene, move |ack| {
        let largest = forged(ack.largest);
        frame(ACK, &[largest, ack.delay, 0, largest])
    });
    scene.world.run_for(Duration::from_millis(100));
    match scene.world.error(scene.ends.server) {
        Some(ConnectionError::TransportError(error)) => {
            assert_eq!(error.code, TransportErrorCode::PROTOCOL_VIOLATION);
        }
        other => panic!("the server has {other:?}"),
    }
    let after = scene.world.stats(scene.ends.server);
    // What was on its way.
    let delivered = after.delivered - before.delivered;
    assert!(delivered < Bytes::new(500_000), "{delivered}");
}

#[test]
fn what_was_never_sent_ends_the_connection_and_is_not_believed() {
    assert_ends(|largest| largest + 1_000_000);
    assert_ends(|_| (1 << 62) - 1);
}

#[test]
fn a_number_that_was_skipped_ends_the_connection_and_is_not_believed() {
    // quinn-proto leaves out a number now and then, the first of them below 64.
    assert_ends(|largest| largest);
}

/// An ACK frame of these numbers, the largest first, none of which follows another.
fn singles(numbers: &[u64], delay: u64) -> Vec<u8> {
    let mut frame = frame(ACK, &[numbers[0], delay, numbers.len() as u64 - 1, 0]);
    for pair in numbers.windows(2) {
        // The gap, in two bytes.
        let gap = u16::try_from(pair[0] - pair[1] - 2).expect("they are near each other");
        frame.extend((gap | 1 << 14).to_be_bytes());
        frame.push(0);
    }
    frame
}

#[test]
fn hundreds_of_ranges_in_each_packet_cost_no_memory() {
    // The client names every second packet that it has, each time the last 400 of them.
    let mut scene = sending();
    let excess = watch_window(&mut scene);
    let mut named = VecDeque::from([0]);
    forge_acks(&mut scene, move |ack| {
        for number in ack.ranges.iter().rev().flat_map(|range| range.0..=range.1) {
            if number % 2 == 0 && number > named[0] {
                named.push_front(number);
            }
        }
        named.truncate(400);
        singles(named.make_contiguous(), ack.delay)
    });
    let before = held();
    let most = max_held(|| scene.world.run_for(Duration::from_secs(10)));
    assert_eq!(scene.errors(), [None, None]);
    // The window of what was written and is not acknowledged is part of it.
    assert!(most - before < 20 * MIB, "{} bytes", most - before);
    assert!(excess.get() < Bytes::new(3 * 1_452), "{}", excess.get());
    // Half of the packets are lost, those with odd numbers, and little is sent.
    let path = scene.world.stats(scene.ends.server).path;
    assert!(path.lost_packets * 5 > path.sent_packets * 2, "{path:?}");
    assert!(path.lost_packets * 5 < path.sent_packets * 3, "{path:?}");
}

#[test]
fn a_true_acknowledgement_behind_idle_ones_is_found() {
    // Each packet begins with more ACK frames than are kept.
    let mut scene = sending();
    let excess = watch_window(&mut scene);
    scene.world.tamper(scene.ends.client, |datagram| {
        if Acknowledgement::of(&datagram).is_none() {
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

/// Has the client's acknowledgements report what `counts` makes of their true counts and of their
/// number, and lets the server send for a while. Its state in the middle and in the end.
fn lie(counts: impl Fn([u64; 3], u64) -> [u64; 3] + 'static) -> (Scene, [ConnectionStats; 2]) {
    let mut scene = Scene::readable();
    scene.world.send(scene.ends.server, Load::Endless);
    let mut number = 0;
    forge_acks(&mut scene, move |ack| {
        number += 1;
        let [ect0, ect1, ce] = counts(ack.counts, number);
        let first = ack.largest - ack.ranges[0].0;
        let fields = [ack.largest, ack.delay, 0, first, ect0, ect1, ce];
        frame(ACK_ECN, &fields)
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
    let (_, stats) = lie(|counts, _| counts);
    assert!(sends_ecn(&stats), "{:?}", stats[1].ecn);
    assert_eq!(stats[1].ecn.ce_marked, 0);
    let (_, stats) = lie(|[ect0, ..], number| {
        let ce = number.min(10);
        [ect0 - ce, 0, ce]
    });
    assert!(sends_ecn(&stats), "{:?}", stats[1].ecn);
    assert_eq!(stats[1].ecn.ce_marked, 10);
}

#[test]
fn no_more_marks_are_believed_than_packets_were_sent() {
    for ce in [1 << 30, (1 << 62) - 1] {
        let (_, stats) = lie(move |[ect0, ..], _| [ect0, 0, ce]);
        let marked = stats[1].ecn.ce_marked;
        let sent = stats[1].path.sent_packets;
        assert!(marked > 0 && marked <= sent, "{marked} of {sent}");
        assert_eq!(stats[1].ecn.ce_reports, 1, "what is marked already");
    }
}

/// True counts, and others from the 50th acknowledgement on.
type Turn = fn([u64; 3], u64) -> [u64; 3];

#[test]
fn counts_that_fall_or_are_of_another_codepoint_end_the_use_of_ecn() {
    let fall: Turn = |[ect0, ..], number| match number {
        0..50 => [ect0 - number.min(5), 0, number.min(5)],
        _ => [ect0, 0, 4],
    };
    let fewer: Turn = |counts, number| match number {
        0..50 => counts,
        _ => [7, 0, 0],
    };
    let other: Turn = |[ect0, ..], number| match number {
        0..50 => [ect0, 0, 0],
        _ => [ect0 - 1, 1, 0],
    };
    let erased: Turn = |_, _| [0, 0, 0];
    let cases = [
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
    let world = paceline::testing::World::new(1).unencrypted();
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
