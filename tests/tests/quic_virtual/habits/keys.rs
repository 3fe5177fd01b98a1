//! What packets pass through keys, in what order, and what becomes of them then.

use super::pair::Pair;
use super::recorder::Seen;
use super::{acked, batches, broken, count, encrypted, unchanged, wide};
use bytes::BytesMut;
use quinn_proto::Side;
use std::time::Duration;

#[test]
fn keys_see_each_packet_once_in_the_order_of_numbers_and_whole() {
    let habit = broken(
        "a packet is protected once, whole, by number",
        "tap/keys.rs",
    );
    let mut pair = Pair::new(unchanged);
    pair.run_for(Duration::from_secs(1));
    pair.client.write(100_000);
    pair.server.write(100_000);
    pair.run_for(Duration::from_secs(1));
    for end in [&pair.client, &pair.server] {
        let seen = end.recorder.seen();
        let mut next = [0; 3];
        for (space, number, _) in encrypted(&seen) {
            assert!(
                number >= next[space as usize],
                "{habit}: {space:?} {number}"
            );
            next[space as usize] = number + 1;
        }
        for (before, polled) in batches(&seen) {
            let bytes: u64 = encrypted(before).iter().map(|(_, _, bytes)| bytes).sum();
            assert_eq!(bytes, polled.bytes, "{habit}: {before:?}");
        }
    }
}

#[test]
fn what_a_key_protects_is_what_counts_in_flight() {
    let habit = broken(
        "a packet counts in flight with all its bytes",
        "tap.rs, Sent::bytes",
    );
    let mut pair = Pair::connected(wide);
    pair.client.write(100_000);
    let mut whole = Vec::new();
    let end = pair.now + Duration::from_secs(1);
    let mut compared = 0;
    while pair.step(end) {
        whole.extend(pair.client.recorder.take());
        let Some(Seen::EndOfAcks { in_flight, .. }) = whole
            .iter()
            .rfind(|seen| matches!(seen, Seen::EndOfAcks { .. }))
        else {
            continue;
        };
        let last = whole
            .iter()
            .rposition(|seen| matches!(seen, Seen::EndOfAcks { .. }));
        let until = &whole[..last.unwrap_or(0)];
        let sent: u64 = encrypted(until).iter().map(|(_, _, bytes)| bytes).sum();
        assert_eq!(*in_flight, sent - acked(until), "{habit}");
        compared += 1;
    }
    assert!(compared > 10, "{habit}");
}

#[test]
fn the_keys_of_each_space_come_in_order() {
    let habit = broken(
        "Handshake keys come before those of 1-RTT",
        "tap/keys.rs, next",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.write(10_000);
    pair.run_for(Duration::from_secs(1));
    pair.client.conn().force_key_update();
    pair.client.write(10_000);
    pair.run_for(Duration::from_secs(1));
    let mut fresh = Pair::new(unchanged);
    fresh.run_for(Duration::from_secs(1));
    for end in [&pair.client, &pair.server, &fresh.client, &fresh.server] {
        for seen in end.recorder.seen() {
            if let Seen::Encrypted { key, kind, .. } = seen {
                assert_eq!(key, kind, "{habit}");
            }
        }
    }
    let kinds = fresh.client.recorder.seen().into_iter();
    let mut kinds: Vec<_> = kinds
        .filter_map(|seen| match seen {
            Seen::Encrypted { kind, .. } => Some(kind),
            _ => None,
        })
        .collect();
    kinds.dedup();
    assert!(kinds.len() >= 3, "{kinds:?}");
}

#[test]
fn what_a_key_leaves_of_a_payload_is_what_is_read() {
    let habit = broken(
        "a payload may be changed where it is decrypted",
        "tap/ecn.rs, Rewrite",
    );
    for length in [1, 3, 2_000] {
        let mut pair = Pair::connected(unchanged);
        pair.server.recorder.rewrite(move |payload: &mut BytesMut| {
            payload.clear();
            payload.resize(length, PING);
        });
        let before = pair.server.conn().stats().frame_rx;
        pair.client.write(500);
        pair.flush(Side::Client);
        for datagram in pair.intercept(Side::Server) {
            pair.deliver(Side::Server, &datagram);
        }
        let after = pair.server.conn().stats().frame_rx;
        let read = (after.ping - before.ping, after.stream - before.stream);
        assert_eq!(read, (length as u64, 0), "{habit}");
    }
}

#[test]
fn a_duplicate_is_decrypted_and_then_dropped_before_its_frames_are_counted() {
    let habit = broken(
        "duplicates are decrypted, their frames not counted",
        "driver/control.rs, forget_unprocessed_acks",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.write(1_000);
    pair.flush(Side::Client);
    let datagrams = pair.intercept(Side::Server);
    for datagram in [&datagrams[..], &datagrams[..]].concat() {
        pair.deliver(Side::Server, &datagram);
    }
    let seen = pair.server.recorder.take();
    let decrypted = count(&seen, |seen| matches!(seen, Seen::Decrypted { .. }));
    let frames = pair.server.conn().stats().frame_rx.stream;
    assert_eq!((decrypted, frames), (2, 1), "{habit}");
}

#[test]
fn a_packet_that_129_have_overtaken_is_dropped() {
    let habit = broken(
        "a packet may be 128 numbers behind the newest one",
        "quinn_proto_habits.rs, MAX_LATE",
    );
    for (behind, is_taken) in [(128, true), (129, false)] {
        let mut pair = Pair::connected(wide);
        pair.client.write(500_000);
        pair.flush(Side::Client);
        let datagrams = pair.intercept(Side::Server);
        let numbers = encrypted(&pair.client.recorder.take());
        // Far enough from what was acknowledged for a number of two bytes.
        let late = 200;
        let (_, number, _) = numbers[late];
        for (datagram, (_, other, _)) in datagrams.iter().zip(&numbers) {
            if *other != number && *other <= number + behind {
                pair.deliver(Side::Server, datagram);
            }
        }
        let before = pair.server.conn().stats().frame_rx.stream;
        pair.deliver(Side::Server, &datagrams[late]);
        let taken = pair.server.conn().stats().frame_rx.stream - before;
        assert_eq!(taken, u64::from(is_taken), "{habit}: {behind} behind");
    }
}

const PING: u8 = 0x01;

#[test]
fn the_keys_of_an_update_are_made_before_it() {
    let habit = broken(
        "a session is asked for the next keys after the handshake and at each update",
        "tap/log.rs, has_updated_keys",
    );
    let mut pair = Pair::new(unchanged);
    pair.run_for(Duration::from_secs(1));
    let asked = |pair: &Pair| {
        [&pair.client, &pair.server]
            .map(|end| count(&end.recorder.seen(), |seen| *seen == Seen::NextKeys))
    };
    assert_eq!(asked(&pair), [1, 1], "{habit}");
    pair.client.conn().force_key_update();
    pair.client.write(1_000);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(asked(&pair), [2, 2], "{habit}");
}
