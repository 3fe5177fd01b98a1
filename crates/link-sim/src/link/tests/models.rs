//! The models of loss, damage and reordering against what defines them, beyond
//! [`closed_forms`](super::closed_forms).

use super::closed_forms::{assert_near, losses, mean_burst, share};
use super::*;

/// netem's chain of four states, evaluated apart from the link: gap reception, burst reception,
/// burst loss, single loss.
struct Chain([[f64; 4]; 4]);

impl Chain {
    fn new([p13, p31, p32, p23, p14]: [f64; 5]) -> Self {
        Self([
            [1.0 - p13 - p14, 0.0, p13, p14],
            [0.0, 1.0 - p23, p23, 0.0],
            [p31, p32, 1.0 - p31 - p32, 0.0],
            [1.0, 0.0, 0.0, 0.0],
        ])
    }

    /// The share of the time in each state, by balance of the flows between them.
    fn stationary([p13, p31, p32, p23, p14]: [f64; 5]) -> [f64; 4] {
        let burst_loss = p13 / p31;
        let weights = [1.0, burst_loss * p32 / p23, burst_loss, p14];
        weights.map(|weight| weight / weights.iter().sum::<f64>())
    }

    /// Standard deviation of the share of losses among `n` packets: the sum of all covariances.
    fn error_of_share(&self, stationary: [f64; 4], n: f64) -> f64 {
        const LOST: [f64; 4] = [0.0, 0.0, 1.0, 1.0];
        let mean = stationary[2] + stationary[3];
        let mut ahead = LOST;
        let mut sum = mean * (1.0 - mean);
        for _ in 0..2_000 {
            ahead = self.0.map(|row| dot(row, ahead));
            let together = dot([0.0, 0.0, stationary[2], stationary[3]], ahead);
            sum += 2.0 * (together - mean * mean);
        }
        (sum / n).sqrt()
    }
}

