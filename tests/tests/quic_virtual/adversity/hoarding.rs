//! Peers that want an endpoint to hold as much as it can be made to.

use crate::adversity::forged::{PADDING, STREAM_OFF_LEN, frame, with_number, with_payload};
use crate::adversity::{DEAD, LINK, Scene, transport};
use e2e::memory::{held, max_held};
use paceline::testing::Load;
use quinn_proto::{Connection, Dir, VarInt};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use units::Rng;

const MIB: i64 = 1 << 20;
/// A type of frame (RFC 9000 §19.17).
const PATH_CHALLENGE: u8 = 0x1a;

#[test]
fn a_reader_that_never_reads_is_sent_its_window_and_no_more() {
    for (streams, window) in [(1, 8 << 20), (5, 16 << 20)] {
        let mut scene = Scene::connected(LINK, LINK, "cubic");
        let (client, server) = (scene.ends.client, scene.ends.server);
        scene.world.set_reading(server, false);
        let before = held();
        for _ in 0..streams {
            scene.world.send(client, Load::Endless);
        }
        scene.world.run_for(Duration::from_secs(20));
        let sent = scene.world.stats(client).udp_tx.bytes;
        let overhead = sent.saturating_sub(window);
        assert!(overhead < window / 10, "{sent} for a window of {window}");
        // Chunks lie in the datagrams that they came in, which the simulator cuts from blocks.
        let growth = held() - before;
        assert!(growth < 2 * window as i64 + MIB, "{growth} bytes");
        let limited_by = scene.world.stats(client).limited_by;
        assert!(limited_by.flow_control > Duration::from_secs(10));

        // Neither side has forgotten the other.
        assert_eq!(scene.errors(), [None, None]);
        scene.world.set_reading(server, true);
        scene.world.run_for(Duration::from_secs(5));
        let received = scene.world.received(server).get();
        assert!(received > window + (10 << 20), "{received}");
    }
}

/// Opens as many streams as it may, writes to each and resets it.
fn open_and_reset(conn: &mut Connection) -> u64 {
    let mut opened = 0;
    for dir in [Dir::Uni, Dir::Bi] {
        while let Some(id) = conn.streams().open(dir) {
            let mut stream = conn.send_stream(id);
            stream.write(b"x").expect("a fresh stream takes a byte");
            stream.reset(VarInt::from_u32(7)).expect("it is open");
            opened += 1;
        }
    }
    opened
}

#[test]
fn streams_opened_and_reset_at_once_leave_nothing_behind() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    let (client, server) = (scene.ends.client, scene.ends.server);
    let round = |scene: &mut Scene| {
        let opened = scene.world.proto(client, open_and_reset);
        scene.world.run_for(Duration::from_millis(100));
        let open = scene
            .world
            .proto(server, |conn| conn.streams().remote_open_streams(Dir::Uni));
        assert!(open <= 100, "{open} streams");
        opened
    };
    for _ in 0..20 {
        round(&mut scene);
    }
    let before = held();
    let opened: u64 = (0..200).map(|_| round(&mut scene)).sum();
    assert!(opened > 10_000, "{opened} streams");
    let growth = held() - before;
    assert!(growth < MIB / 4, "{growth} bytes for {opened} streams");
    assert_eq!(scene.errors(), [None, None]);
}

#[test]
fn streams_that_nobody_accepts_are_no_more_than_the_limit() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    let client = scene.ends.client;
    scene.world.set_reading(scene.ends.server, false);
    let mut opened = 0;
    for _ in 0..50 {
        // The simulated application accepts streams in one direction only.
        opened += scene.world.proto(client, |conn| {
            let mut opened = 0;
            while let Some(id) = conn.streams().open(Dir::Bi) {
                let mut stream = conn.send_stream(id);
                stream.write(b"x").expect("a fresh stream takes a byte");
                stream.reset(VarInt::from_u32(7)).expect("it is open");
                opened += 1;
            }
            opened
        });
        scene.world.run_for(Duration::from_millis(100));
    }
    assert_eq!(opened, 100);
    assert_eq!(scene.errors(), [None, None]);
}

