//! What sets the pace of a link: cells, token buckets, policers, traces.

use super::*;

/// Sends `count` packets of `size` bytes at time zero and answers when each leaves, in
/// nanoseconds.
fn departures(text: &str, sizes: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut link = link(text);
    for (number, size) in sizes.into_iter().enumerate() {
        link.handle_packet(Timestamp::ZERO, packet(number as u64, size));
    }
    let out = core::iter::from_fn(|| link.poll_output(Timestamp::MAX));
    let times = out.map(|delivery| delivery.due.as_nanos()).collect();
    assert_conserved(&link);
    times
}

#[test]
fn overhead_and_cells_take_their_time_on_the_wire() {
    for (words, size, on_the_wire) in [
        ("0", 1_000, 1_000),
        ("20", 1_000, 1_020),
        ("-14", 1_514, 1_500),
        // ADSL with 44 bytes of AAL5 and headers over cells of 48 in 53.
        ("44 48 5", 1_500, 33 * 53),
        ("0 48 5", 48, 53),
        ("0 48 5", 49, 106),
        ("0 48", 49, 96),
        ("0 100 -50", 250, 150),
        // None is free, whatever the overhead says.
        ("-2000", 1_000, 1),
    ] {
        for service in ["", " queue 100p"] {
            let text = format!("rate 8kbit {words}{service}");
            let expected: Vec<u64> = (1..=3).map(|n| n * on_the_wire * 1_000_000).collect();
            assert_eq!(
                departures(&text, [size; 3]),
                expected,
                "{text}, {size} bytes"
            );
        }
    }
}

/// Bytes that left within `window` nanoseconds from `from` on.
fn within(times: &[u64], size: u64, from: u64, window: u64) -> u64 {
    let begin = times.partition_point(|time| *time < from);
    let end = times.partition_point(|time| *time < from + window);
    (end - begin) as u64 * size
}

const MILLI: u64 = 1_000_000;
const WINDOWS: [u64; 5] = [
    MILLI,
    10 * MILLI,
    100 * MILLI,
    1_000 * MILLI,
    10_000 * MILLI,
];

#[test]
fn a_token_bucket_gives_its_burst_and_then_its_rate_over_every_window() {
    // 10 Mbit/s are 1.25 MB/s; 13 MB are a little more than 10 s of it.
    let (size, burst) = (1_000, 100_000);
    let times = departures("tbf 10mbit burst 100000b queue 20000p", vec![size; 13_000]);
    for window in WINDOWS {
        let rate = 1_250_000 * window / 1_000_000_000;
        let first = within(&times, size, 0, window);
        assert!(
            (burst + rate).abs_diff(first) <= size,
            "{window} ns: {first}"
        );
        // Once the bucket is empty there is the rate alone.
        let later = within(&times, size, 150 * MILLI, window);
        assert!(rate.abs_diff(later) <= size, "{window} ns: {later}");
    }
}

#[test]
fn a_peak_rate_bounds_the_burst() {
    // Until the bucket is empty, which takes 100 kB ÷ (5 − 1.25 MB/s), the peak rate holds.
    let (size, mtu, burst) = (1_000, 2_000, 100_000);
    let text = "tbf 10mbit burst 100000b peakrate 40mbit mtu 2000b queue 20000p";
    let times = departures(text, vec![size; 13_000]);
    for window in WINDOWS {
        let peak = mtu + 5_000_000 * window / 1_000_000_000;
        let rate = burst + 1_250_000 * window / 1_000_000_000;
        let sent = within(&times, size, 0, window);
        assert!(peak.min(rate).abs_diff(sent) <= size, "{window} ns: {sent}");
    }
}

#[test]
fn an_idle_token_bucket_sends_a_burst_again() {
    let mut link = link("tbf 8mbit burst 3000b queue 100p");
    for begin in [0, 1_000_000] {
        (0..5).for_each(|number| link.handle_packet(at(begin), packet(number, 1_000)));
    }
    let times: Vec<u64> = drain(&mut link).iter().map(|(time, _)| *time).collect();
    let burst = [0, 0, 0, 1_000, 2_000];
    assert_eq!(times, [burst, burst.map(|time| time + 1_000_000)].concat());
}

#[test]
fn waiting_for_tokens_is_waiting_in_the_queue() {
    // The third packet waits 1 ms for its tokens, the fourth 2 ms.
    let mut link = link("tbf 8mbit burst 2000b queue 10p");
    (0..4).for_each(|number| link.handle_packet(at(0), packet(number, 1_000)));
    drain(&mut link);
    let waited = &link.stats().queue_delay;
    assert_eq!(
        (waited.count(), waited.max()),
        (4, Duration::from_millis(2))
    );
}

