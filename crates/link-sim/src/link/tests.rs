//! Tests of the emulation itself: every stage against its closed form or the kernel's source.

mod changes;
mod closed_forms;
mod fair_queues;
mod models;
mod pace;
mod recorded;
mod waits;

use super::*;
use crate::packet::Ecn;
use units::{Bandwidth, Bytes};

fn link(text: &str) -> Link<u64> {
    let spec: LinkSpec = text.parse().unwrap();
    let base_rtt = spec.delay();
    spec.build(base_rtt, 1)
}

fn packet(number: u64, size: u64) -> Packet<u64> {
    Packet::new(Bytes::new(size), number).ecn(Ecn::Ect0)
}

fn at(micros: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_micros(micros)
}

/// Everything that leaves by the end of time: (microsecond, number).
fn drain(link: &mut Link<u64>) -> Vec<(u64, u64)> {
    core::iter::from_fn(|| link.poll_output(Timestamp::MAX))
        .map(|delivery| (delivery.due.as_nanos() / 1_000, delivery.packet.payload))
        .collect()
}

/// Sends `count` packets of `size` bytes, one every `gap`, and collects what leaves.
fn send(link: &mut Link<u64>, count: u64, size: u64, gap: Duration) -> Vec<(u64, u64)> {
    let mut now = Timestamp::ZERO;
    let mut out = Vec::new();
    for number in 0..count {
        link.handle_packet(now, packet(number, size));
        while let Some(delivery) = link.poll_output(now) {
            out.push((delivery.due.as_nanos() / 1_000, delivery.packet.payload));
        }
        now += gap;
    }
    out.extend(drain(link));
    assert_conserved(link);
    out
}

#[track_caller]
fn assert_conserved<T: Clone>(link: &Link<T>) {
    let stats = link.stats();
    assert_eq!(
        stats.arrived + stats.duplicated,
        stats.delivered + stats.dropped.total() + stats.held
    );
}

fn numbers(out: &[(u64, u64)]) -> Vec<u64> {
    out.iter().map(|(_, number)| *number).collect()
}

