use super::*;
use crate::tap::facts::MAX_ACKS;
use crate::tap::frames::{put_varint, varint_len};
use quinn_proto::{Dir, Side};

fn varints(values: &[u64]) -> Vec<u8> {
    let encoded = values.iter().flat_map(|&value| {
        let mut bytes = vec![0; varint_len(value)];
        put_varint(value, &mut bytes);
        bytes
    });
    encoded.collect()
}

/// An ACK frame of `smallest` to `largest`, delayed by `delay`.
fn ack(smallest: u64, largest: u64, delay: u64) -> Vec<u8> {
    varints(&[2, largest, delay, 0, largest - smallest])
}

/// An ACK frame of so many single packets, up to `largest`.
fn ranges(largest: u64, count: u64) -> Vec<u8> {
    let mut values = vec![2, largest, 0, count - 1, 0];
    values.extend((1..count).flat_map(|_| [0, 0]));
    varints(&values)
}

/// A tap that has seen packets of application data leave with the numbers below `next`.
fn tap(next: u64) -> Tap {
    let tap = Tap::default();
    for space in [Space::Initial, Space::Handshake, Space::Data] {
        tap.on_sent(space, next - 1, &[0; 30], &[1]);
    }
    tap.take_sent(&mut Vec::new(), None);
    tap
}

fn received(tap: &Tap) -> Received {
    tap.take_received(std::mem::take).unwrap_or_default()
}

/// What the peer's transport parameters say: an identifier and a value each (RFC 9000 §18).
fn parameters(values: &[(u64, u64)]) -> Vec<u8> {
    let encoded = values.iter().flat_map(|&(id, value)| {
        let value = varints(&[value]);
        [varints(&[id, value.len() as u64]), value].concat()
    });
    encoded.collect()
}

fn delay_of(tap: &Tap, space: Space, delay: u64) -> Duration {
    tap.on_received(space, &ack(0, 0, delay));
    received(tap).acks[0].delay
}

#[test]
fn the_peers_delay_is_in_units_of_its_exponent_and_no_more_than_its_greatest() {
    let tap = tap(1);
    let micros = Duration::from_micros;
    assert_eq!(delay_of(&tap, Space::Data, 1_000), micros(8_000));
    assert_eq!(delay_of(&tap, Space::Data, 100_000), micros(25_000));

    // Unknown ones before and between them are passed over.
    tap.on_parameters(&parameters(&[
        (0x21, 7),
        (0x0a, 5),
        (1 << 40, 9),
        (0x0b, 60),
    ]));
    assert_eq!(delay_of(&tap, Space::Data, 1_000), micros(32_000));
    assert_eq!(delay_of(&tap, Space::Data, 100_000), micros(60_000));
    tap.on_received(Space::Data, &ack(0, 0, 0));
    assert_eq!(received(&tap).max_ack_delay, micros(60_000));
    assert_eq!(delay_of(&tap, Space::Data, (1 << 62) - 1), micros(60_000));
    for space in [Space::Initial, Space::Handshake] {
        assert_eq!(delay_of(&tap, space, 1_000), Duration::ZERO);
    }
}

#[test]
fn parameters_that_are_left_out_have_their_defaults_whatever_was_remembered() {
    let tap = tap(1);
    tap.on_parameters(&parameters(&[(0x0a, 10), (0x0b, 100)]));
    tap.on_parameters(&parameters(&[(0x01, 30_000)]));
    assert_eq!(
        delay_of(&tap, Space::Data, 1_000),
        Duration::from_micros(8_000)
    );
    assert_eq!(
        delay_of(&tap, Space::Data, 100_000),
        Duration::from_millis(25)
    );
}

#[test]
fn parameters_that_break_off_change_nothing_and_exponents_are_bounded() {
    let tap = tap(1);
    let encoded = parameters(&[(0x0a, 60)]);
    for end in 0..encoded.len() {
        tap.on_parameters(&encoded[..end]);
        let delay = delay_of(&tap, Space::Data, 1);
        assert_eq!(delay, Duration::from_micros(8), "{end} bytes");
    }
    tap.on_parameters(&[parameters(&[(0x0b, 10_000)]), encoded].concat());
    let delay = delay_of(&tap, Space::Data, 1);
    assert_eq!(delay, Duration::from_micros(1 << 20));
}

#[test]
fn what_has_left_is_taken_once_and_in_order() {
    let tap = Tap::default();
    tap.on_sent(Space::Initial, 0, &[0; 1_200], &[6]);
    tap.on_sent(Space::Data, 7, &[0; 50], &ack(0, 0, 0));
    let mut sent = Vec::new();
    tap.take_sent(&mut sent, None);
    let figures = |sent: &Sent| (sent.space, sent.number, sent.bytes, sent.content);
    let sent: Vec<_> = sent.iter().map(figures).collect();
    assert_eq!(
        sent,
        [
            (Space::Initial, 0, 1_200, Content::AckEliciting),
            (Space::Data, 7, 50, Content::NotInFlight),
        ]
    );
    let mut sent = Vec::new();
    tap.take_sent(&mut sent, None);
    assert!(sent.is_empty());
}

