//! `bbr2` over links: what version 2 does and does not do beside version 3.
//!
//! Payloads are 1,472 bytes unless said and a link carries 42 more for each.

use core::time::Duration;
use e2e::seed::median;
use e2e::share::{link, permille};
use e2e::sim::{Flow, FlowOutcome};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Lost of a thousand sent.
fn lost_permille(flow: &FlowOutcome) -> u64 {
    flow.packets_lost * 1_000 / flow.packets_sent
}

#[test]
fn an_ideal_link_is_used_to_94_percent_over_30_seconds() {
    for (rate, one_way) in [("100mbit", 10), ("100mbit", 50), ("20mbit", 20)] {
        let scenario = link(rate, MS * one_way, "queue 100bdp").flow(Flow::of("bbr2"));
        let outcome = scenario.run_for(SECOND * 30);
        let share = permille(&outcome, rate);
        assert!(share >= 940, "{rate} {one_way} ms: {share}");
        assert_eq!(outcome.flow(0).packets_lost, 0);
    }
}

#[test]
fn a_link_of_any_rate_and_round_trip_is_filled() {
    for (rate, one_way, seconds, least) in [
        ("64kbit", MS * 10, 120, 970),
        ("64kbit", MS * 500, 120, 860),
        ("1mbit", MS / 2, 30, 970),
        ("1mbit", MS * 150, 60, 920),
        ("1gbit", MS, 10, 950),
        ("1gbit", MS * 50, 15, 850),
    ] {
        let scenario = link(rate, one_way, "queue 2bdp").flow(Flow::of("bbr2"));
        let share = permille(&scenario.run_for(SECOND * seconds), rate);
        assert!(share >= least, "{rate} {one_way:?}: {share}");
    }
}

#[test]
fn a_shallow_queue_loses_half_a_percent_at_most() {
    for (queue, least) in [("0.05bdp", 860), ("0.1bdp", 900), ("0.5bdp", 950)] {
        let scenario = link("100mbit", MS * 20, &format!("queue {queue}")).flow(Flow::of("bbr2"));
        let outcome = scenario.run_for(SECOND * 30);
        let share = permille(&outcome, "100mbit");
        assert!(share >= least, "{queue}: {share}");
        let lost = lost_permille(outcome.flow(0));
        assert!(lost <= 5, "{queue}: {lost}");
    }
}

/// 100 Mbit/s, 40 ms, a queue of one BDP, over 30 seconds, the median of three seeds.
fn share_under_loss(controller: &str, loss: &str) -> u64 {
    let run = |seed| {
        let rest = format!("queue 1bdp loss {loss}");
        let scenario = link("100mbit", MS * 20, &rest).flow(Flow::of(controller));
        permille(&scenario.seed(seed).run_for(SECOND * 30), "100mbit")
    };
    median(3, run)
}

/// The short-term bounds begin at the window, and packet conservation has taken half of that;
/// but where the probes are it takes nothing. `bbr_links.rs` has `bbr3` keep 760 of 1,000 at 1 %.
#[test]
fn random_loss_costs_more_than_it_costs_version_3() {
    let half_a_percent = share_under_loss("bbr2", "0.5%");
    assert!(half_a_percent >= 680, "{half_a_percent}");
    let one = share_under_loss("bbr2", "1%");
    assert!((500..800).contains(&one), "{one}");
    // Above the threshold of 2 % each probe is answered.
    let three = share_under_loss("bbr2", "3%");
    assert!((20..150).contains(&three), "{three}");
}

/// The share of the first of two flows over 50 Mbit/s and 40 ms, from the tenth second on, in
/// percent; the median of three seeds.
fn share_beside(other: &str, queue: &str) -> u64 {
    let run = |seed| {
        let scenario = link("50mbit", MS * 20, &format!("queue {queue}"))
            .flow(Flow::of("bbr2"))
            .flow(Flow::of(other))
            .seed(seed);
        let outcome = scenario.run_for(SECOND * 60);
        let rate = |index| {
            let flow: &FlowOutcome = outcome.flow(index);
            let rate = flow.goodput_between(SECOND * 10, SECOND * 60);
            rate.bytes_per_sec()
        };
        rate(0) * 100 / (rate(0) + rate(1))
    };
    median(3, run)
}

#[test]
fn beside_cubic_it_gets_less_than_half_and_keeps_a_quarter() {
    for queue in ["0.5bdp", "1bdp", "4bdp"] {
        let share = share_beside("cubic", queue);
        assert!((25..50).contains(&share), "{queue}: {share}");
    }
}

#[test]
fn it_shares_with_itself_and_with_version_3() {
    for (other, least) in [("bbr2", 42), ("bbr3", 38)] {
        let share = share_beside(other, "1bdp");
        assert!((least..=58).contains(&share), "{other}: {share}");
    }
}