fn dot(a: [f64; 4], b: [f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn four_states_have_their_stationary_loss_and_burst_lengths() {
    let n = 1_000_000;
    for chances in [
        [0.01, 0.2, 0.1, 0.3, 0.005],
        [0.001, 0.05, 0.05, 0.1, 0.01],
        [0.2, 0.4, 0.4, 0.9, 0.2],
    ] {
        let percents = chances.map(|chance| format!("{}%", chance * 100.0));
        let lost = losses(&format!("loss state {}", percents.join(" ")), n);
        let stationary = Chain::stationary(chances);
        let error = Chain::new(chances).error_of_share(stationary, n as f64);
        assert_near(share(&lost), stationary[2] + stationary[3], 5.0 * error);

        // A run of losses is one stay in burst loss, or a single loss in a gap.
        let [p13, p31, p32, p23, p14] = chances;
        let leaves = p31 + p32;
        let stays = stationary[0] * p13 + stationary[1] * p23;
        let singles = stationary[0] * p14;
        let of_runs = |of_stay: f64| (stays * of_stay + singles) / (stays + singles);
        let mean = of_runs(1.0 / leaves);
        let variance = of_runs((2.0 - leaves) / leaves.powi(2)) - mean * mean;
        let runs = n as f64 * (stays + singles);
        assert_near(mean_burst(&lost), mean, 5.0 * (variance / runs).sqrt());
    }
}

#[test]
fn four_states_are_independent_loss_by_default() {
    let n = 200_000;
    let lost = losses("loss state 5%", n);
    let error = (0.05 * 0.95 / n as f64).sqrt();
    assert_near(share(&lost), 0.05, 5.0 * error);
    let runs = n as f64 * 0.05 * 0.95;
    let deviation = 0.05_f64.sqrt() / 0.95;
    assert_near(mean_burst(&lost), 1.0 / 0.95, 5.0 * deviation / runs.sqrt());
}

#[test]
fn a_changed_loss_model_begins_without_a_burst_and_an_unchanged_one_goes_on() {
    // Bad from the second packet on, for ever.
    let changed = "loss gemodel 100% 0% at 3us loss gemodel 100% 0% 100% 0.0001%";
    let lost = losses(changed, 100);
    let good: Vec<usize> = (0..lost.len()).filter(|n| !lost[*n]).collect();
    assert_eq!(good, [0, 3]);
    let changed = "loss state 100% 0% at 3us loss state 0% 0%";
    assert_eq!(losses(changed, 6), [true, true, true, false, false, false]);

    let lost = losses("loss gemodel 100% 0% at 5us delay 1ms", 100);
    assert!(!lost[0] && lost[1..].iter().all(|lost| *lost));
}

#[test]
fn listed_packets_are_lost_and_no_others() {
    let lost = losses("loss packets 1,3-5,9", 20);
    let numbers: Vec<usize> = (1..=20).filter(|number| lost[number - 1]).collect();
    assert_eq!(numbers, [1, 3, 4, 5, 9]);
}

#[test]
fn copies_are_numbered_like_packets_in_a_list_of_losses() {
    // 1 and 2 are the first packet and its copy. 3 is the second, whose loss leaves its copy, of
    // which the model is not asked again. 4 and 5 are the third and its copy.
    let out = send(
        &mut link("duplicate 100% loss packets 3,5"),
        3,
        100,
        Duration::from_millis(1),
    );
    assert_eq!(numbers(&out), [0, 0, 1, 2]);
}

/// P(x ≤ `probability`) of netem's correlated numbers in 0 … 1, which `new × (1−ρ) + last × ρ`
/// leaves as it is: F(x) = ρ/(1−ρ) ∫ F(y) dy from (x−1+ρ)/ρ to x/ρ, solved by iteration.
fn correlated_share(probability: f64, rho: f64) -> f64 {
    const STEPS: usize = 4_000;
    let mut share: Vec<f64> = (0..=STEPS).map(|i| i as f64 / STEPS as f64).collect();
    for _ in 0..60 {
        let mut integral = vec![0.0; STEPS + 1];
        for i in 1..=STEPS {
            integral[i] = integral[i - 1] + (share[i - 1] + share[i]) / 2.0 / STEPS as f64;
        }
        let up_to = |y: f64| match y {
            y if y <= 0.0 => 0.0,
            y if y >= 1.0 => integral[STEPS] + (y - 1.0),
            y => {
                let (whole, part) = ((y * STEPS as f64) as usize, (y * STEPS as f64).fract());
                integral[whole] + (integral[whole + 1] - integral[whole]) * part
            }
        };
        share = (0..=STEPS)
            .map(|i| i as f64 / STEPS as f64)
            .map(|x| rho / (1.0 - rho) * (up_to(x / rho) - up_to((x - 1.0 + rho) / rho)))
            .collect();
    }
    share[(probability * STEPS as f64).round() as usize]
}

/// Standard error of a share of events that depend on each other over much less than 1,000.
fn batch_error(events: &[bool]) -> f64 {
    let batches: Vec<f64> = events.chunks_exact(1_000).map(share).collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let square = batches
        .iter()
        .map(|batch| (batch - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    (square / n).sqrt()
}

#[test]
fn correlated_loss_is_distorted_as_netem_distorts_it() {
    for (percent, rho_percent) in [(30, 50), (10, 25), (50, 75), (5, 5), (80, 50)] {
        let lost = losses(&format!("loss {percent}% {rho_percent}%"), 1_000_000);
        let expected = correlated_share(f64::from(percent) / 100.0, f64::from(rho_percent) / 100.0);
        assert_near(share(&lost), expected, 5.0 * batch_error(&lost));
    }
    // What the documentation warns of.
    assert_near(correlated_share(0.01, 0.25), 2.42e-6, 0.02e-6);
    assert!(share(&losses("loss 1% 25%", 1_000_000)) < 2e-5);
}

#[test]
fn corruption_has_its_probability_and_takes_nothing() {
    let n = 200_000;
    let mut link = link("corrupt 3%");
    (0..n).for_each(|number| link.handle_packet(at(number), packet(number, 100)));
    let out: Vec<_> = core::iter::from_fn(|| link.poll_output(Timestamp::MAX)).collect();
    assert_eq!(out.len() as u64, n);
    let corrupted: Vec<bool> = out.iter().map(|out| out.packet.corrupted).collect();
    assert_near(
        share(&corrupted),
        0.03,
        5.0 * (0.03 * 0.97 / n as f64).sqrt(),
    );
    let counted = corrupted.iter().filter(|corrupted| **corrupted).count() as u64;
    assert_eq!(link.stats().corrupted.packets, counted);
}

#[test]
fn loss_that_marks_leaves_capable_packets_alive_and_takes_the_others() {
    let n = 200_000;
    for (ecn, lost) in [
        (Ecn::NotEct, true),
        (Ecn::Ect0, false),
        (Ecn::Ect1, false),
        (Ecn::Ce, false),
    ] {
        let mut link = link("loss 10% ecn");
        for number in 0..n {
            link.handle_packet(at(number), packet(number, 100).ecn(ecn));
        }
        let out: Vec<_> = core::iter::from_fn(|| link.poll_output(Timestamp::MAX)).collect();
        let ce = out.iter().filter(|out| out.packet.ecn == Ecn::Ce).count() as u64;
        let stats = link.stats();
        let error = 5.0 * (0.1 * 0.9 / n as f64).sqrt();
        let taken = stats.dropped.loss.packets;
        let marked = stats.marked.packets;
        assert_near((taken + marked) as f64 / n as f64, 0.1, error);
        assert_eq!((taken > 0, marked > 0), (lost, !lost), "{ecn:?}");
        assert_eq!(out.len() as u64 + taken, n);
        assert_eq!(ce, if ecn == Ecn::Ce { n } else { marked });
    }
}

/// Which packets overtook those that a delay of 10 ms held, of `n` that come 1 ms apart.
fn skips_delay(reorder: &str, n: u64) -> Vec<bool> {
    let text = format!("delay 10ms reorder {reorder}");
    let out = send(&mut link(&text), n, 100, Duration::from_millis(1));
    let mut jumped = vec![false; n as usize];
    for (due, number) in out {
        assert!([0, 10_000].contains(&(due - number * 1_000)));
        jumped[number as usize] = due == number * 1_000;
    }
    jumped
}

#[test]
fn correlated_reordering_is_distorted_like_correlated_loss() {
    let jumped = skips_delay("25% 50%", 500_000);
    let expected = correlated_share(0.25, 0.5);
    assert_near(share(&jumped), expected, 5.0 * batch_error(&jumped));
}

#[test]
fn a_gap_keeps_reordered_packets_apart() {
    // Behind each, N − 1 are delayed; then every packet has the chance p: a cycle of N − 1 + 1/p.
    let n = 300_000;
    for (p, gap) in [(0.5, 5.0), (0.1, 3.0)] {
        let jumped = skips_delay(&format!("{}% gap {gap}", p * 100.0), n);
        let cycle: f64 = gap - 1.0 + 1.0 / p;
        let variance = (1.0 - p) / (p * p);
        let error = (variance / cycle.powi(3) / n as f64).sqrt();
        assert_near(share(&jumped), 1.0 / cycle, 5.0 * error);
        let mut places = (0..jumped.len()).filter(|number| jumped[*number]);
        let mut last = places.next().unwrap();
        assert!(places.all(|place| place - core::mem::replace(&mut last, place) >= gap as usize));
    }
}

#[test]
fn a_jitter_beyond_32_bits_of_nanoseconds_is_not_cut() {
    // netem has none above 2.1 s; 10 s of it have a mean of 20 s and a deviation of 10 ÷ √3 s.
    let mut link = link("delay 20s 10s 1% limit 4000000000");
    let out = send(&mut link, 20_000, 100, Duration::from_micros(1));
    let delays: Vec<f64> = out.iter().map(|(due, n)| (due - n) as f64 / 1e6).collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let deviation = 10.0 / 3_f64.sqrt();
    assert_near(mean, 20.0, 5.0 * deviation / (delays.len() as f64).sqrt());
    assert!(delays.iter().any(|delay| *delay > 29.5));
}
