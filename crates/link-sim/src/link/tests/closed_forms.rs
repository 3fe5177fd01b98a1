//! Models against the formulas that define them, each with its seed. The tolerance is five
//! standard errors, so that a right model fails once in two million seeds.

use super::*;

/// Which of `count` packets a link lost.
pub(super) fn losses(text: &str, count: u64) -> Vec<bool> {
    let arrived = numbers(&send(&mut link(text), count, 100, Duration::from_micros(1)));
    let mut lost = vec![true; count as usize];
    arrived.iter().for_each(|n| lost[*n as usize] = false);
    lost
}

pub(super) fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Mean length of the runs of losses.
pub(super) fn mean_burst(lost: &[bool]) -> f64 {
    let begins = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let all = lost.iter().filter(|lost| **lost).count();
    all as f64 / begins.max(1) as f64
}

#[track_caller]
pub(super) fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} ± {tolerance}"
    );
}

#[test]
fn random_loss_has_its_probability_and_no_memory() {
    let n = 200_000;
    for percent in [0.1, 1.0, 30.0] {
        let p = percent / 100.0;
        let lost = losses(&format!("loss {percent}%"), n);
        assert_near(share(&lost), p, 5.0 * (p * (1.0 - p) / n as f64).sqrt());
        // Runs of a Bernoulli sequence are geometric: mean 1/(1−p), variance p/(1−p)².
        let runs = n as f64 * p * (1.0 - p);
        let deviation = p.sqrt() / (1.0 - p);
        assert_near(
            mean_burst(&lost),
            1.0 / (1.0 - p),
            5.0 * deviation / runs.sqrt(),
        );
    }
    assert!(losses("loss 100%", 1_000).iter().all(|lost| *lost));
    assert!(!losses("loss 0%", 1_000).iter().any(|lost| *lost));
}

#[test]
fn gilbert_elliott_has_its_stationary_loss_and_geometric_bursts() {
    let n = 1_000_000;
    for (p, r) in [(0.01, 0.25), (0.001, 0.1), (0.2, 0.5)] {
        let text = format!("loss gemodel {}% {}%", p * 100.0, r * 100.0);
        let lost = losses(&text, n);
        let bad = p / (p + r);
        // The chain's correlation 1 − p − r widens the error by (2 − p − r)/(p + r).
        let error = (bad * (1.0 - bad) / n as f64 * (2.0 - p - r) / (p + r)).sqrt();
        assert_near(share(&lost), bad, 5.0 * error);
        // Everything is lost in the bad state, so a burst is a stay there: mean 1/r.
        let bursts = n as f64 * bad * r;
        let deviation = (1.0 - r).sqrt() / r;
        assert_near(mean_burst(&lost), 1.0 / r, 5.0 * deviation / bursts.sqrt());
    }
}

#[test]
fn gilbert_elliott_loses_in_both_states_as_told() {
    let lost = losses("loss gemodel 1% 10% 50% 0.5%", 1_000_000);
    let bad: f64 = 0.01 / 0.11;
    assert_near(share(&lost), bad * 0.5 + (1.0 - bad) * 0.005, 0.002);
}

#[test]
fn duplication_has_its_probability() {
    let mut link = link("duplicate 5%");
    send(&mut link, 100_000, 100, Duration::ZERO);
    let share = link.stats().duplicated.packets as f64 / 1e5;
    assert_near(share, 0.05, 5.0 * (0.05 * 0.95 / 1e5_f64).sqrt());
}

#[test]
fn the_copy_of_a_packet_meets_the_loss_model_for_itself() {
    // Lost: one copy is left. Not lost: the packet, and its copy in half of the cases.
    let out = send(
        &mut link("duplicate 100% loss 50%"),
        100_000,
        100,
        Duration::ZERO,
    );
    let expected = 0.5 + 0.5 * 1.5;
    // One or two, the second with probability 1/4.
    assert_near(
        out.len() as f64 / 1e5,
        expected,
        5.0 * (0.25 * 0.75 / 1e5_f64).sqrt(),
    );
}

