use super::*;
use proptest::prelude::*;

/// What was read of an ACK frame: the frame and its ranges.
type Read = (AckFrame, Vec<(u64, u64)>);

fn acks(payload: &[u8]) -> Vec<Read> {
    let mut frames = Frames::new(payload);
    let mut acks = Vec::new();
    while let Some(has_ecn) = frames.find_ack() {
        let mut ranges = Vec::new();
        let range = |smallest, largest| ranges.push((smallest, largest));
        let Some((frame, _)) = frames.ack(has_ecn, range) else {
            break;
        };
        acks.push((frame, ranges));
    }
    acks
}

/// A variable-length integer of at least `length` bytes.
fn int(value: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0; varint_len(value).max(length)];
    put_varint(value, &mut out);
    out
}

fn ints(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| int(*value, 1)).collect()
}

/// ACK frames as RFC 9000 §19.3 writes them, from ranges in descending order; each integer in at
/// least `length` bytes.
fn encode((frame, ranges): &Read, length: usize) -> Vec<u8> {
    let (smallest, largest) = ranges[0];
    let mut values = vec![
        if frame.ecn.is_some() { ACK_ECN } else { ACK },
        frame.largest,
        frame.delay,
        ranges.len() as u64 - 1,
        largest - smallest,
    ];
    for pair in ranges.windows(2) {
        let [(above, _), (smallest, largest)] = pair else {
            panic!("windows of two");
        };
        values.extend([above - largest - 2, largest - smallest]);
    }
    if let Some(EcnCounts { ect0, ect1, ce }) = frame.ecn {
        values.extend([ect0, ect1, ce]);
    }
    let encoded = values.iter().flat_map(|value| int(*value, length));
    encoded.collect()
}

fn ack(ranges: &[(u64, u64)], ecn: Option<EcnCounts>) -> Read {
    let frame = AckFrame {
        largest: ranges[0].1,
        delay: 77,
        ecn,
    };
    (frame, ranges.to_vec())
}

const COUNTS: EcnCounts = EcnCounts {
    ect0: 70,
    ect1: 1,
    ce: 20_000,
};

/// Each type of frame but ACK, in an encoding that ends by itself.
fn other_frames() -> Vec<(&'static str, Vec<u8>)> {
    let with = |head: &[u64], tail: &[u8]| [ints(head), tail.to_vec()].concat();
    // Data that would be an ACK frame if it were read as frames.
    let data = encode(&ack(&[(9, 9)], None), 1);
    let len = data.len() as u64;
    vec![
        ("PADDING", vec![0; 3]),
        ("PING", vec![1]),
        ("RESET_STREAM", ints(&[RESET_STREAM, 4, 70, 70_000])),
        ("STOP_SENDING", ints(&[STOP_SENDING, 4, 7])),
        ("CRYPTO", with(&[CRYPTO, 300, len], &data)),
        ("NEW_TOKEN", with(&[NEW_TOKEN, len], &data)),
        ("STREAM with length", with(&[STREAM | 2, 4, len], &data)),
        ("STREAM, last", with(&[STREAM | 3, 4, len], &data)),
        (
            "STREAM, offset",
            with(&[STREAM | 6, 4, 1 << 40, len], &data),
        ),
        ("STREAM, all", with(&[STREAM | 7, 4, 5, len], &data)),
        ("MAX_DATA", ints(&[MAX_DATA, 1 << 50])),
        ("MAX_STREAM_DATA", ints(&[MAX_STREAM_DATA, 4, 1 << 50])),
        ("MAX_STREAMS", ints(&[MAX_STREAMS_BIDI, 100])),
        ("MAX_STREAMS, one way", ints(&[MAX_STREAMS_UNI, 100])),
        ("DATA_BLOCKED", ints(&[DATA_BLOCKED, 1 << 30])),
        ("STREAM_DATA_BLOCKED", ints(&[STREAM_DATA_BLOCKED, 4, 9])),
        ("STREAMS_BLOCKED", ints(&[STREAMS_BLOCKED_BIDI, 100])),
        ("STREAMS_BLOCKED, one way", ints(&[STREAMS_BLOCKED_UNI, 1])),
        (
            "NEW_CONNECTION_ID",
            with(
                &[NEW_CONNECTION_ID, 7, 2],
                &[&[8][..], &[2; 8 + 16]].concat(),
            ),
        ),
        ("RETIRE_CONNECTION_ID", ints(&[RETIRE_CONNECTION_ID, 7])),
        ("PATH_CHALLENGE", with(&[PATH_CHALLENGE], &[2; 8])),
        ("PATH_RESPONSE", with(&[PATH_RESPONSE], &[2; 8])),
        (
            "CONNECTION_CLOSE",
            with(&[CONNECTION_CLOSE, 10, 2, len], &data),
        ),
        (
            "CONNECTION_CLOSE, application",
            with(&[APPLICATION_CLOSE, 10, len], &data),
        ),
        ("HANDSHAKE_DONE", vec![0x1e]),
        ("IMMEDIATE_ACK", vec![0x1f]),
        ("ACK_FREQUENCY", ints(&[ACK_FREQUENCY, 1, 2, 25_000, 3])),
        (
            "DATAGRAM with length",
            with(&[DATAGRAM_WITH_LENGTH, len], &data),
        ),
    ]
}

