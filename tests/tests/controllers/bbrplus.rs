//! `bbrplus` over links, beside the `bbr1` that it is made of.

use core::time::Duration;
use e2e::sim::{Flow, FlowOutcome, Outcome, Scenario};
use units::Gain;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// 100 Mbit/s and 40 ms.
fn run(controller: &str, rest: &str) -> Outcome {
    Scenario::new(&format!("rate 100mbit delay 20ms {rest}"))
        .return_link("delay 20ms")
        .flow(Flow::of(controller))
        .run_for(SECOND * 30)
}

#[test]
fn a_link_is_used_and_random_loss_bears_as_little_as_with_bbr1() {
    for (rest, least) in [
        ("queue 1bdp", 94_000_000),
        ("queue 1bdp loss 1%", 92_000_000),
        ("queue 1bdp loss 10%", 77_000_000),
    ] {
        let rate = run("bbrplus", rest).goodput().bits_per_sec();
        assert!(rate >= least, "{rest}: {rate}");
    }
}

/// Draining lasts until the queue is gone, but a cycle is five round trips on average instead of
/// eight: the median falls, the tail does not.
#[test]
fn a_slow_link_has_a_shorter_queue_than_with_bbr1() {
    let median = |controller: &str| {
        let outcome = Scenario::new("rate 10mbit delay 20ms queue 2bdp")
            .return_link("delay 20ms")
            .flow(Flow::of(controller))
            .run_for(SECOND * 30);
        outcome.flow(0).rtt.quantile(Gain::percent(50))
    };
    let (plus, plain) = (median("bbrplus"), median("bbr1"));
    assert!(plus + MS < plain, "{plus:?} and {plain:?}");
}

/// `bbr1` takes more than four fifths here.
#[test]
fn cubic_keeps_its_part_in_a_queue_of_one_bdp() {
    let outcome = Scenario::new("rate 50mbit delay 20ms queue 1bdp")
        .return_link("delay 20ms")
        .flow(Flow::of("bbrplus"))
        .flow(Flow::of("cubic"))
        .run_for(SECOND * 25);
    let rate = |flow: &FlowOutcome| flow.goodput_between(SECOND * 5, SECOND * 25);
    let (one, other) = (rate(outcome.flow(0)), rate(outcome.flow(1)));
    let share = one.bits_per_sec() * 100 / (one + other).bits_per_sec();
    assert!((30..60).contains(&share), "{share} %");
}

/// A round trip as short as the shortest does not put ProbeRTT off.
#[test]
fn probe_rtt_comes_every_ten_seconds() {
    let outcome = run("bbrplus", "queue 2bdp");
    let probes = outcome.flow(0).states.iter();
    let probes = probes.filter(|visit| visit.state == "ProbeRTT").count();
    assert_eq!(probes, 2);
    let outcome = run("bbr1", "queue 2bdp");
    assert!(!outcome.flow(0).state_names().contains(&"ProbeRTT"));
}

#[test]
fn two_flows_share_a_link() {
    let outcome = Scenario::new("rate 50mbit delay 20ms queue 1bdp")
        .return_link("delay 20ms")
        .flow(Flow::of("bbrplus"))
        .flow(Flow::of("bbrplus").start(SECOND))
        .run_for(SECOND * 30);
    for flow in &outcome.flows {
        let rate = flow.goodput_between(SECOND * 15, SECOND * 30);
        assert!(rate.bits_per_sec() >= 18_000_000, "{rate}");
    }
}