#[test]
fn a_packet_larger_than_a_bucket_is_dropped() {
    for text in [
        "tbf 8mbit burst 1500b",
        "tbf 8mbit burst 15000b peakrate 10mbit mtu 1500b",
    ] {
        let mut link = link(text);
        link.handle_packet(at(0), packet(0, 1_501));
        link.handle_packet(at(0), packet(1, 1_500));
        assert_eq!(numbers(&drain(&mut link)), [1], "{text}");
        assert_eq!(link.stats().dropped.queue.packets, 1);
    }
}

#[test]
fn a_policer_lets_its_burst_and_its_rate_pass_over_every_window() {
    // 2 Mbit/s come, 1 Mbit/s may pass: 1,000 bytes every 4 ms, and every other one of them.
    let (size, burst) = (1_000, 50_000);
    let mut link = link("policer 1mbit burst 50000b");
    let out = send(&mut link, 3_000, size, Duration::from_millis(4));
    let times: Vec<u64> = out.iter().map(|(micros, _)| micros * 1_000).collect();
    for window in WINDOWS {
        let (rate, offered) = (125 * window / MILLI, 250 * window / MILLI);
        let first = within(&times, size, 0, window);
        assert!(
            (burst + rate).min(offered).abs_diff(first) <= size,
            "{window} ns"
        );
        let later = within(&times, size, 1_000 * MILLI, window);
        assert!(rate.abs_diff(later) <= size, "{window} ns: {later}");
    }
    assert_eq!(out.iter().filter(|(time, n)| *time != n * 4_000).count(), 0);
    let dropped = link.stats().dropped.policer.packets;
    assert_eq!(dropped, link.stats().dropped.total().packets);
    assert_eq!(out.len() as u64 + dropped, 3_000);
}

#[test]
fn a_policed_packet_takes_no_tokens() {
    let mut link = link("policer 8kbit burst 1000b");
    for (number, size) in [(0, 600), (1, 600), (2, 400), (3, 1)] {
        link.handle_packet(at(0), packet(number, size));
    }
    // A byte takes a millisecond.
    link.handle_packet(at(999), packet(4, 1));
    link.handle_packet(at(1_000), packet(5, 1));
    assert_eq!(numbers(&drain(&mut link)), [0, 2, 5]);
}

/// A link whose trace is the text between commas.
fn traced(text: &str) -> Link<u64> {
    let spec = LinkSpec::parse_with(text, crate::spec::tests::read_trace).unwrap();
    spec.build(spec.delay(), 1)
}

#[test]
fn a_trace_carries_its_mean_rate() {
    // Four opportunities of 1,514 bytes in 10 ms.
    let mut link = traced("trace 1,3,3,10 queue 100000p");
    let count = 40_000;
    (0..count).for_each(|number| link.handle_packet(at(0), packet(number, 1_514)));
    let out = drain(&mut link);
    assert_eq!(out.len() as u64, count);
    assert_eq!(out.last().unwrap().0, count / 4 * 10_000);
    for window in [10, 100, 1_000, 10_000] {
        let within = |(time, _): &&(u64, u64)| (5_000..5_000 + window * 1_000).contains(time);
        assert_eq!(out.iter().filter(within).count() as u64, window / 10 * 4);
    }
}

#[test]
fn a_trace_delivers_as_worked_out_by_hand() {
    // Opportunities at 5, 5, 8 and 20 ms, then at 25, 25, 28 and 40.
    let mut link = traced("trace 5,5,8,20 delay 1ms queue 10p");
    for (millis, number, size) in [
        (0, 0, 1_000),  // with the begin of the next at 5
        (0, 1, 1_000),  // with 514 bytes at 5 and the rest in the second one at 5
        (5, 2, 1_000),  // in what is left there, which is 1,028 bytes
        (6, 3, 1_514),  // at 8
        (9, 4, 4_542),  // at 20, 25 and 25
        (26, 5, 100),   // at 28
        (29, 6, 1_400), // at 40
        (29, 7, 200),   // begun at 40, the rest at 45
    ] {
        link.handle_packet(at(millis * 1_000), packet(number, size));
    }
    let millis = drain(&mut link)
        .into_iter()
        .map(|(time, n)| (n, time / 1_000));
    let expected = [6, 6, 6, 9, 26, 29, 41, 46];
    assert_eq!(
        millis.collect::<Vec<_>>(),
        (0..).zip(expected).collect::<Vec<_>>()
    );
}

#[test]
fn packets_wait_in_the_queue_for_an_opportunity() {
    let mut link = traced("trace 100 queue 2p");
    (0..4).for_each(|number| link.handle_packet(at(40_000), packet(number, 1_514)));
    assert_eq!(link.queue().packets, 2);
    assert_eq!(drain(&mut link), [(100_000, 0), (200_000, 1)]);
    assert_eq!(link.stats().dropped.queue.packets, 2);
    let waited = &link.stats().queue_delay;
    assert_eq!(
        (waited.count(), waited.max()),
        (2, Duration::from_millis(160))
    );
}
