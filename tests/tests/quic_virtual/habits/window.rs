//! What quinn-proto asks before it sends, and what it makes of the answers.

use super::pair::{MTU, Pair};
use super::recorder::Seen;
use super::{batches, broken, encrypted, questions, unchanged, wide};
use quinn_proto::Side;
use std::time::Duration;

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
    assert_eq!(questions(&seen), 0, "{habit}: {seen:?}");
}

#[test]
fn a_datagram_leaves_while_flight_and_its_size_stay_below_the_window() {
    let habit = broken(
        "in flight + packet < window",
        "quinn_proto_habits.rs, window_admitting",
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
    let habit = broken(
        "a window of 1 admits ACKs alone",
        "quinn_proto_habits.rs, ADMITS_NOTHING",
    );
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
        "quinn_proto_habits.rs, NO_PACING",
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
    // Otherwise a bucket of 256 packets, which was full and is filled once more.
    let paced = at_once((1 << 32) - 1);
    assert!(paced <= 2 * 256, "{habit}: a burst of {paced}");
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
    // Of Initial, Handshake and 1-RTT.
    assert_eq!(questions(&seen), 3, "{habit}: {seen:?}");
}

#[test]
fn an_mtu_probe_leaves_unasked_and_unreported_and_is_known_by_its_size() {
    let habit = broken(
        "MTU probes ask nothing, are alone in a batch, and alone larger than the MTU",
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
    pair.run_for(Duration::from_millis(100));
    assert!(pair.server.conn().is_closed());
}
