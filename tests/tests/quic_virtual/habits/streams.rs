//! Streams and endpoints.

use super::pair::Pair;
use super::{broken, unchanged, wide};
use quinn_proto::{ReadableError, Side};
use std::time::Duration;

#[test]
fn many_gaps_in_a_stream_close_the_connection() {
    let habit = broken(
        "more than 1,024 pieces behind gaps end a connection, 2,049 at the latest",
        "quinn_proto_habits.rs, MAX_CHUNKS",
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

#[test]
fn a_packet_that_the_frame_retiring_its_id_has_overtaken_is_answered_with_a_reset() {
    let habit = broken(
        "an ID is forgotten with the frame that retires it, and the event is told by its name",
        "quinn_proto_habits.rs, is_retirement",
    );
    let mut pair = Pair::connected(unchanged);
    pair.server.told_to_endpoint.clear();
    pair.client.write(1_000);
    pair.flush(Side::Client);
    let overtaken = pair.intercept(Side::Server);
    pair.client.conn().local_address_changed();
    pair.flush(Side::Client);
    for datagram in pair.intercept(Side::Server) {
        pair.deliver(Side::Server, &datagram);
    }
    let told = &pair.server.told_to_endpoint;
    let retired = |event: &&String| event.starts_with("EndpointEvent(RetireConnectionId(");
    assert_eq!(told.iter().filter(retired).count(), 1, "{habit}: {told:?}");
    let before = pair.server.conn().stats().udp_rx.datagrams;
    assert!(pair.intercept(Side::Client).is_empty());
    for datagram in &overtaken {
        pair.deliver(Side::Server, datagram);
    }
    let after = pair.server.conn().stats().udp_rx.datagrams;
    let resets = pair.intercept(Side::Client).len();
    assert_eq!((after, resets), (before, overtaken.len()), "{habit}");
}
