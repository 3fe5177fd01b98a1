//! What the pacer promises, for any rate, packet size and schedule of calls.
//!
//! | promise | test |
//! |---|---|
//! | bytes in any window ≤ rate × window + quantum | `no_window_of_time_holds_more_than_rate_times_window_plus_quantum` |
//! | 95 % of it and more when backlogged | `a_backlogged_sender_gets_its_rate_though_it_wakes_late` |
//! | after idle no more than the burst | `after_any_silence_one_burst_leaves_and_then_the_rate` |
//! | a change of rate or size at once | `a_change_of_rate_or_size_holds_from_its_moment_on` |
//! | ten years without overflow | `ten_years_of_sending_keep_the_rate_to_the_byte`, and times up to ten years in the others |
//!
//! `tests/tests/quic_virtual/conformance.rs` holds the transport to the first two.

use cc_core::{Control, Pacer};
use core::time::Duration;
use proptest::prelude::*;
use units::{Bandwidth, Bytes, Timestamp};

/// From 64 kbit/s to 10 Gbit/s, evenly on a scale of powers of two.
fn rate() -> impl Strategy<Value = Bandwidth> {
    (12_u32..=30, any::<u32>()).prop_map(|(exponent, below)| {
        let base = 1_u64 << exponent;
        let rate = base + u64::from(below) % base;
        Bandwidth::from_bytes_per_sec(rate.clamp(8_000, 1_250_000_000))
    })
}

/// Twenty packets at most, or what a big offload call takes.
fn quantum() -> impl Strategy<Value = Bytes> {
    (1_200..=262_144_u64).prop_map(Bytes::new)
}

fn mss() -> impl Strategy<Value = Bytes> {
    (1_200..=65_000_u64).prop_map(Bytes::new)
}

fn control(rate: Bandwidth, quantum: Bytes) -> Control {
    Control {
        cwnd: Bytes::MAX,
        pacing_rate: rate,
        send_quantum: quantum,
    }
}

/// At most rate × window + depth in every window between two of these sends.
fn assert_conforms(sends: &[(Timestamp, Bytes)], rate: Bandwidth, depth: Bytes) {
    for (first, (start, _)) in sends.iter().enumerate() {
        let mut sum = Bytes::ZERO;
        for (end, bytes) in &sends[first..] {
            sum += *bytes;
            let most = rate * end.since(*start) + depth;
            assert!(sum <= most, "{sum} from {start} to {end}, not {most}");
        }
    }
}

