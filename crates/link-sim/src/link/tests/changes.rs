//! Changes `at` a time happen at that time, however rarely the link is polled.

use super::*;

/// Sends a packet every `gap` microseconds for ten seconds, polls the link in one way or
/// another, and answers what leaves, with the statistics.
fn run(text: &str, gap: u64, look: fn(&mut Link<u64>, Timestamp, &mut Vec<Out>)) -> Run {
    let mut link = link(text);
    let mut out = Vec::new();
    for number in 0..10_000_000 / gap {
        look(&mut link, at(number * gap), &mut out);
        link.handle_packet(at(number * gap), packet(number, 1_000 + number % 500));
    }
    look(&mut link, at(3_600_000_000), &mut out);
    never(&mut link, at(3_600_000_000), &mut out);
    collect(&mut link, at(3_600_000_000), &mut out);
    assert_conserved(&link);
    (out, link.stats().clone())
}

/// When which packet leaves, marked or damaged or neither.
type Out = (Timestamp, u64, Ecn, bool);
type Run = (Vec<Out>, LinkStats);

fn collect(link: &mut Link<u64>, now: Timestamp, out: &mut Vec<Out>) {
    while let Some(Delivery { due, packet }) = link.poll_output(now) {
        out.push((due, packet.payload, packet.ecn, packet.corrupted));
    }
}

fn never(_: &mut Link<u64>, _: Timestamp, _: &mut Vec<Out>) {}

/// As a driver does: at the times that the link asks for.
fn in_time(link: &mut Link<u64>, until: Timestamp, out: &mut Vec<Out>) {
    while let Some(due) = link.poll_timeout().filter(|due| *due <= until) {
        let known = out.len();
        collect(link, due, out);
        for (left, ..) in &out[known..] {
            assert_eq!(*left, due, "a packet left before the link asked for a look");
        }
    }
}

#[test]
fn a_change_comes_at_its_time_whenever_anybody_looks() {
    for text in [
        "delay 30ms at 1s delay 10ms at 2s delay 80ms",
        "delay 30ms 5ms 20% at 1s delay 10ms 9ms distribution normal at 2s..7s delay 0s",
        "rate 1mbit at 1s rate 5mbit at 2s..3s rate 100kbit 20 48 5",
        "rate 1mbit queue 100p at 1s rate 5mbit at 2s..3s rate 100kbit",
        "rate 1mbit queue 100p at 1s queue 5p at 2s queue 100kb at 3s queue 0.1bdp delay 1s",
        "rate 1mbit delay 9ms at 1s..2s queue 20p at 3s..4s aqm drophead",
        "rate 3mbit queue 500p at 1s aqm codel at 2s rate 1mbit at 5s..6s aqm drophead",
        "at 1s..3s loss 100% at 4s..6s loss gemodel 5% 20% at 8s loss packets 4000-4400 ecn",
        "tbf 1mbit burst 20kb at 1s tbf 3mbit burst 5kb peakrate 4mbit mtu 2kb at 4s rate 1mbit",
        "rate 1mbit at 2s..3s policer 500kbit burst 5000b at 4s policer 1mbit burst 90000b",
        "delay 5ms radio 5ms suspend 4s every 1s at 3s radio 1ms at 5s..9s radio 3ms",
        "rate 1mbit queue 99p radio 5ms suspend 4s every 1s at 3s radio 1ms at 5s radio 0s",
        "delay 5ms at 1s..3s slot 900ms at 4s..6s slot 100ms 300ms packets 9 at 6s..8s slot 10ms",
        "rate 2mbit queue 20p at 2s..3s slot 2s at 4s duplicate 50% at 5s reorder 20% delay 9ms",
        "delay 9ms corrupt 5% at 2s corrupt 50% 30% at 3s limit 2 at 4s limit 2000",
    ] {
        let eager = run(text, 2_800, collect);
        assert!(eager.0.is_sorted_by_key(|(due, ..)| *due), "{text}");
        assert_eq!(eager, run(text, 2_800, never), "{text}");
        assert_eq!(eager, run(text, 2_800, in_time), "{text}");
    }
}

