//! What quinn-proto reports of ACKs, marks, losses and paths, and when.

use super::pair::{CLIENT, DELAY, Datagram, Pair};
use super::recorder::Seen;
use super::{batches, broken, in_flight, unchanged};
use quinn_proto::{EcnCodepoint, Side};
use std::time::{Duration, Instant};

#[test]
fn only_a_ce_mark_is_a_congestion_event_of_no_bytes() {
    let habit = broken(
        "a loss of no bytes is a CE mark",
        "quinn_proto_habits.rs, is_ce_mark",
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
    // The fourth was not overtaken by an acknowledged one.
    assert_eq!(expire_at(sent[3] + delay), 2, "{habit}");
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
        let mut used = seen.iter().filter_map(|seen| match *seen {
            Seen::Sent { controller, .. } | Seen::EndOfAcks { controller, .. } => Some(controller),
            _ => None,
        });
        used.next_back()
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
