use super::*;
use core::time::Duration;
use units::Rng;

const MSS: Bytes = Bytes::new(1_200);

fn control(rate: Bandwidth, quantum: Bytes) -> Control {
    Control {
        cwnd: Bytes::MAX,
        pacing_rate: rate,
        send_quantum: quantum,
    }
}

/// Sends whenever allowed, woken up to `late` after the time asked for; (time, bytes) of each send.
fn greedy(
    pacer: &mut Pacer,
    start: Timestamp,
    run: Duration,
    late: impl Fn(&mut Rng) -> Duration,
) -> alloc::vec::Vec<(Timestamp, Bytes)> {
    let mut rng = Rng::new(11);
    let (mut now, mut sends) = (start, alloc::vec::Vec::new());
    while now < start + run {
        let burst = Bytes::new(pacer.budget(now).packets_floor(MSS) * MSS.get());
        if !burst.is_zero() {
            pacer.on_sent(now, burst);
            sends.push((now, burst));
        }
        now = pacer.next_departure(now) + late(&mut rng);
    }
    sends
}

#[test]
fn bytes_in_any_window_stay_below_rate_times_window_plus_quantum() {
    for (mbit, quantum) in [(1, 2_400), (50, 6_250), (1_000, 65_536), (10_000, 65_536)] {
        let rate = Bandwidth::from_bits_per_sec(mbit * 1_000_000);
        let quantum = Bytes::new(quantum);
        let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, quantum), MSS);
        let late = |rng: &mut Rng| Duration::from_nanos(rng.below(2_000_000));
        let sends = greedy(
            &mut pacer,
            Timestamp::ZERO,
            Duration::from_millis(200),
            late,
        );
        assert!(sends.len() > 1);
        for (first, (start, _)) in sends.iter().enumerate() {
            let mut sum = Bytes::ZERO;
            for (end, bytes) in sends[first..].iter().take(50) {
                sum += *bytes;
                assert!(sum <= rate * end.since(*start) + quantum, "{mbit} Mbit/s");
            }
        }
    }
}

#[test]
fn a_backlogged_sender_woken_a_quarter_quantum_late_keeps_its_rate() {
    let rate = Bandwidth::from_bits_per_sec(50_000_000);
    let quantum = rate * Duration::from_millis(1);
    let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, quantum), MSS);
    let late = |rng: &mut Rng| Duration::from_nanos(rng.below(250_000));
    let sends = greedy(&mut pacer, Timestamp::ZERO, Duration::from_secs(2), late);
    let sent: Bytes = sends.iter().map(|(_, bytes)| *bytes).sum();
    let due = rate * Duration::from_secs(2);
    assert!(
        sent >= Bytes::new(due.get() * 99 / 100) && sent <= due + quantum,
        "{sent} of {due}"
    );
}

#[test]
fn idle_time_earns_one_quantum_and_no_more() {
    let quantum = Bytes::new(6_000);
    let mut pacer = Pacer::new(
        Timestamp::ZERO,
        control(Bandwidth::from_bits_per_sec(1_000_000), quantum),
        MSS,
    );
    pacer.on_sent(Timestamp::ZERO, quantum);
    assert_eq!(pacer.budget(Timestamp::ZERO), Bytes::ZERO);
    let a_decade = Timestamp::ZERO + Duration::from_secs(10 * 366 * 86_400);
    assert_eq!(pacer.budget(a_decade), quantum);
}

#[test]
fn a_new_rate_holds_from_its_moment_on() {
    let slow = Bandwidth::from_bytes_per_sec(1_000);
    let fast = Bandwidth::from_bytes_per_sec(1_000_000);
    let quantum = Bytes::new(10_000);
    let mut pacer = Pacer::new(Timestamp::ZERO, control(slow, quantum), MSS);
    pacer.on_sent(Timestamp::ZERO, quantum);
    let second = Timestamp::from_millis(1_000);
    pacer.set_control(second, control(fast, quantum), MSS);
    assert_eq!(pacer.budget(second), Bytes::new(1_000));
    assert_eq!(
        pacer.budget(second + Duration::from_millis(2)),
        Bytes::new(3_000)
    );
}

#[test]
fn packets_that_do_not_wait_are_paid_off_by_those_that_do() {
    let rate = Bandwidth::from_bytes_per_sec(1_000_000);
    let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, MSS * 2), MSS);
    pacer.on_sent(Timestamp::ZERO, MSS * 3);
    assert_eq!(pacer.budget(Timestamp::ZERO), Bytes::ZERO);
    let next = pacer.next_departure(Timestamp::ZERO);
    assert_eq!(next, Timestamp::ZERO + (MSS * 2) / rate);
    assert_eq!(pacer.budget(next), MSS);
}

#[test]
fn the_departure_asked_for_finds_its_tokens_there_at_any_rate() {
    for bits in [64_000, 1_000_003, 100_000_000, 9_999_999_999] {
        let rate = Bandwidth::from_bits_per_sec(bits);
        let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, MSS * 2), MSS);
        let mut now = Timestamp::ZERO;
        for _ in 0..1_000 {
            let budget = pacer.budget(now);
            assert!(budget >= MSS, "{budget} at {now} for {rate}");
            pacer.on_sent(now, budget);
            now = pacer.next_departure(now);
        }
    }
}

#[test]
fn an_unpaced_sender_never_waits() {
    let mut pacer = Pacer::new(Timestamp::ZERO, Control::unpaced(Bytes::new(12_000)), MSS);
    pacer.on_sent(Timestamp::ZERO, Bytes::new(1 << 40));
    assert_eq!(pacer.budget(Timestamp::ZERO), Bytes::MAX);
    assert_eq!(pacer.next_departure(Timestamp::ZERO), Timestamp::ZERO);
}

#[test]
fn who_has_looked_ahead_gets_no_tokens_of_the_future() {
    let rate = Bandwidth::from_bytes_per_sec(1_000_000);
    let mut pacer = Pacer::new(Timestamp::ZERO, control(rate, MSS * 4), MSS);
    pacer.on_sent(Timestamp::ZERO, MSS * 4);
    let half = pacer.next_departure(Timestamp::ZERO);
    assert_eq!(half, Timestamp::from_nanos(2_400_000));
    // There turned out to be nothing to send; later there is, and it is not that time yet.
    assert_eq!(pacer.budget(half), MSS * 2);
    let now = Timestamp::from_nanos(400_000);
    assert_eq!(pacer.next_departure(now), half);
    assert_eq!(pacer.budget(now), MSS * 2);
}
