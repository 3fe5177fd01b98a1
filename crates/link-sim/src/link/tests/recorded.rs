//! Recorded delays and losses against their recordings.

use super::*;
use crate::spec::tests::read_trace;
use std::collections::BTreeSet;

fn recorded(text: &str) -> Link<u64> {
    let spec = LinkSpec::parse_with(text, read_trace).unwrap();
    spec.build(spec.delay(), 1)
}

/// The microsecond at which each packet leaves, one sent every millisecond.
fn departures(text: &str, count: u64) -> Vec<u64> {
    let mut link = recorded(text);
    let out = send(&mut link, count, 1_000, Duration::from_millis(1));
    out.into_iter().map(|(due, _)| due).collect()
}

#[test]
fn a_packet_takes_the_delay_of_the_step_in_which_it_is_sent_and_the_trace_repeats() {
    let expected = [5, 6, 7, 9, 10, 11, 11, 12, 13, 15, 16, 17].map(|millis| millis * 1_000);
    assert_eq!(departures("delay trace 5,6 every 3ms", 12), expected);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    // What is sent from 10 ms on would be out from 14 ms on, before the last of the first step.
    let out = departures("delay trace 20,4", 20);
    let expected = (20..30).chain([29; 10]).map(|millis| millis * 1_000);
    assert_eq!(out, expected.collect::<Vec<u64>>());
    let mut link = recorded("delay trace 20,4");
    assert!(link.keeps_order());
    let out = send(&mut link, 100, 1_000, Duration::from_micros(700));
    assert!(numbers(&out).is_sorted());
}

#[test]
fn behind_a_bottleneck_the_delay_is_that_of_the_end_of_the_transmission() {
    // 1,000 bytes take 8 ms: they are out at 8, 16 and 24 ms.
    let mut link = recorded("delay trace 100,200,300 rate 1mbit queue 9p");
    let out = send(&mut link, 3, 1_000, Duration::ZERO);
    assert_eq!(out, [(108_000, 0), (216_000, 1), (324_000, 2)]);
}

#[test]
fn order_holds_when_a_link_turns_to_recorded_delays_and_back() {
    for (text, keeps) in [
        ("delay 50ms rate 8mbit queue 9p at 10ms delay trace 1", true),
        (
            "delay trace 50 rate 8mbit queue 9p at 10ms delay 1ms",
            false,
        ),
    ] {
        let mut link = recorded(text);
        let out = send(&mut link, 30, 1_000, Duration::from_millis(1));
        assert_eq!(numbers(&out).is_sorted(), keeps, "{text}");
        assert_eq!(link.keeps_order(), keeps, "{text}");
    }
}

#[test]
fn exactly_the_recorded_packets_are_lost_over_and_over() {
    let mut link = recorded("loss trace 0010,1");
    let out = send(&mut link, 23, 100, Duration::from_millis(1));
    let left: BTreeSet<u64> = numbers(&out).into_iter().collect();
    let lost: Vec<u64> = (0..23).filter(|number| !left.contains(number)).collect();
    assert_eq!(lost, [2, 4, 7, 9, 12, 14, 17, 19, 22]);
    assert_eq!(link.stats().dropped.loss.packets, 9);
}

#[test]
fn a_recorded_loss_may_be_a_mark() {
    let mut link = recorded("loss trace 01 ecn");
    for number in 0..2 {
        link.handle_packet(at(number), packet(number, 100));
    }
    let mut marks = core::iter::from_fn(|| link.poll_output(Timestamp::MAX));
    assert_eq!(marks.next().unwrap().packet.ecn, Ecn::Ect0);
    assert_eq!(marks.next().unwrap().packet.ecn, Ecn::Ce);
}