#[test]
fn reordering_has_its_probability_and_needs_others_to_wait() {
    // Packets 1 ms apart; one that is not delayed overtakes the ten before it.
    let out = send(
        &mut link("delay 10ms reorder 25%"),
        100_000,
        100,
        Duration::from_millis(1),
    );
    let at_once = out.iter().filter(|(due, n)| *due == n * 1_000).count();
    assert_near(
        at_once as f64 / 1e5,
        0.25,
        5.0 * (0.25 * 0.75 / 1e5_f64).sqrt(),
    );
    assert!(
        out.iter()
            .all(|(due, n)| [0, 10_000].contains(&(due - n * 1_000)))
    );
}

/// Mean and deviation of the delay in milliseconds, the smallest and the largest.
fn delays(text: &str) -> (f64, f64, f64, f64) {
    let gap = Duration::from_millis(1);
    let out = send(&mut link(text), 100_000, 100, gap);
    let delays: Vec<f64> = out
        .iter()
        .map(|(due, n)| *due as f64 / 1e3 - *n as f64)
        .collect();
    let count = delays.len() as f64;
    let mean = delays.iter().sum::<f64>() / count;
    let square = delays
        .iter()
        .map(|delay| (delay - mean).powi(2))
        .sum::<f64>()
        / count;
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let most = delays.iter().copied().fold(0.0, f64::max);
    (mean, square.sqrt(), least, most)
}

#[test]
fn delays_have_the_moments_of_their_distribution() {
    // Jitter 10 ms around 50 ms; pareto and paretonormal as tc's tables give them (docs/links.md).
    for (name, mean, deviation, range) in [
        ("uniform", 50.0, 10.0 / 3_f64.sqrt(), 40.0..=60.0),
        ("normal", 50.0, 10.0, 10.0..=90.0),
        ("pareto", 49.67, 8.21, 43.3..=90.0),
        ("paretonormal", 49.75, 8.35, 35.0..=90.0),
    ] {
        let (m, d, least, most) = delays(&format!("delay 50ms 10ms distribution {name}"));
        assert_near(m, mean, 0.15);
        assert_near(d, deviation, 0.15);
        assert!(
            range.contains(&least) && range.contains(&most),
            "{name}: {least} to {most}"
        );
    }
}

#[test]
fn a_jitter_larger_than_the_delay_is_cut_at_no_delay() {
    let (mean, _, least, most) = delays("delay 5ms 10ms");
    assert_eq!(least, 0.0);
    assert!(most <= 15.0);
    // Uniform in −5 … 15, negative as zero: ∫₀¹⁵ x/20 dx.
    assert_near(mean, 5.625, 0.08);
}

#[test]
fn jitter_that_keeps_order_is_later_than_jitter_that_does_not() {
    // With packets much closer than the jitter, each waits for the slowest before it.
    let (free, ..) = delays("delay 50ms 10ms");
    let (ordered, _, _, most) = delays("delay 50ms 10ms ordered");
    assert!(ordered > free + 3.0 && most <= 60.0, "{ordered} {free}");
}

#[test]
fn a_backlogged_link_carries_its_rate_over_every_interval() {
    let rate = Bandwidth::from_bits_per_sec(100_000_000);
    for text in ["rate 100mbit queue 100p", "rate 100mbit limit 100"] {
        let out = send(&mut link(text), 90_000, 1_494, Duration::from_micros(119));
        for millis in [1_u64, 10, 100, 1_000, 10_000] {
            let window = 500_000..500_000 + millis * 1_000;
            let carried = out.iter().filter(|(due, _)| window.contains(due)).count() as u64;
            let expected = (rate * Duration::from_millis(millis)).get();
            assert!(
                (carried * 1_494).abs_diff(expected) <= 1_494,
                "{text}, {millis} ms"
            );
        }
    }
}