#[test]
fn an_ack_behind_any_other_frame_is_found() {
    let expected = ack(&[(90, 100)], Some(COUNTS));
    for (name, frame) in other_frames() {
        let payload = [frame, encode(&expected, 1), vec![1]].concat();
        assert_eq!(acks(&payload), std::slice::from_ref(&expected), "{name}");
    }
    let all: Vec<u8> = other_frames()
        .into_iter()
        .flat_map(|(_, frame)| frame)
        .collect();
    let payload = [all.clone(), encode(&expected, 1), all].concat();
    assert_eq!(acks(&payload), [expected]);
}

#[test]
fn a_frame_that_breaks_off_ends_the_reading() {
    for (name, frame) in other_frames() {
        for end in 1..frame.len() {
            let read = acks(&frame[..end]);
            // Padding may end anywhere.
            assert_eq!(read, [], "{name} after {end} bytes");
            let mut frames = Frames::new(&frame[..end]);
            let kind = frames.next_kind();
            let is_whole = kind.and_then(|kind| frames.skip(kind)).is_some();
            assert_eq!(is_whole, name == "PADDING", "{name} after {end} bytes");
        }
    }
}

#[test]
fn what_stands_in_the_data_of_a_frame_without_length_is_no_ack() {
    let ack = encode(&ack(&[(0, 9)], None), 1);
    for head in [
        ints(&[STREAM, 4]),
        ints(&[STREAM | 1, 4]),
        ints(&[STREAM | STREAM_OFFSET, 4, 100]),
        ints(&[DATAGRAM]),
    ] {
        let payload = [head.clone(), ack.clone()].concat();
        assert_eq!(acks(&payload), [], "{head:?}");
    }
}

#[test]
fn nothing_is_read_behind_a_frame_of_unknown_type() {
    let ack = encode(&ack(&[(0, 9)], None), 1);
    for kind in [0x20, 0x2f, 0x32, 0x3f, 0xae, 0xb0, 1 << 40] {
        assert_eq!(acks(&[int(kind, 1), ack.clone()].concat()), [], "{kind:#x}");
    }
}

#[test]
fn ranges_come_from_the_largest_number_down() {
    // RFC 9000 §19.3.1: each gap is the number of unacknowledged packets less one.
    let payload = [2, 50, 0, 2, 3, 0, 0, 6, 10];
    let [(frame, ranges)] = &acks(&payload)[..] else {
        panic!("one frame");
    };
    assert_eq!((frame.largest, frame.delay, frame.ecn), (50, 0, None));
    assert_eq!(ranges[..], [(47, 50), (45, 45), (27, 37)]);
}

#[test]
fn numbers_below_zero_make_a_frame_malformed() {
    for (name, payload) in [
        ("the first range", &[2, 5, 0, 0, 6][..]),
        ("a gap", &[2, 5, 0, 1, 0, 4, 0]),
        (
            "a gap and the two that it stands for",
            &[2, 5, 0, 1, 4, 0, 0],
        ),
        ("a range behind a gap", &[2, 5, 0, 1, 1, 1, 2]),
    ] {
        assert_eq!(acks(payload), [], "{name}");
    }
    assert_eq!(acks(&[2, 5, 0, 1, 1, 1, 1])[0].1, [(4, 5), (0, 1)]);
}

#[test]
fn a_count_of_ranges_beyond_the_frame_is_malformed() {
    for count in [2, 1 << 20, (1 << 62) - 1] {
        let payload = [ints(&[ACK, 50, 0, count, 0]), ints(&[1, 1])].concat();
        assert_eq!(acks(&payload), [], "{count}");
    }
}

