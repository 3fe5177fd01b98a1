//! `bbr3:ambient_loss=on`: random loss does not slow it, and congestion does as it does `bbr3`.
//!
//! Payloads are 1,472 bytes and a link carries 1,514 bytes for each. The bound of a link with
//! random loss p is its rate × (1 − p) × 1,472 ÷ 1,514.

use core::time::Duration;
use e2e::share;
use e2e::sim::{Flow, FlowOutcome, Outcome, Scenario};
use units::{Bytes, Gain};

const PLAIN: &str = "bbr3";
const AMBIENT: &str = "bbr3:ambient_loss=on";
const SEEDS: core::ops::RangeInclusive<u64> = 1..=3;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A link of this rate and round-trip time.
fn link(rate: &str, rtt: Duration, rest: &str) -> Scenario {
    share::link(rate, rtt / 2, rest)
}

/// 100 Mbit/s with a queue of one BDP, which packets reach only after so many were lost.
fn lossy_before(rtt: Duration, percent: u64) -> Scenario {
    link("100mbit", rtt, &format!("queue 1bdp loss {percent}%")).flow(Flow::of(AMBIENT))
}

/// The same, but that packets are lost after the bottleneck.
fn lossy_after(rtt: Duration, percent: u64) -> Scenario {
    let delay = units::duration::display(rtt / 2);
    Scenario::new(&format!("delay {delay} loss {percent}%"))
        .return_link(&format!("delay {delay}"))
        .flow(Flow::of(AMBIENT).access("rate 100mbit queue 1bdp"))
}

/// Goodput in tenths of a percent of the bound, for each seed.
fn permille_of_bound(scenario: &Scenario, percent: u64) -> [u64; 3] {
    let bound = share::payload_rate("100mbit") * Gain::percent(percent).complement();
    [1, 2, 3].map(|seed| {
        let outcome = scenario.clone().seed(seed).run_for(SECOND * 30);
        outcome.goodput().bytes_per_sec() * 1_000 / bound.bytes_per_sec()
    })
}

fn assert_used(rtt: Duration) {
    for percent in [1, 3, 5, 10] {
        for (place, scenario) in [
            ("before", lossy_before(rtt, percent)),
            ("after", lossy_after(rtt, percent)),
        ] {
            let shares = permille_of_bound(&scenario, percent);
            assert!(
                shares.iter().sum::<u64>() >= 3 * 920 && shares.iter().all(|share| *share >= 915),
                "{rtt:?}, {percent} % {place} the bottleneck: {shares:?}"
            );
        }
    }
}

#[test]
fn at_40_ms_random_loss_leaves_92_percent_of_the_bound() {
    assert_used(MS * 40);
}

#[test]
fn at_50_ms_random_loss_leaves_92_percent_of_the_bound() {
    assert_used(MS * 50);
}

#[test]
fn at_150_ms_random_loss_leaves_92_percent_of_the_bound() {
    assert_used(MS * 150);
}

#[test]
fn without_loss_nothing_differs() {
    for rtt in [MS * 20, MS * 100] {
        let run = |controller| {
            let scenario = link("100mbit", rtt, "queue 100bdp").flow(Flow::of(controller));
            scenario.run_for(SECOND * 10)
        };
        let (plain, ambient) = (run(PLAIN), run(AMBIENT));
        assert_eq!(plain.flow(0).packets_lost, 0);
        assert_eq!(plain.flow(0).points, ambient.flow(0).points);
    }
}

fn lost_permyriad(flow: &FlowOutcome) -> u64 {
    flow.packets_lost * 10_000 / flow.packets_sent
}

/// Lost packets in hundredths of a percent, under plain `bbr3` and with the rule.
fn losses(scenario: &Scenario, flow: impl Fn(&str) -> Flow, seed: u64) -> [u64; 2] {
    [PLAIN, AMBIENT].map(|controller| {
        let scenario = scenario.clone().flow(flow(controller)).seed(seed);
        lost_permyriad(scenario.run_for(SECOND * 30).flow(0))
    })
}

#[test]
fn a_very_short_queue_loses_no_more() {
    let scenario = link("100mbit", MS * 40, "queue 0.05bdp");
    for seed in SEEDS {
        let [plain, ambient] = losses(&scenario, Flow::of, seed);
        assert!(ambient <= plain.max(250), "{ambient} against {plain}");
    }
}