#[test]
fn datagrams_that_nobody_reads_drop_the_oldest() {
    let mut scene = Scene::connected(LINK, LINK, "cubic");
    let (client, server) = (scene.ends.client, scene.ends.server);
    let flood = |scene: &mut Scene, len: usize, rounds: u32| {
        for _ in 0..rounds {
            scene.world.proto(client, |conn| {
                for _ in 0..100 {
                    let datagram = vec![1; len].into();
                    conn.datagrams()
                        .send(datagram, true)
                        .expect("they are small");
                }
            });
            scene.world.run_for(Duration::from_millis(20));
        }
    };
    // Empty ones, too, cost memory.
    for len in [1_000, 100, 0] {
        flood(&mut scene, len, 20);
        let before = held();
        flood(&mut scene, len, 200);
        let growth = held() - before;
        assert!(growth < 6 * MIB, "{growth} bytes, in datagrams of {len}");
    }
    let frames = scene.world.stats(server).frame_rx.datagram;
    assert!(frames > 30_000, "{frames} datagrams");
    assert_eq!(scene.errors(), [None, None]);
}

/// Has the client send `count` packets, each with the frames that `frames` gives, and returns by
/// how much memory has grown, of which the client's own books are a part.
fn flood(scene: &mut Scene, count: u64, mut frames: impl FnMut(u64) -> Vec<u8> + 'static) -> i64 {
    let before = held();
    let mut number = 0;
    scene.world.tamper(scene.ends.client, move |datagram| {
        number += 1;
        vec![with_payload(&datagram, &frames(number))]
    });
    for _ in 0..count {
        scene.world.proto(scene.ends.client, Connection::ping);
        scene.world.run_for(Duration::from_millis(1));
    }
    held() - before
}

/// Bytes behind the frames of a packet, in which they were received.
const SLACK: i64 = 200_000;

/// Has the client send `packets`, full ones, each with `each` pieces of `len` bytes of one stream
/// that have a hole of one byte in front. The most by which memory has grown.
fn send_holes(scene: &mut Scene, packets: u64, each: u64, len: u64) -> i64 {
    let piece = move |index| {
        let offset = (len + 1) * index + 1;
        let data = vec![0; usize::try_from(len).expect("a packet's")];
        [frame(STREAM_OFF_LEN, &[2, offset, len]), data].concat()
    };
    let opened = |conn: &mut Connection| conn.streams().open(Dir::Uni);
    scene.world.proto(scene.ends.client, opened);
    max_held(|| {
        flood(scene, packets, move |number| {
            let first = each * (number - 1);
            let mut frames: Vec<u8> = (first..first + each).flat_map(piece).collect();
            frames.resize(frames.len().max(1_100), PADDING);
            frames
        });
    })
}

#[test]
fn a_stream_full_of_holes_ends_the_connection() {
    // One byte, one hole, one byte: 4,096 of them are free, whatever they came in.
    for (packets, each) in [(100, 40), (4_000, 1)] {
        let mut scene = Scene::readable();
        let growth = send_holes(&mut scene, packets, each, 1);
        assert!(
            growth < MIB,
            "{growth} bytes for 4,000 pieces, {each} in a packet"
        );
        assert_eq!(scene.errors(), [None, None]);
    }

    let mut scene = Scene::readable();
    let growth = send_holes(&mut scene, 500, 40, 1);
    assert!(growth < MIB, "{growth} bytes for 20,000 pieces");
    for error in scene.errors() {
        let error = error.expect("more pieces than losses make");
        assert!(error.contains("too many small pieces"), "{error}");
    }
}

#[test]
fn a_stream_of_pieces_as_small_as_may_be_holds_twice_the_window() {
    let window: u32 = 8 << 20;
    let mut config = transport("cubic");
    config
        .receive_window(VarInt::from_u32(window))
        .mtu_discovery_config(None);
    let mut scene = Scene::readable_with(&config);
    let (each, len) = (4, 256);
    let packets = u64::from(window) / (each * (len + 1));
    let growth = send_holes(&mut scene, packets, each, len);
    assert!(growth > i64::from(window), "{growth} bytes");
    assert!(growth < 2 * i64::from(window) + MIB, "{growth} bytes");
    assert_eq!(scene.errors(), [None, None]);
}

