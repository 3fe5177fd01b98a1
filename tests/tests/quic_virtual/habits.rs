//! What rests on habits of quinn-proto 0.11 that its documentation does not promise.

mod pair;
mod recorder;

use bytes::BytesMut;
use pair::{CLIENT, DELAY, Datagram, Identity, MTU, Pair};
use quinn_proto::{EcnCodepoint, ReadableError, Side, TransportConfig, VarInt};
use recorder::{Polled, Seen, Space};
use std::time::{Duration, Instant};

/// What a failing test says.
fn broken(habit: &str, file: &str) -> String {
    format!("quinn-proto's habit has changed ({habit}): see crates/transport/src/{file}")
}

fn unchanged(_: &mut TransportConfig) {}

/// Flow control that never is in the way.
fn wide(config: &mut TransportConfig) {
    let window = VarInt::from_u32(64 << 20);
    config
        .receive_window(window)
        .stream_receive_window(window)
        .send_window(64 << 20);
}

fn count(seen: &[Seen], what: impl Fn(&Seen) -> bool) -> u64 {
    seen.iter().filter(|seen| what(seen)).count() as u64
}

fn questions(seen: &[Seen]) -> u64 {
    count(seen, |seen| *seen == Seen::WindowAsked)
}

/// What led to each batch, and the batch.
fn batches(seen: &[Seen]) -> impl Iterator<Item = (&[Seen], &Polled)> {
    let calls = seen.split_inclusive(|seen| matches!(seen, Seen::Polled(_)));
    calls.filter_map(|call| match call.split_last()? {
        (Seen::Polled(Some(polled)), before) => Some((before, polled)),
        _ => None,
    })
}

/// What the packets have that were protected.
fn encrypted(seen: &[Seen]) -> Vec<(Space, u64, u64)> {
    let packets = seen.iter().filter_map(|seen| match *seen {
        Seen::Encrypted {
            key, number, bytes, ..
        } => Some((key, number, bytes)),
        _ => None,
    });
    packets.collect()
}

fn acked(seen: &[Seen]) -> u64 {
    let bytes = seen.iter().map(|seen| match *seen {
        Seen::Acked { bytes, .. } => bytes,
        _ => 0,
    });
    bytes.sum()
}

/// As the controller was told last.
fn in_flight(seen: &[Seen]) -> Option<u64> {
    seen.iter().rev().find_map(|seen| match *seen {
        Seen::EndOfAcks { in_flight, .. } => Some(in_flight),
        _ => None,
    })
}