/// A queue of the bucket's size drops what the policer would. From 10 to 80 ms: the shorter ones
/// show no delay that differs from jitter.
#[test]
fn a_policer_takes_no_more() {
    for bucket in ["5kb", "10kb", "40kb"] {
        let scenario = Scenario::new(&format!("rate 4mbit delay 30ms queue {bucket}"))
            .return_link("delay 32ms");
        let policed =
            |controller: &str| Flow::of(controller).access("rate 16mbit delay 2ms queue 1000p");
        for seed in SEEDS {
            let [plain, ambient] = losses(&scenario, policed, seed);
            // A packet or two more of the 10,000 are chance.
            assert!(ambient <= plain + 2, "{bucket}: {ambient} against {plain}");
        }
    }
}

/// The estimate of before is twice the rate, and the queue too short to show. Where the drop falls
/// in a cycle makes more of a difference than the rule: runs have from 0.9 to 1.8 % of loss.
#[test]
fn a_link_that_loses_half_of_its_rate_teaches_no_ambient_loss() {
    let scenario = link("100mbit", MS * 40, "queue 25kb")
        .change_link(SECOND * 10, "rate 50mbit delay 20ms queue 25kb");
    let runs: Vec<[u64; 2]> = (1..=16)
        .map(|seed| losses(&scenario, Flow::of, seed))
        .collect();
    let mean = |which: usize| runs.iter().map(|run| run[which]).sum::<u64>() / 16;
    let (plain, ambient) = (mean(0), mean(1));
    assert!(ambient <= plain + 10, "{ambient} against {plain}: {runs:?}");
    assert!(runs.iter().all(|[_, ambient]| *ambient <= 250), "{runs:?}");
}

#[test]
fn loss_that_ends_is_made_good_no_more() {
    let scenario = link("100mbit", MS * 40, "queue 25kb loss 10%")
        .change_link(SECOND * 10, "rate 100mbit delay 20ms queue 25kb")
        .flow(Flow::of(AMBIENT));
    for seed in SEEDS {
        let outcome = scenario.clone().seed(seed).run_for(SECOND * 30);
        let flow = outcome.flow(0);
        let lost = flow.packets_lost - flow.point_at(SECOND * 15).packets_lost;
        // 100 Mbit/s are 8,256 packets a second.
        assert!(lost * 40 <= 8_256 * 15, "{lost}");
    }
}

/// The share that a flow gets beside cubic over a minute, in percent, the mean of eight seeds: one
/// run against another differs by ten.
fn share_beside_cubic(controller: &str, queue: &str) -> u64 {
    let share = |seed| {
        let outcome = link("50mbit", MS * 40, &format!("queue {queue}"))
            .flow(Flow::of(controller))
            .flow(Flow::of("cubic"))
            .seed(seed)
            .run_for(SECOND * 60);
        let all: Bytes = outcome.flows.iter().map(|flow| flow.delivered).sum();
        outcome.flow(0).delivered.get() * 100 / all.get()
    };
    (1..=8).map(share).sum::<u64>() / 8
}

#[test]
fn the_share_beside_cubic_stays() {
    for queue in ["1bdp", "4bdp"] {
        let plain = share_beside_cubic(PLAIN, queue);
        let ambient = share_beside_cubic(AMBIENT, queue);
        assert!(
            ambient.abs_diff(plain) <= 5,
            "{queue}: {ambient} against {plain}"
        );
    }
}

/// What the slower of two flows gets in the second minute, in Mbit/s.
fn least_of_two(outcome: &Outcome) -> u64 {
    let flows = outcome.flows.iter();
    let rates = flows.map(|flow| flow.goodput_between(SECOND * 60, SECOND * 120));
    rates.min().expect("there are two flows").bits_per_sec() / 1_000_000
}

/// A slow flow gets few samples, so its estimate may stay low for a minute.
#[test]
fn two_flows_share_a_lossy_link() {
    for (rest, least, mean) in [
        ("queue 1bdp loss 1%", 15, 30),
        ("queue 1bdp loss 5%", 28, 38),
        ("queue 0.05bdp loss 5%", 38, 40),
    ] {
        let run = |seed| {
            let scenario = link("100mbit", MS * 40, rest)
                .flow(Flow::of(AMBIENT))
                .flow(Flow::of(AMBIENT).start(SECOND));
            least_of_two(&scenario.seed(seed).run_for(SECOND * 120))
        };
        let rates = [1, 2, 3].map(run);
        assert!(rates.iter().all(|rate| *rate >= least), "{rest}: {rates:?}");
        assert!(rates.iter().sum::<u64>() >= 3 * mean, "{rest}: {rates:?}");
    }
}
