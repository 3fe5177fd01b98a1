//! Live media: what an encoder is told to send, and datagrams that do not go stale.

#[path = "../../../crates/transport/examples/live.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod example;

mod beside;
mod datagrams;
mod probing;

use crate::plan_over;
use e2e::choose;
use example::{Encoder, LATER, LINK, LOSSY, Outcome, SETTLED, Scenario, percentile};
use paceline::DatagramOptions;
use paceline::testing::World;
use std::time::Duration;
use units::Bandwidth;

const CONTROLLERS: [&str; 7] = [
    "cubic", "new_reno", "bbr1", "bbr2", "bbr3", "copa", "paceline",
];

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn mbit(rate: f64) -> Bandwidth {
    Bandwidth::from_bits_per_sec((rate * 1e6) as u64)
}

fn run(scenario: &Scenario, controller: &str) -> Outcome {
    scenario.run(controller).expect("a scenario that runs")
}

fn alone(encoder: Encoder) -> Scenario {
    Scenario {
        has_bulk: false,
        encoder,
        ..Scenario::over(LINK)
    }
}

/// The hints of frames made from `since` on.
fn hints(outcome: &Outcome, since: Duration) -> impl Iterator<Item = Bandwidth> {
    let frames = outcome.hints.iter().filter(move |(made, _)| *made >= since);
    frames.map(|(_, hint)| *hint)
}

#[test]
fn a_source_below_the_links_rate_is_told_that_more_would_fit() {
    for controller in CONTROLLERS {
        let outcome = run(&alone(Encoder::Fixed(mbit(2.0))), controller);
        let least = hints(&outcome, SECOND * 5).min().expect("frames");
        assert!(least >= mbit(4.0), "{controller}: {least}");
        let most = hints(&outcome, Duration::ZERO).max().expect("frames");
        assert!(most <= mbit(9.5), "{controller}: {most}");
    }
}

#[test]
fn an_encoder_that_follows_comes_to_four_fifths_of_the_link() {
    for controller in CONTROLLERS {
        let outcome = run(&alone(Encoder::Following(mbit(2.0))), controller);
        let rates: Vec<_> = hints(&outcome, SETTLED).collect();
        let sum: u64 = rates.iter().map(|rate| rate.bits_per_sec()).sum();
        let mean = sum / rates.len() as u64;
        assert!(
            (8_000_000..9_500_000).contains(&mean),
            "{controller}: {mean}"
        );
    }
}

#[test]
fn a_fall_of_the_link_is_followed_within_a_second() {
    for controller in CONTROLLERS {
        let scenario = Scenario {
            later: Some((SECOND * 10, LATER.to_owned())),
            ..alone(Encoder::Following(mbit(2.0)))
        };
        let outcome = run(&scenario, controller);
        let most = hints(&outcome, SECOND * 11).max().expect("frames");
        assert!(most <= mbit(2.0), "{controller}: {most}");
        let least = hints(&outcome, SECOND * 13).min().expect("frames");
        assert!(least >= mbit(1.2), "{controller}: {least}");
        let latest = *outcome.times(SETTLED).last().expect("frames");
        assert!(latest <= MS * 300, "{controller}: {latest:?}");
    }
}

#[test]
fn frames_beside_a_bulk_stream_of_paceline_are_in_time() {
    let outcome = run(&Scenario::over(LINK), "paceline");
    let times = outcome.times(SECOND * 3);
    // 30 ms, 7 ms of the frame's own packets, and the queue.
    assert!(percentile(&times, 0.5) <= MS * 42);
    assert!(percentile(&times, 0.99) <= MS * 60);
    let (_, hint) = outcome.hints.last().expect("frames");
    assert!((mbit(8.0)..mbit(9.5)).contains(hint), "{hint}");
}

#[test]
fn no_frame_waits_behind_stale_ones() {
    for controller in CONTROLLERS {
        let outcome = run(&Scenario::over(LOSSY), controller);
        let latest = *outcome.times(Duration::ZERO).last().expect("frames");
        // The lifetime, and the link with its queue.
        assert!(latest <= MS * (100 + 30 + 120), "{controller}: {latest:?}");
    }
    let hoarding = Scenario {
        datagrams: DatagramOptions::default(),
        buffer: 1 << 20,
        ..Scenario::over(LOSSY)
    };
    let latest = *run(&hoarding, "cubic")
        .times(SETTLED)
        .last()
        .expect("frames");
    assert!(latest > SECOND * 2, "without a lifetime: {latest:?}");
}

#[test]
fn the_hint_obeys_the_application() {
    let mut world = World::new(1);
    let mut plan = plan_over(&mut world, "delay 30ms rate 10mbit queue 2bdp");
    plan.client.congestion(choose("bbr3"));
    plan.client_load = Some(paceline::testing::Load::Endless);
    let ends = world.add_connection(&plan);
    world.run_until(SECOND * 5);
    let estimate = world.path_estimate(ends.client);
    assert!(estimate.send_rate_hint > mbit(6.0), "{estimate:?}");
    assert!(estimate.queueing_delay < MS * 120, "{estimate:?}");
    world.set_max_rate(ends.client, Some(mbit(1.0)));
    let hint = world.path_estimate(ends.client).send_rate_hint;
    assert!(hint <= mbit(0.9), "{hint}");
}
