//! When quinn-proto forgets what is in flight without having heard of it.

use super::pair::{DELAY, Identity, MTU, Pair};
use super::recorder::{Seen, Space};
use super::{broken, count, encrypted, in_flight, unchanged, wide};
use quinn_proto::Side;
use std::time::Duration;

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
    let first_flight = encrypted(&seen);
    pair.run_for(Duration::from_secs(1));
    let seen = pair.client.recorder.take();
    let lost = pair.client.conn().stats().path.lost_packets;
    assert_eq!((in_flight(&seen), lost), (Some(0), 0), "{habit}");
    // Numbers go on: none is used twice.
    let mut after = encrypted(&seen).into_iter();
    let is_new = after.all(|(space, number, _)| {
        let mut before = first_flight.iter();
        before.all(|(other, earlier, _)| *other != space || *earlier < number)
    });
    assert!(is_new && !first_flight.is_empty(), "{habit}");
}

#[test]
fn of_packets_behind_the_last_ack_eliciting_one_1001_are_waited_for() {
    let habit = broken(
        "1,001 packets that are not ack-eliciting stay in flight",
        "quinn_proto_habits.rs, MAX_TAIL",
    );
    let mut pair = Pair::connected(|config| {
        wide(config);
        // ACKs count in flight then.
        config.pad_to_mtu(true);
    });
    pair.client.write(3_000_000);
    pair.flush(Side::Client);
    for datagram in pair.intercept(Side::Server) {
        pair.deliver(Side::Server, &datagram);
        pair.flush(Side::Server);
    }
    assert!(pair.intercept(Side::Client).len() > 1_100);
    pair.server.write(1);
    pair.flush(Side::Server);
    let newest = pair.intercept(Side::Client).swap_remove(0);
    pair.deliver(Side::Client, &newest);
    pair.server.recorder.take();
    pair.run_for(DELAY);
    let seen = pair.server.recorder.take();
    let first = seen
        .iter()
        .find(|seen| matches!(seen, Seen::EndOfAcks { .. }));
    let expected = Seen::EndOfAcks {
        controller: 0,
        in_flight: 1_001 * MTU,
    };
    assert_eq!(first, Some(&expected), "{habit}");
}
