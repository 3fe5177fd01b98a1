use super::*;
use crate::media::Encoder;
use crate::plan::{DEFAULT_LATE, Datagrams, Direction, Extras, Limit};
use bytes::{Bytes, BytesMut};
use paceline::{DatagramOptions, DatagramPriority};
use proptest::prelude::*;
use units::Bandwidth;

const CLOCK: u64 = 7;

fn plan() -> Plan {
    Plan {
        direction: Direction::Forward,
        limit: Limit::Time(Duration::from_secs(3)),
        omit: Duration::ZERO,
        streams: 1,
        length: 1,
        rate: None,
        client_congestion: String::new(),
        server_congestion: String::new(),
        window: 1,
        step: Duration::from_millis(100),
        extras: Extras {
            datagrams: Some(Datagrams {
                size: Some(MEDIA_DATAGRAM),
            }),
            media: Some(Media {
                video: "video:2400kbit,10fps,key=1s".parse().unwrap(),
                late: DEFAULT_LATE,
                bulk: false,
            }),
            ..Extras::default()
        },
    }
}

fn ledger() -> FrameLedger {
    FrameLedger::new(&plan(), CLOCK).unwrap()
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The datagrams of the first `frames` frames, each with the time when it is made.
fn frames(frames: usize, begin: Duration) -> Vec<(Duration, Vec<Bytes>)> {
    let noise = Bytes::from(vec![0; 2_000]);
    let mut encoder = Encoder::new(&plan(), begin, CLOCK, noise).unwrap();
    let frame = |_| {
        let due = encoder.due();
        (due, encoder.frame(due, Bandwidth::ZERO))
    };
    (0..frames).map(frame).collect()
}

#[test]
fn datagrams_of_key_frames_are_urgent() {
    let noise = Bytes::from(vec![0; 2_000]);
    let mut encoder = Encoder::new(&plan(), Duration::ZERO, CLOCK, noise).unwrap();
    let usual = DatagramOptions::default().ttl(DEFAULT_LATE);
    let urgent = usual.priority(DatagramPriority::Urgent);
    for frame in 0..21 {
        encoder.frame(encoder.due(), Bandwidth::ZERO);
        let expected = if frame % 10 == 0 { urgent } else { usual };
        assert_eq!(encoder.options(), expected, "frame {frame}");
    }
}

fn header(frame: u32, index: u16, count: u16) -> Bytes {
    let mut bytes = BytesMut::new();
    let header = Header {
        number: 1,
        departure: Duration::ZERO,
        frame,
        index,
        count,
        birth: Duration::ZERO,
        clock: CLOCK,
    };
    header.write(&mut bytes);
    bytes.freeze()
}

#[test]
fn a_frame_is_complete_with_its_last_datagram_in_any_order_and_number() {
    let mut ledger = ledger();
    for (born, datagrams) in frames(30, Duration::ZERO) {
        // All of them twice, the last one first, a millisecond apart.
        let twice = datagrams.iter().rev().flat_map(|datagram| [datagram; 2]);
        for (datagram, index) in twice.zip(0..) {
            ledger
                .arrive(datagram, born + millis(20 + index / 2))
                .unwrap();
        }
    }
    let report = ledger.report(Duration::ZERO);
    // A second of three is too close to the end.
    // 300,000 bytes a second in 14 parts, of which the key frame has five: 107,142 and 21,428, in
    // 94 datagrams and 19. The two key frames are late.
    assert_eq!((report.judged, report.complete, report.late), (20, 20, 2));
    let latency = report.latency.unwrap();
    assert_eq!(
        (latency.p50, latency.max),
        (millis(20 + 18), millis(20 + 93))
    );
    assert!(report.is_clock_shared && ledger.open.is_empty());
}

#[test]
fn what_is_missing_is_lost_and_the_picture_stands_still() {
    let mut ledger = ledger();
    for (frame, (born, datagrams)) in frames(30, Duration::ZERO).into_iter().enumerate() {
        let missing = usize::from([4, 5].contains(&frame));
        for datagram in &datagrams[missing..] {
            // The tenth frame is late, the eleventh later than anybody waits.
            let late = [0, 0, 150, 1_001][frame.clamp(8, 11) - 8];
            let is_one = [10, 11].contains(&frame);
            ledger.arrive(datagram, born + millis(20 + if is_one { late } else { 0 }));
        }
    }
    let report = ledger.report(Duration::ZERO);
    assert_eq!((report.judged, report.complete, report.late), (20, 17, 1));
    // From the frame before the two to the one after them.
    assert_eq!(report.freeze, millis(300));
    let nothing = FrameLedger::new(&plan(), CLOCK).unwrap();
    let nothing = nothing.report(Duration::ZERO);
    assert_eq!((nothing.complete, nothing.latency), (0, None));
    assert_eq!(nothing.freeze, millis(1_900));
}

#[test]
fn another_clock_is_set_by_the_fastest_datagram() {
    let mut ledger = FrameLedger::new(&plan(), CLOCK + 1).unwrap();
    // Their clock is an hour ahead, and the way takes 30 ms.
    let ahead = Duration::from_secs(3_600);
    for (born, datagrams) in frames(30, ahead) {
        let is_slow = born == ahead + millis(500);
        for datagram in &datagrams {
            ledger.arrive(
                datagram,
                born - ahead + millis(if is_slow { 90 } else { 30 }),
            );
        }
    }
    let report = ledger.report(millis(30));
    let latency = report.latency.unwrap();
    assert!(!report.is_clock_shared);
    assert_eq!((latency.p50, latency.max), (millis(30), millis(90)));
}

#[test]
fn a_frame_is_tallied_once_when_its_end_is_known() {
    let mut ledger = ledger();
    let mut arrivals = Vec::new();
    for (frame, (born, datagrams)) in frames(30, Duration::ZERO).into_iter().enumerate() {
        let (missing, took) = match frame {
            4 => (1, 20),
            10 => (0, 150),
            11 => (0, 1_001),
            _ => (0, 20),
        };
        let came = datagrams.into_iter().skip(missing);
        arrivals.extend(came.map(|datagram| (born + millis(took), datagram)));
    }
    arrivals.sort_by_key(|(at, _)| *at);
    let mut tallied = |from: u64, to: u64| {
        let mut before = ledger.tally(millis(from), Duration::ZERO);
        for tenth in from / 100 + 1..=to / 100 {
            let now = millis(100 * tenth);
            let come = arrivals.iter().take_while(|(at, _)| *at < now).count();
            for (at, datagram) in arrivals.drain(..come) {
                ledger.arrive(&datagram, at).unwrap();
            }
            let after = ledger.tally(now, Duration::ZERO);
            assert_eq!(after.since(before).then(before), after);
            before = after;
        }
        let after = ledger.tally(millis(to), Duration::ZERO);
        (after.complete, after.late, after.lost)
    };
    // The frame with a gap is missing, and not yet given up.
    assert_eq!(tallied(0, 1_000), (9, 0, 0));
    assert_eq!(tallied(1_000, 1_400), (12, 1, 0));
    // It was due at 400 ms, and is given up a second later; that of 1,100 ms came too late.
    assert_eq!(tallied(1_400, 1_500), (13, 1, 1));
    assert_eq!(tallied(1_500, 10_000), (28, 1, 2));
    // The report leaves out the last second, and agrees on the rest.
    let report = ledger.report(Duration::ZERO);
    assert_eq!((report.judged, report.complete, report.late), (20, 18, 1));
}

#[test]
fn frames_of_another_clock_are_given_up_by_this_sides_time() {
    let mut ledger = FrameLedger::new(&plan(), CLOCK + 1).unwrap();
    let ahead = Duration::from_secs(3_600);
    for (born, datagrams) in frames(2, ahead) {
        let all_but_the_last_frames_first = usize::from(born > ahead);
        for datagram in &datagrams[all_but_the_last_frames_first..] {
            ledger.arrive(datagram, born - ahead + millis(30)).unwrap();
        }
    }
    let one_way = millis(30);
    let lost = |ledger: &mut FrameLedger, now| ledger.tally(millis(now), one_way).lost;
    assert_eq!(ledger.tally(millis(200), one_way).complete, 1);
    assert_eq!([1_100, 1_101].map(|now| lost(&mut ledger, now)), [0, 1]);
    // Those that never came, as far as the run goes.
    assert_eq!(lost(&mut ledger, 100_000), 29);
}

#[test]
fn a_hostile_sender_gets_no_memory_and_no_frames() {
    let mut ledger = ledger();
    let at = millis(1);
    assert_eq!(ledger.arrive(&[0; 41], at), None);
    for (index, count) in [(0, 0), (1, 1), (0, u16::MAX)] {
        assert_eq!(ledger.arrive(&header(0, index, count), at), None);
    }
    for frame in [30, 1_000_000, u32::MAX] {
        ledger.arrive(&header(frame, 0, 2), at).unwrap();
    }
    assert!(ledger.open.is_empty() && ledger.complete.is_empty());
    // Another count than the frame's first does nothing for it.
    for (index, count) in [(0, 2), (1, 3), (0, 1), (0, 2)] {
        ledger.arrive(&header(3, index, count), at).unwrap();
    }
    assert_eq!((ledger.open.len(), ledger.complete.len()), (1, 0));
    ledger.frames = 1 << 20;
    for frame in 0..5_000 {
        ledger.arrive(&header(frame, 0, 2), at).unwrap();
    }
    assert_eq!(ledger.open.len(), MAX_OPEN);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_report_what_cannot_be(
        datagrams in prop::collection::vec(
            (0_u32..30, 0_u16..4, 1_u16..4, any::<u64>(), any::<u64>(), any::<u64>()),
            0..200,
        ),
        clock in 6_u64..8,
        one_way in any::<u64>(),
    ) {
        let mut ledger = ledger();
        for (frame, index, count, departure, birth, at) in datagrams {
            let mut bytes = BytesMut::new();
            let [departure, birth, at] = [departure, birth, at].map(Duration::from_nanos);
            Header { number: departure.as_secs(), departure, frame, index, count, birth, clock }
                .write(&mut bytes);
            ledger.arrive(&bytes, at);
            let tally = ledger.tally(at, Duration::from_nanos(one_way));
            prop_assert!(tally.late <= tally.complete && tally.complete + tally.lost <= 30);
        }
        let report = crate::sample::SideReport {
            frames: Some(ledger.report(Duration::from_nanos(one_way))),
            ..Default::default()
        };
        prop_assert_eq!(report.check(), Ok(()));
    }
}