#[test]
fn an_empty_description_hands_packets_on_at_once() {
    let mut link = link("");
    link.handle_packet(at(7), packet(1, 1_500));
    assert_eq!(link.poll_timeout(), Some(at(7)));
    assert_eq!(link.poll_output(at(7)).unwrap().due, at(7));
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn delay_is_exact_and_nothing_leaves_before_it() {
    let mut link = link("delay 50ms");
    link.handle_packet(at(3), packet(1, 1_500));
    assert_eq!(link.poll_timeout(), Some(at(50_003)));
    assert_eq!(link.poll_output(at(50_002)), None);
    let delivery = link.poll_output(at(60_000)).unwrap();
    assert_eq!((delivery.due, delivery.packet.ecn), (at(50_003), Ecn::Ect0));
}

#[test]
fn a_bottleneck_sends_one_packet_after_another_and_then_they_travel() {
    // 1250 bytes take 1 ms at 10 Mbit/s.
    let mut link = link("delay 20ms rate 10mbit queue 10p");
    let out = send(&mut link, 3, 1_250, Duration::ZERO);
    assert_eq!(out, [(21_000, 0), (22_000, 1), (23_000, 2)]);
    let waited = &link.stats().queue_delay;
    assert_eq!(
        (waited.count(), waited.max()),
        (3, Duration::from_millis(2))
    );
}

#[test]
fn a_queue_in_packets_holds_so_many_beside_the_one_in_transmission() {
    let mut link = link("rate 10mbit queue 3p");
    let out = send(&mut link, 10, 1_250, Duration::ZERO);
    assert_eq!(numbers(&out), [0, 1, 2, 3]);
    assert_eq!(link.stats().dropped.queue.packets, 6);
    assert_eq!(link.stats().max_queue.packets, 3);
}

#[test]
fn a_queue_in_bytes_takes_a_small_packet_where_a_large_one_does_not_fit() {
    let mut link = link("rate 8mbit queue 2500b");
    for (number, size) in [(0, 1_000), (1, 1_500), (2, 1_001), (3, 1_000)] {
        link.handle_packet(at(0), packet(number, size));
    }
    assert_eq!(link.queue().bytes, Bytes::new(2_500));
    assert_eq!(numbers(&drain(&mut link)), [0, 1, 3]);
}

#[test]
fn a_queue_in_bdp_is_rate_times_base_rtt() {
    // 8 Mbit/s × 30 ms × 0.5 = 15,000 bytes.
    let spec: LinkSpec = "delay 10ms rate 8mbit queue 0.5bdp".parse().unwrap();
    let mut link: Link<u64> = spec.build(Duration::from_millis(30), 1);
    (0..100).for_each(|number| link.handle_packet(at(0), packet(number, 1_000)));
    assert_eq!(link.queue().bytes, Bytes::new(15_000));
}

#[test]
fn a_queue_of_less_than_a_frame_still_holds_one() {
    let mut link = link("delay 1ms rate 64kbit queue 1bdp");
    let out = send(&mut link, 3, 1_500, Duration::ZERO);
    assert_eq!(numbers(&out), [0, 1]);
}

#[test]
fn netem_departs_at_the_later_of_delay_and_last_departure_plus_transmission() {
    // The second packet comes 0.3 ms behind the first, so its delay ends while the first is sent.
    let mut link = link("delay 20ms rate 10mbit");
    link.handle_packet(at(0), packet(0, 1_250));
    link.handle_packet(at(300), packet(1, 1_250));
    link.handle_packet(at(5_000), packet(2, 1_250));
    assert_eq!(drain(&mut link), [(21_000, 0), (22_000, 1), (26_000, 2)]);
    assert_eq!(link.stats().queue_delay.max(), Duration::from_micros(700));
}

#[test]
fn netems_limit_counts_what_travels_so_1000_packets_at_100_ms_cap_120_mbit() {
    // 1500 bytes every 6 µs is 2 Gbit/s offered, for one second.
    let mut link = link("delay 100ms rate 1gbit");
    let out = send(&mut link, 166_667, 1_500, Duration::from_micros(6));
    let counted = out
        .iter()
        .filter(|(due, _)| (200_000..1_000_000).contains(due))
        .count();
    let mbits = counted as f64 * 1_500.0 * 8.0 / 0.8 / 1e6;
    assert!((119.0..=120.0).contains(&mbits), "{mbits}");
    assert_eq!(link.stats().max_queue.packets, 1_000);
    assert!(link.stats().dropped.limit.packets > 0);
}

#[test]
fn a_queue_lifts_netems_default_limit() {
    let mut link = link("delay 100ms rate 1gbit queue 10p");
    let out = send(&mut link, 5_000, 1_500, Duration::from_micros(12));
    assert_eq!(out.len(), 5_000);
}

#[test]
fn jitter_reorders_without_rate_and_keeps_order_with_it() {
    let inversions = |text: &str| {
        let out = numbers(&send(
            &mut link(text),
            2_000,
            1_250,
            Duration::from_millis(1),
        ));
        assert_eq!(out.len(), 2_000);
        out.windows(2).filter(|pair| pair[0] > pair[1]).count()
    };
    assert!(inversions("delay 50ms 10ms") > 700);
    assert_eq!(inversions("delay 50ms 10ms ordered"), 0);
    assert_eq!(inversions("delay 50ms 10ms rate 20mbit"), 0);
    assert!(inversions("delay 50ms 10ms rate 20mbit queue 1000p") > 700);
    assert_eq!(
        inversions("delay 50ms 10ms ordered rate 20mbit queue 1000p"),
        0
    );
}

#[test]
fn a_time_that_has_passed_counts_as_now() {
    let mut link = link("delay 1ms");
    link.handle_packet(at(5_000), packet(0, 100));
    link.handle_packet(at(4_000), packet(1, 100));
    assert_eq!(drain(&mut link), [(6_000, 0), (6_000, 1)]);
}

#[test]
fn the_same_seed_gives_the_same_deliveries_and_another_seed_others() {
    let text = "delay 30ms 5ms distribution normal loss 5% duplicate 2% rate 10mbit queue 20p";
    let run = |seed| {
        let spec: LinkSpec = text.parse().unwrap();
        let mut link = spec.build(Duration::from_millis(30), seed);
        send(&mut link, 1_000, 1_250, Duration::from_micros(900))
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn the_seed_in_the_description_overrules_the_argument() {
    let spec: LinkSpec = "loss 50% seed 9".parse().unwrap();
    let run = |seed| {
        let mut link: Link<u64> = spec.build(Duration::ZERO, seed);
        numbers(&send(&mut link, 100, 100, Duration::ZERO))
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn when_the_output_is_polled_changes_nothing() {
    for text in [
        "delay 5ms 4ms loss 5% duplicate 5% reorder 5% rate 10mbit queue 5p",
        "delay 5ms 4ms duplicate 5% reorder 5% limit 6",
        "delay 5ms 4ms rate 10mbit limit 5",
        "delay 5ms rate 10mbit aqm red min 5000b ecn",
        "delay 5ms rate 10mbit aqm pie target 1ms ecn",
        "delay 5ms rate 10mbit aqm dualpi2 target 1ms any_ect",
    ] {
        let eager = send(&mut link(text), 500, 1_250, Duration::from_micros(900));
        let mut lazy_link = link(text);
        for number in 0..500 {
            lazy_link.handle_packet(at(900 * number), packet(number, 1_250));
        }
        assert_eq!(eager, drain(&mut lazy_link), "{text}");
    }
}

#[test]
fn a_copy_that_is_made_is_counted_and_arrives() {
    let mut link = link("delay 5ms duplicate 100%");
    let out = send(&mut link, 3, 100, Duration::ZERO);
    assert_eq!(numbers(&out), [0, 0, 1, 1, 2, 2]);
    assert_eq!(link.stats().duplicated.packets, 3);
}

#[test]
fn a_packet_both_duplicated_and_lost_leaves_one_copy() {
    let mut link = link("duplicate 100% loss 100%");
    let out = send(&mut link, 5, 100, Duration::ZERO);
    assert_eq!(numbers(&out), [0, 1, 2, 3, 4]);
}

#[test]
fn a_packet_and_its_copy_meet_the_limit_as_one() {
    let mut link = link("delay 5ms duplicate 100% limit 1");
    let out = send(&mut link, 2, 100, Duration::ZERO);
    assert_eq!(numbers(&out), [0, 0]);
    assert_eq!(link.stats().dropped.limit.packets, 2);
}

#[test]
fn a_policer_stands_before_the_limit() {
    // Tokens for two packets, room for one: the second has tokens and no room.
    let mut link = link("delay 10ms limit 1 policer 8kbit burst 2000b");
    send(&mut link, 3, 1_000, Duration::ZERO);
    let dropped = link.stats().dropped;
    assert_eq!((dropped.limit.packets, dropped.policer.packets), (1, 1));
}

#[test]
fn the_most_that_ever_waited_is_remembered_in_packets_and_in_bytes() {
    let mut link = link("rate 8kbit queue 9p");
    for (second, sizes) in [(0, &[1_000, 900, 900][..]), (9, &[100; 5])] {
        for size in sizes {
            link.handle_packet(at(second * 1_000_000), packet(0, *size));
        }
    }
    let most = link.stats().max_queue;
    assert_eq!((most.packets, most.bytes), (4, Bytes::new(1_800)));
}

#[test]
fn a_lost_packet_takes_neither_room_nor_time() {
    // 1,000 bytes take a second. Of the first four nothing is left but the statistics.
    for rest in ["limit 2", "queue 1p"] {
        let mut link = link(&format!("loss packets 1-4 rate 8kbit {rest}"));
        let out = send(&mut link, 7, 1_000, Duration::ZERO);
        assert_eq!(out, [(1_000_000, 4), (2_000_000, 5)], "{rest}");
        let dropped = link.stats().dropped;
        assert_eq!(dropped.loss.packets, 4);
        assert_eq!(dropped.total().packets, 5);
    }
}

#[test]
fn a_reordered_packet_takes_no_time_at_the_rate_of_netem_and_moves_no_departure() {
    // Every other one: 1,000 bytes take a second, behind 10 ms of delay.
    let text = "delay 10ms reorder 100% gap 2 rate 8kbit";
    let out = send(&mut link(text), 5, 1_000, Duration::ZERO);
    let departures = [
        (0, 1),
        (0, 3),
        (1_010_000, 0),
        (2_010_000, 2),
        (3_010_000, 4),
    ];
    assert_eq!(out, departures);
    // Before a queue it is sent like the others, and arrives when its last bit is out.
    let out = send(
        &mut link(&format!("{text} queue 9p")),
        3,
        1_000,
        Duration::ZERO,
    );
    assert_eq!(out, [(1_010_000, 0), (2_000_000, 1), (3_010_000, 2)]);
}

#[test]
fn a_slot_before_the_next_packet_is_ready_is_given_up_at_every_look() {
    // The packet is looked at when it comes, for a slot at 3 ms, and at 10 ms.
    let mut alone = link("delay 10ms slot 3ms");
    alone.handle_packet(at(0), packet(0, 100));
    assert_eq!(drain(&mut alone), [(13_000, 0)]);
    // Another one that comes at 8 ms makes netem look at the first: the slot at 11 ms is kept.
    let mut followed = link("delay 10ms slot 3ms");
    followed.handle_packet(at(0), packet(0, 100));
    followed.handle_packet(at(8_000), packet(1, 100));
    assert_eq!(drain(&mut followed), [(11_000, 0), (21_000, 1)]);
}

#[test]
fn reordering_sends_every_gapth_packet_at_once() {
    let mut link = link("delay 10ms reorder 100% gap 5");
    let out = send(&mut link, 10, 100, Duration::from_millis(1));
    assert_eq!(out[0], (4_000, 4));
    assert_eq!(numbers(&out), [4, 9, 0, 1, 2, 3, 5, 6, 7, 8]);
}

#[test]
fn a_new_rate_serves_the_old_queue() {
    let mut link = link("rate 10mbit queue 10p delay 5ms");
    (0..4).for_each(|number| link.handle_packet(at(0), packet(number, 1_250)));
    let faster = "rate 100mbit queue 2p delay 5ms".parse().unwrap();
    link.reconfigure(at(500), &faster, Duration::from_millis(5));
    assert!(link.keeps_order());
    assert_eq!(
        drain(&mut link),
        [(6_000, 0), (6_100, 1), (6_200, 2), (6_300, 3)]
    );
}

#[test]
fn order_is_promised_over_a_change_only_where_nothing_can_overtake() {
    for (before, after, kept) in [
        ("delay 5ms", "delay 6ms", true),
        ("delay 5ms", "delay 4ms", false),
        ("delay 5ms", "delay 4ms 1ms ordered", true),
        ("delay 5ms 3ms ordered", "delay 6ms", false),
        ("delay 5ms 3ms ordered", "delay 1ms 1us ordered", true),
        ("delay 5ms", "", false),
        ("", "delay 5ms", true),
    ] {
        let mut link = link(&format!("rate 10mbit queue 9p {before}"));
        (0..9).for_each(|number| link.handle_packet(at(0), packet(number, 1_250)));
        let spec = format!("rate 10mbit queue 9p {after}").parse().unwrap();
        link.reconfigure(at(0), &spec, Duration::ZERO);
        assert_eq!(link.keeps_order(), kept, "{before} to {after}");
        assert!(!kept || drain(&mut link).is_sorted_by_key(|(_, n)| *n));
    }
}

#[test]
fn taking_the_queue_away_loses_nothing() {
    let mut link = link("rate 10mbit queue 10p delay 5ms");
    (0..4).for_each(|number| link.handle_packet(at(0), packet(number, 1_250)));
    link.reconfigure(at(500), &LinkSpec::default(), Duration::ZERO);
    link.handle_packet(at(600), packet(9, 1_250));
    assert_eq!(
        drain(&mut link),
        [(600, 9), (1_000, 1), (1_000, 2), (1_000, 3), (6_000, 0)]
    );
    assert_conserved(&link);
}

#[test]
fn adding_a_queue_does_not_wait_for_the_delay_that_was() {
    let mut link = link("rate 10mbit delay 50ms");
    link.handle_packet(at(0), packet(0, 1_250));
    let queued = "rate 10mbit delay 5ms queue 10p".parse().unwrap();
    link.reconfigure(at(1_000), &queued, Duration::from_millis(5));
    link.handle_packet(at(1_000), packet(1, 1_250));
    assert!(!link.keeps_order());
    assert_eq!(drain(&mut link), [(7_000, 1), (51_000, 0)]);
}