/// A peer that sends numbers at random has no more packets held back than the bound, and none for
/// longer than a quarter of a second.
#[test]
fn packets_that_skip_numbers_are_held_for_a_quarter_of_a_second_at_most() {
    let mut scene = Scene::readable();
    let (client, server) = (scene.ends.client, scene.ends.server);
    let packet = Rc::new(RefCell::new(Vec::new()));
    let sent = Rc::clone(&packet);
    scene.world.tamper(client, move |datagram| {
        *sent.borrow_mut() = datagram;
        Vec::new()
    });
    // The client has sent none of what is acknowledged.
    scene.world.tamper(server, |_| Vec::new());
    scene.world.proto(client, Connection::ping);
    scene.world.run_for(Duration::from_millis(1));
    let unread = |scene: &Scene| {
        let delivered = scene.world.link_stats(scene.there).delivered.packets;
        delivered - scene.world.stats(server).udp_rx.datagrams
    };
    // quinn-proto does not count the datagram that began the connection.
    assert_eq!(unread(&scene), 1);
    let (before, mut most) = (held(), 0);
    let (mut rng, mut newest) = (Rng::new(1), 1_000);
    for _ in 0..2_000 {
        for _ in 0..60 {
            let jump = if rng.below(5_000) == 0 { 60_000 } else { 3 };
            let late = if rng.below(4) == 0 { 20_000 } else { 100 };
            newest += rng.below(jump);
            let number = newest.saturating_sub(rng.below(late)) as u32;
            let datagram = with_number(&packet.borrow(), number, &[PADDING; 4]);
            scene.world.inject(client, &datagram);
        }
        scene.world.run_for(Duration::from_millis(1));
        let growth = held() - before;
        assert!(growth < 16 * MIB, "{growth} bytes");
        most = most.max(unread(&scene));
    }
    assert!((1_000..=4_097).contains(&most), "{most} packets");
    scene.world.run_for(Duration::from_millis(300));
    assert_eq!(unread(&scene), 1);
    assert_eq!(scene.errors()[1], None);
}

#[test]
fn packets_with_gaps_between_their_numbers_are_forgotten_in_time() {
    let mut scene = Scene::readable();
    let mut number = 0_u64;
    scene.world.tamper(scene.ends.client, move |datagram| {
        number += 1;
        let passes = number.is_multiple_of(2);
        passes.then_some(datagram).into_iter().collect()
    });
    let longest = Rc::new(Cell::new(0));
    let seen = Rc::clone(&longest);
    scene.world.tamper(scene.ends.server, move |datagram| {
        seen.set(seen.get().max(datagram.len()));
        vec![datagram]
    });
    let before = held();
    for _ in 0..3_000 {
        scene.world.proto(scene.ends.client, Connection::ping);
        scene.world.run_for(Duration::from_millis(1));
    }
    let growth = held() - before;
    assert!(growth < 2 * SLACK, "{growth} bytes");
    // Acknowledgements list at most 64 ranges, of two bytes each here.
    let longest = longest.get();
    assert!((150..200).contains(&longest), "{longest} bytes");
    scene
        .world
        .tamper(scene.ends.client, |datagram| vec![datagram]);
    scene.assert_alive();
}

#[test]
fn challenges_are_not_hoarded_until_they_can_be_answered() {
    let mut scene = Scene::readable();
    let growth = flood(&mut scene, 300, |number| {
        let challenge = |index: u64| frame(PATH_CHALLENGE, &[number << 32 | index]);
        (0..100).flat_map(challenge).collect()
    });
    assert!(growth < SLACK, "{growth} bytes");
    let answered = scene.world.stats(scene.ends.server).frame_tx.path_response;
    assert!((1..=400).contains(&answered), "{answered} answers");
    scene
        .world
        .tamper(scene.ends.client, |datagram| vec![datagram]);
    scene.assert_alive();
}

#[test]
fn connection_ids_given_and_taken_back_end_the_connection() {
    let mut scene = Scene::readable();
    // Each retires all earlier ones, and the answers are lost.
    scene.relink(LINK, DEAD);
    let growth = flood(&mut scene, 300, |number| {
        let id = |index: u64| {
            let number = 100 + 20 * number + index;
            let id = [&[8][..], &number.to_be_bytes(), &[9; 16]].concat();
            [frame(0x18, &[number, number]), id].concat()
        };
        (0..20).flat_map(id).collect()
    });
    assert!(growth < 2 * SLACK, "{growth} bytes");
    let [_, server] = scene.errors();
    let error = server.expect("more are taken back than may wait to be confirmed");
    assert!(
        error.contains("CONNECTION_ID_LIMIT") || error.contains("retire"),
        "{error}"
    );
}
