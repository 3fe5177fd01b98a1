//! Slots and radios: what makes packets wait for a time that others set.

use super::closed_forms::assert_near;
use super::*;

/// The times at which packets leave that all come at zero, in microseconds, each once with how
/// many packets it had.
fn bursts(text: &str, count: u64, size: u64) -> Vec<(u64, usize)> {
    let out = send(&mut link(text), count, size, Duration::ZERO);
    assert_eq!(out.len() as u64, count);
    let chunks = out.chunk_by(|one, other| one.0 == other.0);
    chunks.map(|burst| (burst[0].0, burst.len())).collect()
}

#[test]
fn a_slot_takes_so_many_packets_or_bytes_and_the_next_one_opens_behind_it() {
    let fours = [(0, 4), (5_000, 4), (10_000, 2)];
    // The first one is open from the begin. The packet that reaches the limit of bytes is sent
    // with the others.
    for limits in [
        "packets 4",
        "bytes 4000b",
        "bytes 3001b",
        "packets 4 bytes 9000b",
    ] {
        assert_eq!(
            bursts(&format!("slot 5ms {limits}"), 10, 1_000),
            fours,
            "{limits}"
        );
    }
    assert_eq!(bursts("slot 5ms", 10, 1_000), [(0, 10)]);
}

#[test]
fn packets_leave_at_the_first_slot_that_opens_after_their_delay() {
    // Ready at 10, 12 and 31 ms: the first makes a slot approach, which the second finds open.
    let mut link = link("delay 10ms slot 5ms");
    for (number, millis) in [(0, 0), (1, 2), (2, 21)] {
        link.handle_packet(at(millis * 1_000), packet(number, 100));
    }
    assert_eq!(drain(&mut link), [(15_000, 0), (15_000, 1), (36_000, 2)]);
}

/// Mean and deviation of the distances between slots that take one packet each, in milliseconds.
fn distances(slot: &str, count: u64) -> (f64, f64) {
    let text = format!("limit 1000000 slot {slot} packets 1");
    let times: Vec<u64> = bursts(&text, count, 100)
        .iter()
        .map(|(time, _)| *time)
        .collect();
    let distances = || {
        times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e3)
    };
    let n = (times.len() - 1) as f64;
    let mean = distances().sum::<f64>() / n;
    let square = distances()
        .map(|distance| (distance - mean).powi(2))
        .sum::<f64>()
        / n;
    (mean, square.sqrt())
}

#[test]
fn slots_are_as_far_apart_as_their_distribution_says() {
    let n = 100_000;
    for (slot, mean, deviation) in [
        ("5ms", 5.0, 0.0),
        ("5ms 11ms", 8.0, 6.0 / 12_f64.sqrt()),
        ("distribution uniform 10ms 3ms", 10.0, 3.0 / 3_f64.sqrt()),
        ("distribution normal 10ms 2ms", 10.0, 2.0),
        (
            "distribution pareto 10ms 3ms",
            10.0 - 3.0 * 0.0329,
            3.0 * 0.8215,
        ),
    ] {
        let (m, d) = distances(slot, n);
        // A microsecond is what these times are rounded to.
        assert_near(m, mean, 5.0 * deviation / (n as f64).sqrt() + 0.001);
        assert_near(d, deviation, 0.02 * deviation + 0.001);
    }
}

#[test]
fn a_reordered_packet_needs_no_slot() {
    let mut link = link("delay 1ms reorder 100% gap 2 slot 50ms");
    (0..3).for_each(|number| link.handle_packet(at(number), packet(number, 100)));
    assert_eq!(drain(&mut link), [(1, 1), (50_000, 0), (50_000, 2)]);
}

#[test]
fn a_radio_adds_its_mean_access_time() {
    // So far apart that no packet waits for another. Exponential: the deviation is the mean.
    let n = 50_000;
    let gap = Duration::from_millis(200);
    for text in ["radio 4ms", "delay 20ms rate 1gbit queue 9p radio 4ms"] {
        let mut link = link(text);
        let delay = if text.starts_with("delay") {
            20_000.8
        } else {
            0.0
        };
        let out = send(&mut link, n, 100, gap);
        let waits = out
            .iter()
            .map(|(due, n)| (due - n * 200_000) as f64 - delay);
        // Times are cut to the microsecond.
        let mean = waits.sum::<f64>() / n as f64 + 0.5;
        assert_near(mean, 4_000.0, 5.0 * 4_000.0 / (n as f64).sqrt() + 1.0);
    }
}

#[test]
fn packets_that_wait_for_a_radio_keep_their_order() {
    for text in [
        "radio 4ms",
        "radio 4ms rate 10mbit",
        "radio 4ms rate 10mbit queue 1000p",
    ] {
        let out = send(&mut link(text), 1_000, 1_250, Duration::from_millis(1));
        assert!(out.is_sorted_by_key(|(_, number)| *number), "{text}");
    }
}

#[test]
fn a_radio_is_silent_for_its_share_of_the_time() {
    // A packet every 10 ms for 5,000 s meets 50,000 cycles of 20 ms of silence behind 80 ms.
    let n = 500_000;
    let (length, every) = (20.0_f64, 80.0);
    let cycle = length + every;
    for text in ["", " rate 1gbit", " rate 1gbit queue 100p"] {
        let mut link = link(&format!("radio 0s suspend 20ms every 80ms{text}"));
        let out = send(&mut link, n, 100, Duration::from_millis(10));
        assert_eq!(out.len() as u64, n);
        let waits: Vec<u64> = out.iter().map(|(due, n)| due - n * 10_000).collect();
        let silent = waits.iter().filter(|wait| **wait > 2).count() as f64 / n as f64;
        // An alternating renewal process with one fixed and one exponential part.
        let error = length * every / cycle.powf(1.5) / (n as f64 * 10.0).sqrt();
        assert_near(silent, length / cycle, 5.0 * error);
    }
}

#[test]
fn a_backlog_that_reaches_into_a_suspension_stays_silent_in_it() {
    // 1 ms a packet and 500 ms of them; what leaves within 10 ms is never more than ten.
    for text in ["limit 500", "queue 500p"] {
        let text = format!("rate 10mbit radio 0s suspend 60ms every 100ms {text}");
        let out = send(&mut link(&text), 500, 1_250, Duration::ZERO);
        let gaps: Vec<u64> = out.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let silences = gaps.iter().filter(|gap| **gap > 1_000).count();
        assert!(silences > 1, "{text}: {silences}");
        // A packet that is on the wire when the silence begins is sent to its end.
        assert!(
            gaps.iter().all(|gap| *gap == 1_000 || *gap > 60_000),
            "{text}: {gaps:?}"
        );
    }
}