proptest! {
    // A failing schedule is printed and shrunk; no file remembers it.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_window_of_time_holds_more_than_rate_times_window_plus_quantum(
        rate in rate(),
        quantum in quantum(),
        mss in mss(),
        start in 0..=TEN_YEARS,
        calls in prop::collection::vec((0..50_000_000_u64, 0..=100_u64, 0..6_u8), 1..150),
    ) {
        let mut now = Timestamp::from_nanos(start);
        let mut pacer = Pacer::new(now, control(rate, quantum), mss);
        let mut sends = Vec::new();
        for (wait, percent, call) in calls {
            now += Duration::from_nanos(wait);
            match call {
                0 => now = pacer.next_departure(now),
                // A decision that changes nothing must not refill the bucket.
                1 => pacer.set_control(now, control(rate, quantum), mss),
                _ => {
                    let bytes = pacer.budget(now) * percent / 100;
                    pacer.on_sent(now, bytes);
                    sends.push((now, bytes));
                }
            }
        }
        assert_conforms(&sends, rate, quantum.max(mss));
    }

    #[test]
    fn a_backlogged_sender_gets_its_rate_though_it_wakes_late(
        rate in rate(),
        quantum in quantum(),
        mss in mss(),
        lateness in prop::collection::vec(0..=100_u64, 200),
    ) {
        let depth = quantum.max(mss);
        let mut now = Timestamp::ZERO;
        let mut pacer = Pacer::new(now, control(rate, quantum), mss);
        let mut sent = Bytes::ZERO;
        // What the wake-up may be late by before the bucket is full.
        let room = depth.saturating_sub((depth / 2).max(mss)) / rate;
        for percent in lateness {
            let burst = Bytes::new(pacer.budget(now).packets_floor(mss) * mss.get());
            prop_assert!(!burst.is_zero(), "woken at {now} for nothing");
            pacer.on_sent(now, burst);
            sent += burst;
            now = pacer.next_departure(now) + room * (percent as u32) / 100;
        }
        let earned = rate * now.since(Timestamp::ZERO);
        prop_assert!(sent + depth >= earned * 95 / 100, "{sent} of {earned}");
        prop_assert!(sent <= earned + depth, "{sent} of {earned}");
    }

    #[test]
    fn after_any_silence_one_burst_leaves_and_then_the_rate(
        rate in rate(),
        quantum in quantum(),
        mss in mss(),
        silence in 0..=TEN_YEARS,
    ) {
        let depth = quantum.max(mss);
        let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, quantum), mss);
        pacer.on_sent(Timestamp::ZERO, depth);
        let now = Timestamp::from_nanos(silence);
        let burst = pacer.budget(now);
        prop_assert_eq!(burst, (rate * Duration::from_nanos(silence)).min(depth));
        pacer.on_sent(now, burst);
        prop_assert_eq!(pacer.budget(now), Bytes::ZERO);
        let later = Duration::from_millis(3);
        let earned = pacer.budget(now + later);
        let due = (rate * later).min(depth);
        prop_assert!(earned == due || earned == due + Bytes::new(1), "{} of {}", earned, due);
    }

    #[test]
    fn the_departure_is_the_first_moment_with_enough_tokens(
        rate in rate(),
        quantum in quantum(),
        mss in mss(),
    ) {
        let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, quantum), mss);
        let depth = quantum.max(mss);
        pacer.on_sent(Timestamp::ZERO, depth);
        let departure = pacer.next_departure(Timestamp::ZERO);
        let wanted = (depth / 2).max(mss);
        prop_assert!(pacer.clone().budget(departure) >= wanted);
        let before = departure - Duration::from_nanos(1);
        prop_assert!(pacer.budget(before) < wanted);
    }

    #[test]
    fn a_change_of_rate_or_size_holds_from_its_moment_on(
        changes in prop::collection::vec((rate(), quantum(), mss(), 0..20_000_000_u64), 2..60),
    ) {
        let (rate, quantum, mss, _) = changes[0];
        let mut now = Timestamp::ZERO;
        let mut pacer = Pacer::new(now, control(rate, quantum), mss);
        pacer.on_sent(now, pacer.clone().budget(now));
        for (rate, quantum, mss, wait) in changes {
            pacer.set_control(now, control(rate, quantum), mss);
            let held = pacer.budget(now);
            now += Duration::from_nanos(wait);
            let earned = rate * Duration::from_nanos(wait) + Bytes::new(1);
            let budget = pacer.budget(now);
            prop_assert!(budget <= quantum.max(mss));
            prop_assert!(budget <= held + earned);
            prop_assert!(budget + Bytes::new(2) >= (held + earned).min(quantum.max(mss)));
            pacer.on_sent(now, budget);
        }
    }

    #[test]
    fn any_order_of_calls_and_times_is_survived(
        calls in prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), 0..4_u8),
            1..100,
        ),
    ) {
        let mut pacer = Pacer::new(
            Timestamp::ZERO,
            Control::unpaced(Bytes::new(12_000)),
            Bytes::new(1_200),
        );
        for (time, bytes, rate, quantum, call) in calls {
            let now = Timestamp::from_nanos(time);
            let rate = Bandwidth::from_bytes_per_sec(rate);
            match call {
                0 => pacer.set_control(now, control(rate, Bytes::new(quantum)), Bytes::new(1_200)),
                1 => pacer.on_sent(now, Bytes::new(bytes)),
                2 => prop_assert!(pacer.next_departure(now) >= now),
                _ => prop_assert!(pacer.budget(now) <= Bytes::MAX),
            }
        }
    }
}

#[test]
fn ten_years_of_sending_keep_the_rate_to_the_byte() {
    let rate = Bandwidth::from_bits_per_sec(10_000_000_001);
    let (quantum, mss) = (Bytes::new(65_536), Bytes::new(1_200));
    let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, quantum), mss);
    pacer.on_sent(Timestamp::ZERO, quantum);
    // A burst of a thousand departures every hundred days: the clock's high bits must not matter.
    for hundred_days in 0..37_u64 {
        let start = Timestamp::from_nanos(hundred_days * 100 * DAY);
        pacer.on_sent(start, pacer.clone().budget(start));
        let (mut now, mut sent) = (start, Bytes::ZERO);
        for _ in 0..1_000 {
            now = pacer.next_departure(now);
            let budget = pacer.budget(now);
            pacer.on_sent(now, budget);
            sent += budget;
        }
        let earned = rate * now.since(start);
        assert!(
            earned - sent <= Bytes::new(1),
            "{sent} of {earned} at {start}"
        );
    }
}

const DAY: u64 = 86_400 * 1_000_000_000;
const TEN_YEARS: u64 = 3_653 * DAY;