#[test]
fn two_questions_precede_each_datagram_in_flight_and_none_an_ack() {
    let habit = broken(
        "two questions for each datagram in flight, none for ACKs",
        "gate.rs",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.write(200_000);
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    assert!(batches(&seen).count() > 10);
    for (before, polled) in batches(&seen) {
        let datagrams = polled.bytes.div_ceil(MTU);
        assert_eq!(questions(before), 2 * datagrams, "{habit}: {before:?}");
    }
    let seen = pair.server.recorder.take();
    assert!(batches(&seen).count() > 10);
    let received = pair.server.conn().stats().frame_rx.acks;
    assert_eq!(questions(&seen), 2 * received, "{habit}");
}

#[test]
fn a_datagram_leaves_while_flight_and_its_size_stay_below_the_window() {
    let habit = broken(
        "in flight + packet < window",
        "gate.rs, the window plus one byte",
    );
    for (window, datagrams) in [(5 * MTU, 4), (5 * MTU + 1, 5), (6 * MTU, 5)] {
        let mut pair = Pair::connected(unchanged);
        pair.client.recorder.set_window(window);
        pair.client.write(100_000);
        pair.flush(Side::Client);
        let left = pair.intercept(Side::Server).len();
        assert_eq!(left, datagrams, "{habit}: window {window}");
    }
}

#[test]
fn nothing_in_flight_leaves_with_a_window_of_one_byte_but_acks_do() {
    let habit = broken("a window of 1 admits ACKs alone", "gate.rs");
    let mut pair = Pair::connected(unchanged);
    pair.client.recorder.set_window(1);
    pair.server.write(10_000);
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    assert!(batches(&seen).count() > 3, "{habit}");
    assert_eq!(questions(&seen), 0, "{habit}: {seen:?}");
    pair.client.write(10_000);
    pair.flush(Side::Client);
    let seen = pair.client.recorder.take();
    assert_eq!(seen, [Seen::WindowAsked, Seen::Polled(None)], "{habit}");
}

#[test]
fn loss_probes_leave_without_a_question() {
    let habit = broken("no question for a loss probe", "gate.rs");
    let mut pair = Pair::connected(unchanged);
    pair.client.write(1_000);
    pair.client.filter = Box::new(|_| false);
    pair.flush(Side::Client);
    pair.client.write(100_000);
    pair.client.recorder.set_window(1);
    pair.batch = 1;
    pair.flush(Side::Client);
    pair.client.recorder.take();
    // Within the second probe timeout, the first one's two have left.
    pair.run_for(Duration::from_millis(400));
    let seen = pair.client.recorder.take();
    let probes: Vec<_> = batches(&seen).collect();
    assert_eq!(probes.len(), 2, "{habit}: {seen:?}");
    for (before, _) in probes {
        assert_eq!(questions(before), 0, "{habit}: {before:?}");
    }
}

#[test]
fn nothing_is_paced_in_a_window_above_four_gigabytes() {
    let habit = broken(
        "no pacing in windows of 2^32 bytes and more",
        "gate.rs, NO_PACING",
    );
    let at_once = |window| {
        let mut pair = Pair::connected(wide);
        pair.client.recorder.set_window(window);
        pair.client.write(1_200_000);
        pair.flush(Side::Client);
        pair.intercept(Side::Server).len()
    };
    assert!(at_once(1 << 32) > 1_000, "{habit}");
    assert!(at_once(u64::MAX) > 1_000, "{habit}");
    // What it would be: a burst of at most 256 packets.
    let paced = at_once((1 << 32) - 1);
    assert!(paced <= 257, "{habit}: a burst of {paced}");
}

#[test]
fn a_refusal_is_followed_by_the_question_of_the_next_packet_number_space() {
    let habit = broken(
        "a refusal ends the questions of its packet number space, not of the next one",
        "gate.rs, OpenDuringHandshake",
    );
    let mut pair = Pair::new(unchanged);
    pair.flush(Side::Client);
    let [hello] = &pair.intercept(Side::Server)[..] else {
        panic!("one datagram");
    };
    pair.server.recorder.set_window(1);
    pair.deliver(Side::Server, hello);
    pair.server.recorder.take();
    assert!(!pair.poll(Side::Server), "{habit}");
    let seen = pair.server.recorder.take();
    assert_eq!(
        questions(&seen),
        2,
        "{habit}, of Initial and Handshake: {seen:?}"
    );
}

#[test]
fn an_mtu_probe_leaves_unasked_and_unreported_and_is_counted() {
    let habit = broken(
        "MTU probes ask nothing, are alone in a batch, and counted",
        "driver/transmit_pacing.rs, is_mtu_probe",
    );
    let mut pair = Pair::new(|config| {
        config.mtu_discovery_config(Some(Default::default()));
    });
    let mut probes = 0;
    let end = pair.now + Duration::from_secs(1);
    while pair.step(end) {}
    let seen = pair.client.recorder.take();
    for (before, polled) in batches(&seen).filter(|(_, polled)| polled.bytes > MTU) {
        let packets = encrypted(before);
        let is_alone = packets.len() == 1 && packets[0].2 == polled.bytes;
        // What is too large for one datagram is a batch of several.
        if !is_alone {
            continue;
        }
        probes += 1;
        let is_reported = before.iter().any(|seen| matches!(seen, Seen::Sent { .. }));
        assert!(
            !is_reported && questions(before) == 0,
            "{habit}: {before:?}"
        );
    }
    let counted = pair.client.conn().stats().path.sent_plpmtud_probes;
    assert_eq!((probes, probes > 2), (counted, true), "{habit}");
}

#[test]
fn a_close_waits_behind_data_that_the_window_holds_back() {
    let habit = broken(
        "CONNECTION_CLOSE is held back by the window",
        "driver/transmit_pacing.rs; SendPermission::Unlimited is not needed any more",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.recorder.set_window(1);
    pair.client.write(10_000);
    let now = pair.now;
    pair.client.close(now);
    assert!(!pair.poll(Side::Client), "{habit}");
    pair.client.recorder.set_window(u64::MAX);
    assert!(pair.poll(Side::Client), "{habit}");
    let sent = pair.client.conn().stats().frame_tx.connection_close;
    assert_eq!(sent, 1, "{habit}");
}

#[test]
fn only_a_ce_mark_is_a_congestion_event_of_no_bytes() {
    let habit = broken(
        "a loss of no bytes is a CE mark",
        "cc_adapter.rs, on_congestion_event",
    );
    let events = |filter: fn(&mut Datagram) -> bool| {
        let mut pair = Pair::connected(unchanged);
        let mut left = 0;
        pair.client.filter = Box::new(move |datagram| {
            left += 1;
            !(10..20).contains(&left) || filter(datagram)
        });
        pair.client.write(100_000);
        pair.run_for(Duration::from_secs(2));
        let seen = pair.client.recorder.take().into_iter();
        let lost = seen.filter_map(|seen| match seen {
            Seen::Congestion { lost } => Some(lost),
            _ => None,
        });
        lost.collect::<Vec<_>>()
    };
    let marked = events(|datagram| {
        datagram.ecn = Some(EcnCodepoint::Ce);
        true
    });
    assert!(
        !marked.is_empty() && marked.iter().all(|lost| *lost == 0),
        "{habit}: {marked:?}"
    );
    let lost = events(|_| false);
    assert!(
        !lost.is_empty() && lost.iter().all(|lost| *lost > 0),
        "{habit}: {lost:?}"
    );
    let none: [u64; 0] = [];
    assert_eq!(events(|_| true), none, "{habit}");
}

#[test]
fn reports_of_ect1_end_the_use_of_ecn() {
    let habit = broken(
        "a report of ECT(1) ends ECN",
        "tap/ecn.rs, which joins the counts",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.filter = Box::new(|datagram| {
        datagram.ecn = datagram.ecn.and(Some(EcnCodepoint::Ect1));
        true
    });
    for expected in [Some(EcnCodepoint::Ect0), None] {
        pair.client.write(1_000);
        pair.run_for(Duration::from_secs(1));
        let seen = pair.client.recorder.take();
        let (_, polled) = batches(&seen).next().expect("it was sent");
        assert_eq!(polled.ecn, expected, "{habit}");
    }
}

#[test]
fn an_ack_is_reported_packet_by_packet_then_as_a_whole_then_its_losses() {
    let habit = broken(
        "acknowledged packets, their end, and then losses",
        "cc_adapter/sums.rs",
    );
    let mut pair = Pair::connected(unchanged);
    let mut left = 0;
    pair.client.filter = Box::new(move |_| {
        left += 1;
        left != 5
    });
    pair.client.write(50_000);
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    let mut losses = 0;
    for call in seen.split(|seen| *seen == Seen::Handled) {
        let at = |what: fn(&Seen) -> bool| call.iter().position(what);
        let last_acked = call
            .iter()
            .rposition(|seen| matches!(seen, Seen::Acked { .. }));
        let end = at(|seen| matches!(seen, Seen::EndOfAcks { .. }));
        let loss = at(|seen| matches!(seen, Seen::Congestion { .. }));
        if let Some(last_acked) = last_acked {
            assert!(Some(last_acked) < end, "{habit}: {call:?}");
        }
        if let Some(loss) = loss {
            losses += 1;
            assert!(end.is_some_and(|end| end < loss), "{habit}: {call:?}");
        }
    }
    assert_eq!(losses, 1, "{habit}");
    for (before, polled) in batches(&seen) {
        let controller = 0;
        let bytes = polled.bytes;
        let is_told = before.ends_with(&[Seen::Sent { controller, bytes }]);
        assert!(is_told, "{habit}, and a batch as one sum: {before:?}");
    }
}

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
        "tap.rs",
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
        "docs/transport.md, Limits of quinn-proto",
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

#[test]
fn a_handshake_key_is_dropped_when_its_packets_are_forgotten_and_the_handshake_confirmed() {
    let habit = broken(
        "the local key goes with the packets of its space",
        "tap/keys.rs, ends_space; driver/transmit_pacing.rs, has_confirmed_handshake",
    );
    let mut pair = Pair::new(unchanged);
    let end = pair.now + Duration::from_secs(1);
    let mut was_confirmed = [false; 2];
    loop {
        let is_over = !pair.step(end);
        for (side, was) in [Side::Client, Side::Server]
            .into_iter()
            .zip(&mut was_confirmed)
        {
            let is_server = side.is_server();
            let end = pair.end(side);
            let dropped = count(&end.recorder.seen(), |seen| {
                *seen == Seen::Dropped(Space::Handshake)
            });
            let Some(conn) = end.started() else {
                continue;
            };
            let is_confirmed =
                !conn.is_handshaking() && (is_server || conn.stats().frame_rx.handshake_done > 0);
            assert_eq!(dropped, u64::from(is_confirmed), "{habit}: {side:?}");
            *was = is_confirmed;
        }
        if is_over {
            break;
        }
    }
    assert_eq!(was_confirmed, [true; 2]);
    for side in [Side::Client, Side::Server] {
        pair.end(side).write(1_000);
        pair.run_for(Duration::from_secs(1));
        let seen = pair.end(side).recorder.take();
        let initial = count(&seen, |seen| *seen == Seen::Dropped(Space::Initial));
        assert_eq!(
            (initial, in_flight(&seen)),
            (1, Some(0)),
            "{habit}: {side:?}"
        );
    }
}

#[test]
fn early_data_that_is_not_accepted_is_forgotten_when_that_is_asked() {
    let habit = broken(
        "0-RTT packets are forgotten where it is asked about them",
        "tap/keys.rs",
    );
    let ([one, other], trust) = Identity::two();
    let mut first = Pair::with(&one, &trust, unchanged);
    first.run_for(Duration::from_secs(1));
    for (server, is_accepted) in [(&one, true), (&other, false)] {
        let mut pair = Pair::with(server, &trust, unchanged);
        assert!(pair.client.conn().has_0rtt());
        pair.client.write(5_000);
        pair.run_for(Duration::from_secs(1));
        let seen = pair.client.recorder.take();
        let asked = Seen::EarlyDataAccepted(Some(is_accepted));
        assert_eq!(count(&seen, |seen| *seen == asked), 1, "{habit}");
        let at = seen.iter().position(|seen| *seen == asked);
        let early = encrypted(&seen[..at.unwrap_or(0)]);
        let early = early.iter().filter(|(space, _, _)| *space == Space::Data);
        let early: u64 = early.map(|(_, _, bytes)| bytes).sum();
        assert!(early > 5_000, "{early}");
        pair.client.conn().ping();
        pair.run_for(Duration::from_secs(1));
        let seen = pair.client.recorder.take();
        let lost = pair.client.conn().stats().path.lost_packets;
        assert_eq!((in_flight(&seen), lost), (Some(0), 0), "{habit}");
    }
}

#[test]
fn a_valid_retry_forgets_the_first_packets_and_early_data() {
    let habit = broken(
        "Initial and 0-RTT packets are forgotten with a Retry",
        "tap/keys.rs",
    );
    let ([identity, _], trust) = Identity::two();
    let mut first = Pair::with(&identity, &trust, unchanged);
    first.run_for(Duration::from_secs(1));
    let mut pair = Pair::with(&identity, &trust, unchanged);
    pair.retries = true;
    pair.client.write(5_000);
    let end = pair.now + Duration::from_secs(1);
    let is_retried = |pair: &Pair| {
        pair.client
            .recorder
            .seen()
            .contains(&Seen::RetryIsValid(true))
    };
    while !is_retried(&pair) {
        assert!(pair.step(end), "{habit}");
    }
    let seen = pair.client.recorder.take();
    let initial = count(&seen, |seen| *seen == Seen::Dropped(Space::Initial));
    assert_eq!(initial, 1, "{habit}: {seen:?}");
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    let lost = pair.client.conn().stats().path.lost_packets;
    assert_eq!((in_flight(&seen), lost), (Some(0), 0), "{habit}");
    // Numbers go on: none is used twice.
    assert!(
        encrypted(&seen).iter().all(|(_, number, _)| *number > 0),
        "{habit}"
    );
}

#[test]
fn losses_are_judged_by_the_time_that_the_timer_is_given() {
    let habit = broken(
        "the loss timer declares lost what is overdue at the time passed to it, by number order",
        "driver/control.rs, announce",
    );
    let threshold = 9.0 / 4.0;
    let mut pair = Pair::connected(|config| {
        config.packet_threshold(u32::MAX).time_threshold(threshold);
    });
    let mut sent = Vec::new();
    let mut left = 0;
    pair.client.filter = Box::new(move |_| {
        left += 1;
        left > 2
    });
    for _ in 0..4 {
        pair.client.write(1_000);
        pair.flush(Side::Client);
        sent.push(pair.now);
        pair.now += Duration::from_millis(1);
    }
    let lost = |pair: &mut Pair| pair.client.conn().stats().path.lost_packets;
    // Only the third one's ACK, so that the fourth is not overtaken.
    let third = pair.intercept(Side::Server).swap_remove(0);
    pair.now = sent[2] + DELAY;
    pair.deliver(Side::Server, &third);
    pair.run_for(DELAY);
    let rtt = pair.client.conn().rtt().max(pair.now - sent[2]);
    let delay = rtt.mul_f32(threshold);
    let now = pair.now;
    assert_eq!(
        pair.client.conn().poll_timeout(),
        Some(sent[0] + delay),
        "{habit}"
    );
    let mut expire_at = |at: Instant| {
        assert!(at > now + DELAY, "that is to come");
        pair.client.conn().handle_timeout(at);
        lost(&mut pair)
    };
    let nano = Duration::from_nanos(1);
    assert_eq!(expire_at(sent[0] + delay - nano), 0, "{habit}");
    assert_eq!(expire_at(sent[0] + delay), 1, "{habit}");
    assert_eq!(expire_at(sent[1] + delay - nano), 1, "{habit}");
    assert_eq!(expire_at(sent[1] + delay), 2, "{habit}");
    // Time goes on from where it was.
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    assert_eq!(
        (in_flight(&seen), pair.client.conn().is_closed()),
        (Some(0), false),
        "{habit}"
    );
}

#[test]
fn a_new_port_clones_the_controller_a_new_address_builds_one_and_failure_returns() {
    let habit = broken(
        "each path has a controller, and every call goes to that of the path in use",
        "cc_adapter.rs, build, clone_box and select_path",
    );
    let mut pair = Pair::connected(unchanged);
    let controllers = |seen: &[Seen]| {
        let used = seen.iter().filter_map(|seen| match *seen {
            Seen::Sent { controller, .. } | Seen::EndOfAcks { controller, .. } => Some(controller),
            _ => None,
        });
        used.last()
    };
    let run = |pair: &mut Pair| {
        pair.client.write(1_000);
        pair.server.write(1_000);
        pair.run_for(Duration::from_secs(2));
        pair.server.recorder.take()
    };
    assert_eq!(controllers(&run(&mut pair)), Some(0), "{habit}");
    pair.server.peer.set_port(CLIENT.port() + 1);
    let seen = run(&mut pair);
    assert!(
        seen.contains(&Seen::Cloned { from: 0, to: 1 }),
        "{habit}: {seen:?}"
    );
    assert_eq!(controllers(&seen), Some(1), "{habit}");
    let known = pair.server.peer;
    pair.server.peer.set_ip([198, 51, 100, 7].into());
    let seen = run(&mut pair);
    assert!(seen.contains(&Seen::Built(2)), "{habit}: {seen:?}");
    assert_eq!(controllers(&seen), Some(2), "{habit}");
    // A third address that nothing reaches.
    pair.server.peer = known;
    pair.client.write(1_000);
    pair.flush(Side::Client);
    pair.client.filter = Box::new(|_| false);
    pair.server.filter = Box::new(|_| false);
    pair.run_for(DELAY);
    pair.server.recorder.take();
    pair.server.write(1_000);
    pair.flush(Side::Server);
    assert_eq!(
        controllers(&pair.server.recorder.take()),
        Some(3),
        "{habit}"
    );
    pair.run_for(Duration::from_secs(5));
    pair.server.recorder.take();
    pair.server.write(1_000);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(
        controllers(&pair.server.recorder.take()),
        Some(2),
        "{habit}"
    );
}

#[test]
fn a_challenge_to_the_former_path_is_not_tracked() {
    let habit = broken(
        "PATH_CHALLENGE to the former path is unasked, unreported, not in flight",
        "driver/transmit_pacing.rs, on_transmit",
    );
    let mut pair = Pair::connected(unchanged);
    pair.client.write(1_000);
    pair.flush(Side::Client);
    let datagram = pair.intercept(Side::Server).swap_remove(0);
    pair.server.peer.set_ip([198, 51, 100, 7].into());
    pair.server.recorder.take();
    let tracked = pair.server.conn().stats().path.sent_packets;
    pair.deliver(Side::Server, &datagram);
    pair.server.recorder.take();
    assert!(pair.poll(Side::Server), "{habit}");
    let seen = pair.server.recorder.take();
    let [Seen::Encrypted { .. }, Seen::Polled(Some(polled))] = &seen[..] else {
        panic!("{habit}: {seen:?}");
    };
    assert_eq!(polled.destination, CLIENT, "{habit}");
    assert_eq!(
        pair.server.conn().remote_address(),
        pair.server.peer,
        "{habit}"
    );
    assert_eq!(
        pair.server.conn().stats().path.sent_packets,
        tracked,
        "{habit}"
    );
}

#[test]
fn many_gaps_in_a_stream_close_the_connection() {
    let habit = broken(
        "between 1,025 and 2,049 gaps end a connection",
        "driver/inbound.rs",
    );
    let mut pair = Pair::connected(wide);
    pair.client.write(6_000_000);
    pair.flush(Side::Client);
    let datagrams = pair.intercept(Side::Server);
    let mut gaps = 0;
    for datagram in datagrams.iter().skip(1).step_by(2) {
        pair.deliver(Side::Server, datagram);
        if pair.server.conn().is_closed() {
            break;
        }
        gaps += 1;
    }
    assert!((1_024..2_049).contains(&gaps), "{habit}: it bears {gaps}");
}

#[test]
fn a_stream_read_without_order_is_not_read_in_order_again() {
    let habit = broken(
        "no reading in order after reading without",
        "driver/inbound.rs",
    );
    let mut pair = Pair::connected(unchanged);
    let id = pair.client.write(1_000);
    pair.run_for(Duration::from_secs(1));
    let mut stream = pair.server.conn().recv_stream(id);
    let mut chunks = stream.read(false).expect("it has data");
    let chunk = chunks.next(usize::MAX).expect("it has data");
    assert_eq!(chunk.map(|chunk| chunk.bytes.len()), Some(1_000));
    let _ = chunks.finalize();
    let again = stream.read(true).err();
    assert_eq!(again, Some(ReadableError::IllegalOrderedRead), "{habit}");
}

#[test]
fn all_streams_that_wait_for_room_are_told_at_once_the_last_one_first() {
    let habit = broken(
        "waiting streams are told at once, last first",
        "driver/fair_queue.rs",
    );
    let mut pair = Pair::connected(|config| {
        config.send_window(3_000);
    });
    let filling = pair.client.write(3_000);
    let waiting = [0; 3].map(|_| {
        let id = pair.client.open();
        let refused = pair.client.conn().send_stream(id).write(&[0]);
        assert!(refused.is_err());
        id
    });
    pair.client.events.clear();
    let end = pair.now + Duration::from_secs(1);
    let told = std::iter::from_fn(|| pair.step(end).then(|| pair.client.writable()));
    let told: Vec<_> = told.filter(|ids| !ids.is_empty()).collect();
    let [first, ..] = &told[..] else {
        panic!("{habit}");
    };
    let first: Vec<_> = first.iter().filter(|id| **id != filling).copied().collect();
    let mut expected = waiting;
    expected.reverse();
    assert_eq!(first, expected, "{habit}");
}

#[test]
fn a_server_forgets_a_client_that_closes_at_once_only_when_idle() {
    let habit = broken(
        "what its first packet closes is not drained by a timer",
        "endpoint/inner.rs, closed_by_its_first_packet",
    );
    let mut pair = Pair::new(unchanged);
    let now = pair.now;
    pair.client.close(now);
    pair.run_for(Duration::from_secs(20));
    let conn = pair.server.conn();
    assert!(conn.is_closed() && !conn.is_drained(), "{habit}");
}

const PING: u8 = 0x01;