#[test]
fn the_ecn_counts_are_found_where_they_stand() {
    let expected = ack(&[(90, 100), (1, 2)], Some(COUNTS));
    for length in [1, 2, 4, 8] {
        let frame = encode(&expected, length);
        let counts = [COUNTS.ect0, COUNTS.ect1, COUNTS.ce];
        let counts = counts.map(|count| varint_len(count).max(length));
        let payload = [vec![1], frame.clone(), vec![1, 1]].concat();
        let mut frames = Frames::new(&payload);
        assert_eq!(frames.find_ack(), Some(true));
        let (_, span) = frames.ack(true, |_, _| {}).unwrap();
        let end = 1 + frame.len();
        assert_eq!(span, end - counts.iter().sum::<usize>()..end);
    }
}

#[test]
fn a_packet_counts_as_what_its_frames_are() {
    let ack = encode(&ack(&[(0, 9)], None), 1);
    let close = [ints(&[CONNECTION_CLOSE, 0, 0, 2]), vec![1, 1]].concat();
    let with = |frames: &[&[u8]]| Content::of(&frames.concat());
    assert_eq!(with(&[&ack]), Content::NotInFlight);
    assert_eq!(with(&[&ack, &close]), Content::NotInFlight);
    assert_eq!(with(&[&ack, &[0, 0]]), Content::Padded);
    assert_eq!(with(&[&[0, 0], &ack]), Content::Padded);
    assert_eq!(with(&[&ack, &[0, 0], &[1]]), Content::AckEliciting);
    for (name, frame) in other_frames() {
        let expected = match name {
            "PADDING" => Content::Padded,
            _ if name.starts_with("CONNECTION_CLOSE") => Content::NotInFlight,
            _ => Content::AckEliciting,
        };
        assert_eq!(with(&[&ack, &frame]), expected, "{name}");
    }
}

#[test]
fn integers_are_written_as_they_are_read() {
    for value in [
        0,
        63,
        64,
        16_383,
        16_384,
        (1 << 30) - 1,
        1 << 30,
        (1 << 62) - 1,
    ] {
        for length in [1, 2, 4, 8] {
            let bytes = int(value, length);
            assert_eq!(
                varint(&bytes),
                Some((value, bytes.len())),
                "{value} in {length}"
            );
            assert_eq!(varint(&bytes[..bytes.len() - 1]), None);
        }
    }
    // The examples of RFC 9000 §A.1, one of them not minimal.
    assert_eq!(varint(&[0x7b, 0xbd]), Some((15_293, 2)));
    assert_eq!(varint(&[0x25]), Some((37, 1)));
    assert_eq!(varint(&[0x40, 0x25]), Some((37, 2)));
    assert_eq!(varint(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, 4)));
}

/// ACK frames with up to 40 ranges anywhere in the space of numbers.
fn any_ack() -> impl Strategy<Value = Read> {
    let size = || prop_oneof![4 => 0_u64..3, 2 => 0_u64..1_000, 1 => 0_u64..1 << 56];
    let count = || prop_oneof![0_u64..1_000, 0_u64..1 << 62];
    (
        0_u64..1 << 61,
        prop::collection::vec((size(), size()), 1..40),
        0_u64..1 << 62,
        prop::option::of((count(), count(), count())),
    )
        .prop_map(|(below, sizes, delay, ecn)| {
            let mut at = below;
            let mut ranges = Vec::new();
            for (gap, size) in sizes {
                let smallest = at + gap;
                ranges.insert(0, (smallest, smallest + size));
                at = smallest + size + 2;
            }
            let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
            let largest = ranges[0].1;
            (
                AckFrame {
                    largest,
                    delay,
                    ecn,
                },
                ranges,
            )
        })
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        frames in prop::collection::vec((any_ack(), 0_usize..28), 0..5),
        length in prop::sample::select(vec![1, 2, 4, 8]),
    ) {
        let others = other_frames();
        let mut payload = Vec::new();
        for (ack, other) in &frames {
            payload.extend_from_slice(&others[other % others.len()].1);
            payload.extend(encode(ack, length));
        }
        let expected: Vec<Read> = frames.into_iter().map(|(ack, _)| ack).collect();
        prop_assert_eq!(acks(&payload), expected);
    }

    #[test]
    fn an_ack_that_breaks_off_is_not_read(ack in any_ack(), length in 1_usize..3) {
        let payload = encode(&ack, length);
        for end in 0..payload.len() {
            prop_assert!(acks(&payload[..end]).is_empty());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        for (frame, ranges) in acks(&payload) {
            prop_assert_eq!(ranges[0].1, frame.largest);
            let descend = |pair: &[(u64, u64)]| pair[1].1 + 1 < pair[0].0;
            prop_assert!(ranges.windows(2).all(descend));
            prop_assert!(ranges.iter().all(|(smallest, largest)| smallest <= largest));
        }
        Content::of(&payload);
    }
}