#[test]
fn what_has_come_is_taken_once_and_in_order() {
    let tap = tap(100);
    assert!(
        tap.take_received(std::mem::take).is_none(),
        "nothing has come"
    );
    tap.on_received(Space::Data, &[1, 0, 0]);
    assert!(
        tap.take_received(std::mem::take).is_none(),
        "no ACK has come"
    );
    tap.on_received(Space::Handshake, &ack(3, 5, 0));
    tap.on_received(Space::Data, &[ranges(90, 3), ack(10, 20, 0)].concat());
    tap.on_discarded(Space::Initial);
    let received = tap.take_received(std::mem::take).expect("it has come");
    assert_eq!(received.discarded, [true, false, false]);
    let acks = received.acks.iter();
    let acks: Vec<_> = acks
        .map(|ack| (ack.space, ack.largest, ack.ranges))
        .collect();
    let expected = [
        (Space::Handshake, 5, 1),
        (Space::Data, 90, 3),
        (Space::Data, 20, 1),
    ];
    assert_eq!(acks, expected);
    let ranges = [(3, 5), (90, 90), (88, 88), (86, 86), (10, 20)];
    assert_eq!(received.ranges, ranges);
    assert_eq!(received.frames, 3);
    assert!(tap.take_received(std::mem::take).is_none());
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_is_not_kept() {
    let tap = tap(10);
    for largest in [10, 11, 1 << 40, (1 << 62) - 1] {
        let payload = [ack(0, largest, 0), ack(0, 9, 0)].concat();
        tap.on_received(Space::Data, &payload);
        let received = received(&tap);
        assert_eq!(received.acks, [], "{largest}");
        assert_eq!(received.ranges, [], "{largest}");
    }
    tap.on_received(Space::Data, &ack(0, 9, 0));
    assert_eq!(received(&tap).ranges, [(0, 9)]);
    // In another space other numbers have been sent.
    tap.on_sent(Space::Data, 50, &[0; 30], &[1]);
    tap.on_received(Space::Handshake, &ack(0, 50, 0));
    assert!(received(&tap).acks.is_empty());
}

#[test]
fn a_frame_that_proves_malformed_leaves_nothing_behind() {
    let tap = tap(100);
    let payload = [ack(90, 95, 0), varints(&[2, 50, 0, 2, 3, 1, 1, 60, 1])].concat();
    tap.on_received(Space::Data, &payload);
    let received = received(&tap);
    assert_eq!(received.ranges, [(90, 95)]);
    assert_eq!(received.frames, 1);
}

#[test]
fn no_more_packets_are_kept_than_a_driver_takes() {
    let tap = Tap::default();
    for number in 0..10_000 {
        tap.on_sent(Space::Data, number, &[0; 30], &[1]);
    }
    let mut sent = Vec::new();
    tap.take_sent(&mut sent, None);
    assert_eq!(sent.len(), MAX_SENT);
    assert_eq!(sent[MAX_SENT - 1].number, MAX_SENT as u64 - 1);
    // They have been sent all the same.
    tap.on_received(Space::Data, &ack(0, 9_999, 0));
    assert_eq!(received(&tap).ranges, [(0, 9_999)]);
}

#[test]
fn of_ranges_beyond_the_limit_the_oldest_are_left_out() {
    let tap = tap(100_000);
    tap.on_received(Space::Data, &ranges(99_999, 5_000));
    tap.on_received(Space::Data, &ranges(99_999, 5_000));
    let received = received(&tap);
    let counts: Vec<_> = received.acks.iter().map(|ack| ack.ranges).collect();
    assert_eq!(counts, [MAX_RANGES, 0]);
    assert_eq!(received.ranges.len(), MAX_RANGES);
    assert_eq!(received.ranges[0], (99_999, 99_999));
    let last = 99_999 - 2 * (MAX_RANGES as u64 - 1);
    assert_eq!(received.ranges[MAX_RANGES - 1], (last, last));
}

#[test]
fn of_frames_beyond_the_limit_the_largest_is_kept() {
    let tap = tap(100_000);
    let old: Vec<u8> = (0..200).flat_map(|_| ack(5, 7, 0)).collect();
    tap.on_received(Space::Data, &old);
    tap.on_received(Space::Data, &ack(100, 200, 0));
    tap.on_received(Space::Data, &old);
    tap.on_received(Space::Handshake, &ack(300, 400, 0));
    let received = received(&tap);
    assert_eq!(received.acks.len(), MAX_ACKS);
    let last = received.acks[MAX_ACKS - 1];
    assert_eq!(
        (last.space, last.largest, last.ranges),
        (Space::Data, 200, 1)
    );
    assert_eq!(received.ranges.len(), MAX_ACKS);
    assert_eq!(received.ranges[MAX_ACKS - 1], (100, 200));
    assert_eq!(received.frames, 402);
}

#[test]
fn memory_is_bounded_whatever_comes_between_two_calls() {
    let tap = tap(100_000);
    for _ in 0..1_000 {
        tap.on_received(Space::Data, &ranges(99_999, 700));
        tap.on_received(Space::Data, &ack(5, 7, 0));
    }
    let received = received(&tap);
    assert!(received.acks.capacity() <= MAX_ACKS);
    assert!(received.ranges.capacity() <= 2 * MAX_RANGES);
}

#[test]
fn only_application_data_of_watched_streams_counts_as_departed() {
    let tap = Tap::default();
    let stream = StreamId::new(Side::Client, Dir::Uni, 0);
    let send = |space, number, packet: &[u8]| tap.on_sent(space, number, packet, packet);
    send(Space::Data, 0, &[0x08, 2, 1, 1, 1]);
    tap.watch_stream(stream);
    assert_eq!(tap.departed(stream), 0);
    send(Space::Handshake, 0, &[0x0c, 2, 50, 1]);
    send(Space::Data, 1, &[0x08, 2, 1, 2, 3]);
    assert_eq!(tap.departed(stream), 3);
    tap.on_discarded(Space::Handshake);
    assert_eq!(tap.departed(stream), 3);
    // 0-RTT was rejected.
    tap.on_discarded(Space::Data);
    assert_eq!(tap.departed(stream), 0);
    send(Space::Data, 2, &[0x08, 2, 1]);
    tap.forget_stream(stream);
    send(Space::Data, 3, &[0x0c, 2, 50, 1]);
    assert_eq!(tap.departed(stream), 0);
}