#[test]
fn a_trace_begins_and_ends_at_its_time() {
    let text = "rate 1mbit queue 50p at 1s..5s trace 3,20,20,35";
    let spec = LinkSpec::parse_with(text, crate::spec::tests::read_trace).unwrap();
    let deliveries = |eager: bool| {
        let mut link: Link<u64> = spec.build(Duration::ZERO, 1);
        let mut out = Vec::new();
        for number in 0..1_000 {
            if eager {
                in_time(&mut link, at(number * 10_000), &mut out);
            }
            link.handle_packet(at(number * 10_000), packet(number, 1_250));
        }
        collect(&mut link, Timestamp::MAX, &mut out);
        out
    };
    let eager = deliveries(true);
    assert_eq!(eager, deliveries(false));
    // A trace's time is the link's, and its opportunities come at whole milliseconds.
    let is_of_trace = |(due, ..): &&Out| due.as_nanos() / 1_000_000 % 35 == 0;
    let while_on = |(due, ..): &&Out| (at(1_010_000)..at(5_000_000)).contains(due);
    assert!(eager.iter().filter(while_on).any(|out| is_of_trace(&out)));
    let on_grid = |(due, ..): &Out| [0, 3, 20].contains(&(due.as_nanos() / 1_000_000 % 35));
    assert!(eager.iter().filter(while_on).all(on_grid));
}

#[test]
fn a_slot_is_drawn_for_what_has_come_to_it_whenever_anybody_looks() {
    // A packet comes to the slots every 100 ms, and none is ahead of it.
    let text = "trace 100 queue 99p slot 1us 90ms";
    let spec = LinkSpec::parse_with(text, crate::spec::tests::read_trace).unwrap();
    let deliveries = |look: fn(&mut Link<u64>, Timestamp, &mut Vec<Out>)| {
        let mut link: Link<u64> = spec.build(Duration::ZERO, 1);
        (0..50).for_each(|number| link.handle_packet(at(0), packet(number, 1_514)));
        let mut out = Vec::new();
        look(&mut link, at(60_000_000), &mut out);
        collect(&mut link, at(60_000_000), &mut out);
        out
    };
    assert_eq!(deliveries(in_time), deliveries(never));
}

#[test]
fn a_delay_changes_for_packets_that_come_from_then_on() {
    let mut link = link("delay 10ms at 1s delay 20ms at 2s..3s loss 100%");
    for (number, micros) in [
        999_999, 1_000_000, 1_999_999, 2_000_000, 2_999_999, 3_000_000,
    ]
    .into_iter()
    .enumerate()
    {
        link.handle_packet(at(micros), packet(number as u64, 100));
    }
    let expected = [
        (1_009_999, 0),
        (1_020_000, 1),
        (2_019_999, 2),
        (3_020_000, 5),
    ];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn a_rate_changes_behind_the_packet_that_is_being_sent() {
    // 1,250 bytes: 10 ms at 1 Mbit/s, 1 ms at 10. The second is on the wire at 15 ms.
    let mut link = link("rate 1mbit queue 10p at 15ms rate 10mbit at 22ms rate 1mbit");
    (0..5).for_each(|number| link.handle_packet(at(0), packet(number, 1_250)));
    let expected = [
        (10_000, 0),
        (20_000, 1),
        (21_000, 2),
        (22_000, 3),
        (32_000, 4),
    ];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn what_a_change_sets_free_leaves_at_its_time() {
    // The slot would open at 10,001 ms.
    let mut link = link("delay 1ms at 0s..1s slot 10s");
    link.handle_packet(at(0), packet(0, 100));
    let mut out = Vec::new();
    in_time(&mut link, at(60_000_000), &mut out);
    assert_eq!(out, [(at(1_000_000), 0, Ecn::Ect0, false)]);
}

#[test]
fn changes_of_a_new_description_count_from_when_it_came() {
    let mut link = link("delay 10ms at 1s delay 20ms");
    let next = "delay 30ms at 1s delay 40ms".parse().unwrap();
    link.reconfigure(at(500_000), &next, Duration::ZERO);
    for (number, micros) in [(0, 1_499_999), (1, 1_500_000)] {
        link.handle_packet(at(micros), packet(number, 100));
    }
    assert_eq!(drain(&mut link), [(1_529_999, 0), (1_540_000, 1)]);
}
