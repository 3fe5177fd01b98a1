//! `bbr3` over links of all kinds: of any rate and round trip, with random loss, with packets that
//! overtake each other, and shared; `bbr2` where it does as well.
//!
//! Shares are shares of what a link can deliver of payload.

use core::time::Duration;
use e2e::seed::median;
use e2e::share::{link, payload_rate, permille, permille_under_loss};
use e2e::sim::{Flow, Scenario};
use e2e::watch::{Seen, watch};
use units::{Gain, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_ideal_link_is_used_to_94_percent_over_30_seconds() {
    for controller in ["bbr3", "bbr2"] {
        for (rate, one_way) in [("100mbit", 10), ("100mbit", 50), ("20mbit", 20)] {
            let scenario = link(rate, MS * one_way, "queue 100bdp").flow(Flow::of(controller));
            let outcome = scenario.run_for(SECOND * 30);
            let share = permille(&outcome, rate);
            assert!(share >= 940, "{controller} {rate} {one_way} ms: {share}");
            assert_eq!(outcome.flow(0).packets_lost, 0, "{controller} {rate}");
        }
    }
}

/// What `bbr3` and `bbr2` use of it at least.
#[test]
fn a_link_of_any_rate_and_round_trip_is_filled() {
    for (rate, one_way, seconds, least) in [
        ("64kbit", MS * 10, 120, [970, 970]),
        ("64kbit", MS * 500, 120, [870, 860]),
        ("1mbit", MS / 2, 30, [970, 970]),
        ("1mbit", MS * 150, 60, [930, 920]),
        ("1gbit", MS, 10, [950, 950]),
        ("1gbit", MS * 50, 15, [850, 850]),
        ("10gbit", MS / 2, 2, [940, 940]),
    ] {
        for (controller, least) in ["bbr3", "bbr2"].into_iter().zip(least) {
            let scenario = link(rate, one_way, "queue 2bdp").flow(Flow::of(controller));
            let share = permille(&scenario.run_for(SECOND * seconds), rate);
            assert!(share >= least, "{controller} {rate} {one_way:?}: {share}");
        }
    }
}

/// While cruising, each round with loss lowers the short-term bound to what was delivered: by the
/// pacing margin of 1 % and by what was lost in the best stretch of the round. 63 rounds of that
/// are what the draft means to bear (§5.3.3.8.3); they cost a fifth of the rate, not all of it.
#[test]
fn random_loss_of_one_percent_costs_a_fifth_and_not_everything() {
    let share = permille_under_loss("bbr3", "1%");
    assert!((760..=860).contains(&share), "{share}");
    let reno = permille_under_loss("new_reno", "1%");
    assert!(share >= reno * 10, "{share} against {reno}");
    let share = permille_under_loss("bbr3", "0.1%");
    assert!(share >= 870, "{share}");
    // Without the margin the bound falls by the loss alone.
    let share = permille_under_loss("bbr3:pacing_margin=0", "1%");
    assert!(share >= 830, "{share}");
}

/// A delay that varies by 20 ms has all packets of 100 Mbit/s overtake each other. Nine of ten are
/// declared lost and sent again, so that about half of the link is the most that may be had of it;
/// and what arrives in more stretches than the 32 that an ACK tells of is lost indeed. At 10 Mbit/s
/// the link is full.
#[test]
fn packets_that_overtake_each_other_are_not_taken_for_lost() {
    for controller in ["bbr3", "bbr2"] {
        for (rate, jitter, least) in [
            ("100mbit", "20ms", 180),
            ("10mbit", "20ms", 550),
            ("100mbit", "1ms", 600),
        ] {
            let data = format!("rate {rate} delay 50ms {jitter} queue 1bdp");
            let scenario = Scenario::new(&data).flow(Flow::of(controller));
            let share = median(3, |seed| {
                let outcome = scenario.clone().seed(seed).run_for(SECOND * 20);
                permille(&outcome, rate)
            });
            assert!(share >= least, "{controller} {rate} {jitter}: {share}");
        }
    }
}

/// One packet of a hundred arrives when those of the next 20 ms have.
#[test]
fn packets_that_arrive_late_cost_nothing() {
    for controller in ["bbr3", "bbr2"] {
        let scenario = link("100mbit", MS * 20, "reorder 99% queue 1bdp");
        let outcome = scenario.flow(Flow::of(controller)).run_for(SECOND * 20);
        let share = permille(&outcome, "100mbit");
        assert!(share >= 930, "{controller}: {share}");
    }
}

/// The one that has less has a third at least, in the median of three runs; of nine one had 32.6 %.
#[test]
fn two_flows_share_a_link() {
    let path = link("100mbit", MS * 20, "queue 1bdp");
    let scenario = path
        .flow(Flow::of("bbr3"))
        .flow(Flow::of("bbr3").start(SECOND));
    let least = median(3, |seed| {
        let outcome = scenario.clone().seed(seed).run_for(SECOND * 60);
        assert!(permille(&outcome, "100mbit") >= 950);
        let rates = outcome.flows.iter();
        let rates = rates.map(|flow| flow.goodput_between(SECOND * 40, SECOND * 60));
        rates.min()
    });
    let third = payload_rate("100mbit") * Gain::new(1, 3);
    assert!(least >= Some(third), "{least:?}");
}

/// A rate that falls to a tenth before a deep queue: round trips become so long that ProbeRTT cuts
/// every probe short, and no cycle of the draft's ends. Our rule `adapts_down=on` ends it.
#[test]
fn a_rate_that_falls_to_a_tenth_before_a_deep_queue_is_found_only_by_our_rule() {
    for (before, after) in [("50mbit", "5mbit"), ("30mbit", "3mbit")] {
        let changed = format!("rate {after} delay 20ms queue 1000000b");
        let last = |controller: &str| {
            let scenario = link(before, MS * 20, "queue 1000000b")
                .flow(Flow::of(controller))
                .change_link(SECOND * 10, &changed);
            let (_, acks) = watch(&scenario, SECOND * 60);
            acks.last().expect("a minute of ACKs").after
        };
        let stuck = last("bbr3").bandwidth.expect("it has samples");
        assert!(stuck > payload_rate(before) * Gain::percent(98), "{stuck}");
        let found = last("bbr3:adapts_down=on");
        let (bandwidth, min_rtt) = (found.bandwidth.unwrap(), found.min_rtt.unwrap());
        assert!(
            bandwidth < payload_rate(after) * Gain::percent(102),
            "{bandwidth}"
        );
        assert!(min_rtt < MS * 50, "{min_rtt:?}");
    }
}

/// The same by time: both within twenty seconds of the drop, and the queue is short from then on.
#[test]
fn our_rule_finds_a_lower_rate_and_drains_its_queue_within_twenty_seconds() {
    for (before, after, queue) in [
        ("50mbit", "5mbit", "1000000b"),
        ("30mbit", "3mbit", "1000000b"),
        ("100mbit", "10mbit", "2000000b"),
        ("50mbit", "2mbit", "500000b"),
        ("10mbit", "1mbit", "1000000b"),
    ] {
        let scenario = link(before, MS * 20, &format!("queue {queue}"))
            .flow(Flow::of("bbr3:adapts_down=on"))
            .change_link(
                SECOND * 10,
                &format!("rate {after} delay 20ms queue {queue}"),
            );
        let (outcome, acks) = watch(&scenario, SECOND * 60);
        let late = |ack: &&Seen| ack.at > Timestamp::ZERO + SECOND * 30;
        let longest = acks.iter().filter(late).filter_map(|ack| ack.sample.rtt);
        let longest = longest.max().expect("thirty seconds of ACKs");
        assert!(longest < MS * 250, "{before} {after}: {longest:?}");
        let goodput = outcome.flow(0).goodput_between(SECOND * 30, SECOND * 60);
        let least = payload_rate(after) * Gain::percent(90);
        assert!(goodput >= least, "{before} {after}: {goodput}");
    }
}
