//! The controllers that fear loss, over links; and where it is shown what their RFCs ask for.
//!
//! | what | test |
//! |---|---|
//! | RFC 9438: β = 0.7; a mark leaves 0.85 (RFC 8511) | `loss_based::a_mark_in_congestion_avoidance_cuts_less_than_a_loss` |
//! | C = 0.4, the concave and the convex part | `cubic::the_window_follows_the_cubic_function_of_time`; here `windows_under_random_loss_are_those_of_the_response_functions` |
//! | fast convergence, once | `cubic::a_second_congestion_below_the_first_cuts_to_beta_and_lowers_the_plateau` |
//! | Reno-friendly region | `cubic::on_short_paths_the_window_is_as_fast_as_reno` |
//! | idle time outside the epoch | `cubic::an_hour_of_silence_does_not_lift_the_window`, `cubic::time_in_which_the_window_is_not_the_limit_does_not_count` |
//! | RFC 9406: 4 and 16 ms, an eighth | `hystart::the_rise_that_counts_is_an_eighth_within_4_and_16_ms` |
//! | 8 samples | `hystart::a_round_says_something_from_its_eighth_sample_on` |
//! | a quarter for 5 rounds, and back | `hystart::conservative_rounds_grow_by_a_quarter_and_the_fifth_is_the_last`, `hystart::a_rise_that_was_jitter_resumes_slow_start` |
//! | L = 8 unpaced, none when paced | `hystart::an_unpaced_sender_counts_eight_packets_of_an_ack` |
//! | RFC 9002: half, then a packet per round trip | `new_reno::a_window_halves_and_then_grows_by_one_packet_per_round_trip` |
//! | one reduction per recovery period | `loss_based::many_ranges_lost_from_one_flight_are_one_reduction`, `loss_based::a_loss_in_the_round_of_a_mark_reduces_no_further` |
//! | rounds of 200 ms: unlimited, a loss at 3 MB, two losses, an application of 1 MB, the least window | `crates/cc-core/tests/rounds.rs`, for both |
//! | 500 Mbit/s × 200 ms | here `a_long_fat_path_does_not_collapse` |
//! | RFC 9937 | `prr::tests`; `loss_based::with_prr_…`; here `unpaced_senders_gain_by_proportional_rate_reduction` |
//!
//! Tests with a module before their names are unit tests of cc-core.

use core::time::Duration;
use e2e::sim::{Acks, Flow, FlowOutcome, Scenario};
use e2e::{choose, seed};
use paceline::testing::{Load, Pair, PairConfig, Side};
use units::{Bandwidth, Bytes, Gain};

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
const BOTH: [&str; 2] = ["cubic", "new_reno"];

fn megabits(rate: Bandwidth) -> f64 {
    rate.bits_per_sec() as f64 / 1e6
}

fn largest_window(flow: &FlowOutcome) -> Bytes {
    flow.points
        .iter()
        .map(|point| point.cwnd)
        .max()
        .unwrap_or_default()
}

/// The mean number of packets in flight over a path that loses every 1/p-th packet at random.
fn mean_window(cc: &str, loss: &str, rtt: Duration, run: Duration) -> f64 {
    let half = rtt.as_millis() / 2;
    let outcome = Scenario::new(&format!("delay {half}ms loss {loss} limit 100000"))
        .return_link(&format!("delay {half}ms limit 100000"))
        .flow(Flow::of(cc).acks(Acks::every(1)))
        .run_for(run);
    let points = &outcome.flow(0).points;
    // Slow start has no bottleneck here and goes far beyond; it takes a while to come down.
    let points = &points[points.len() / 5..];
    let sum: u64 = points.iter().map(|point| point.inflight.get()).sum();
    sum as f64 / points.len() as f64 / 1_472.0
}

#[test]
fn windows_under_random_loss_are_those_of_the_response_functions() {
    // RFC 9438 table 1 (RTT 0.1 s) and table 2 (0.01 s). Random losses, unlike the evenly spaced
    // ones of the tables, come in unequal gaps, which favours the longer windows a little.
    for (cc, loss, rtt, secs, packets) in [
        ("cubic", "1%", 100, 300, 12.0),
        ("cubic", "0.1%", 100, 600, 38.0),
        ("cubic", "0.01%", 100, 300, 187.0),
        ("cubic", "0.1%", 10, 60, 38.0),
        ("new_reno", "1%", 100, 300, 12.0),
        ("new_reno", "0.1%", 100, 600, 38.0),
    ] {
        let mean = mean_window(cc, loss, MS * rtt, SEC * secs);
        let ratio = mean / packets;
        assert!((0.8..1.4).contains(&ratio), "{cc} {loss} {rtt} ms: {mean}");
    }
}

/// quinn#2640: cut twice for one loss, a window of 12.5 MB needs minutes to come back.
#[test]
fn a_long_fat_path_does_not_collapse() {
    for (controller, queue, share, least_left) in [
        ("cubic", "1bdp", 0.92, 0.69),
        ("cubic", "1000p", 0.75, 0.69),
        ("new_reno", "1bdp", 0.92, 0.49),
        ("new_reno", "1000p", 0.62, 0.49),
    ] {
        let outcome = Scenario::new(&format!("rate 500mbit delay 100ms queue {queue}"))
            .return_link("delay 100ms")
            .flow(Flow::of(controller))
            .run_for(SEC * 30);
        let flow = outcome.flow(0);
        let rate = megabits(flow.goodput_between(SEC * 10, SEC * 30));
        assert!(
            rate >= 500.0 * share,
            "{controller}, queue {queue}: {rate} Mbit/s"
        );
        for pair in flow.points.windows(2) {
            let left = pair[1].cwnd.get() as f64 / pair[0].cwnd.get() as f64;
            assert!(left >= least_left, "cut to {left} at {}", pair[1].at);
        }
    }
}

#[test]
fn a_link_is_filled_and_its_queue_drained_by_turns() {
    for cc in BOTH {
        let outcome = Scenario::new("rate 100mbit delay 20ms queue 1bdp")
            .return_link("delay 20ms")
            .flow(Flow::of(cc))
            .run_for(SEC * 30);
        let flow = outcome.flow(0);
        let rate = megabits(outcome.goodput());
        assert!(rate >= 94.0, "{cc}: {rate} Mbit/s");
        assert!(
            flow.packets_lost * 100 < flow.packets_sent,
            "{cc}: {}",
            flow.packets_lost
        );
        assert_eq!(flow.probe_timeouts, 0, "{cc}");
    }
}

/// When the second flow comes decides whose packets a full queue drops, and one run is a draw:
/// twelve had 0.72 to 1.09 for two of `cubic`, and 1.02 to 1.69 for `cubic` beside `new_reno`.
#[test]
fn flows_of_one_kind_share_evenly_and_cubic_leaves_reno_its_part() {
    for (one, other, most) in [
        ("cubic", "cubic", 1_300),
        ("new_reno", "new_reno", 1_300),
        ("cubic", "new_reno", 2_000),
    ] {
        let median = seed::median(5, |run| {
            let outcome = Scenario::new("rate 20mbit delay 10ms queue 1bdp")
                .return_link("delay 10ms")
                .flow(Flow::of(one))
                .flow(Flow::of(other).start(SEC * 2 + MS * 140 * run as u32))
                .run_for(SEC * 60);
            let rate = |flow: &FlowOutcome| flow.goodput_between(SEC * 20, SEC * 60);
            let [one, other] = [0, 1].map(|flow| rate(outcome.flow(flow)).bytes_per_sec());
            one * 1_000 / other
        });
        assert!(
            (1_000_000 / most..most).contains(&median),
            "{one} {other}: {median}"
        );
    }
}

#[test]
fn a_window_stays_near_what_the_application_or_the_receiver_lets_fly() {
    for cc in BOTH {
        let fast = || Scenario::new("rate 100mbit delay 10ms queue 1bdp").return_link("delay 10ms");
        let ten = Bandwidth::from_bits_per_sec(10_000_000);
        let outcome = fast()
            .flow(Flow::of(cc).rate(ten, SEC * 60))
            .run_for(SEC * 61);
        // A tenth of the BDP is in flight, 25 kB.
        let window = largest_window(outcome.flow(0));
        assert!(window <= Bytes::new(100_000), "{cc}: {window}");
        let outcome = fast()
            .flow(Flow::of(cc).receive_window(100_000))
            .run_for(SEC * 30);
        let window = largest_window(outcome.flow(0));
        assert!(window <= Bytes::new(250_000), "{cc}: {window}");
        let rate = megabits(outcome.goodput());
        assert!((38.0..40.0).contains(&rate), "{cc}: {rate} Mbit/s");
    }
}

#[test]
fn a_minute_of_silence_is_followed_by_no_burst_of_loss() {
    for cc in BOTH {
        let flow = Flow::of(cc)
            .bytes(5_000_000)
            .pause(SEC * 60)
            .bytes(2_000_000);
        let outcome = Scenario::new("rate 100mbit delay 10ms queue 1bdp")
            .return_link("delay 10ms")
            .flow(flow)
            .run_for(SEC * 70);
        let flow = outcome.flow(0);
        let before = flow.point_at(SEC * 30).packets_lost;
        assert!(
            flow.packets_lost <= before + 5,
            "{cc}: {} after {before}",
            flow.packets_lost
        );
        assert!(flow.completed_at.is_some(), "{cc}");
    }
}

#[test]
fn reordering_costs_little_where_its_reductions_are_undone() {
    for cc in BOTH {
        let rate = |undo: &str| {
            let outcome = Scenario::new("rate 50mbit delay 20ms reorder 1% queue 2bdp")
                .return_link("delay 20ms")
                .flow(Flow::of(&format!("{cc}:undo={undo}")))
                .run_for(SEC * 20);
            megabits(outcome.goodput())
        };
        let (with, without) = (rate("on"), rate("off"));
        assert!(with > 4.0 * without, "{cc}: {with} and {without} Mbit/s");
    }
}

#[test]
fn a_slow_link_with_a_short_queue_is_not_flooded_by_bursts() {
    for cc in BOTH {
        let outcome = Scenario::new("rate 400kbit delay 25ms queue 5p")
            .return_link("delay 25ms")
            .flow(Flow::of(cc))
            .run_for(SEC * 60);
        let flow = outcome.flow(0);
        let rate = megabits(outcome.goodput());
        assert!(rate >= 0.38, "{cc}: {rate} Mbit/s");
        assert!(
            flow.packets_lost * 100 <= flow.packets_sent * 4,
            "{cc}: {}",
            flow.packets_lost
        );
    }
}

/// One flow over a queue that CoDel keeps at 5 ms by marks; Mbit/s after the first ten seconds.
fn marked(controller: &str) -> (f64, FlowOutcome) {
    let outcome = Scenario::new("rate 50mbit delay 20ms aqm codel ecn queue 1000p")
        .return_link("delay 20ms")
        .flow(Flow::of(controller).ecn())
        .run_for(SEC * 60);
    let flow = outcome.flow(0);
    let rate = megabits(flow.goodput_between(SEC * 10, SEC * 60));
    (rate, flow.clone())
}

/// A threshold at which each packet is marked, so that many are in one round trip.
#[test]
fn many_marks_in_a_round_trip_reduce_once() {
    for controller in ["cubic", "new_reno"] {
        let outcome = Scenario::new("rate 50mbit delay 20ms aqm codel ecn ce_threshold 1ms")
            .return_link("delay 20ms")
            .flow(Flow::of(controller).ecn())
            .run_for(SEC * 60);
        let flow = outcome.flow(0);
        let visits = flow.states.iter().filter(|visit| visit.state == "Recovery");
        let reduced: Vec<_> = visits.map(|visit| visit.at).collect();
        let apart = reduced.windows(2).map(|pair| pair[1].since(pair[0])).min();
        assert!(
            apart >= Some(Duration::from_millis(40)),
            "{controller}: {apart:?}"
        );
        let (marks, reductions) = (flow.packets_marked, reduced.len() as u64);
        assert!(
            reductions >= 10 && marks >= 5 * reductions,
            "{marks}, {reductions}"
        );
    }
}

#[test]
fn cutting_less_for_marks_fills_a_link_whose_queue_is_kept_short() {
    for (alike, less, gain) in [
        ("cubic:beta_ecn=0.7", "cubic", 1.04),
        ("new_reno:beta_ecn=0.5", "new_reno", 1.15),
    ] {
        let ((before, _), (after, flow)) = (marked(alike), marked(less));
        assert!(after >= before * gain, "{less}: {before} and {after}");
        assert!(after >= 47.0, "{less}: {after} Mbit/s");
        assert_eq!(flow.packets_lost, 0);
        let delay = flow.rtt.quantile(Gain::percent(95));
        assert!(delay <= MS * 47, "{less}: {delay:?}");
    }
}

#[test]
fn unpaced_senders_gain_by_proportional_rate_reduction() {
    for (controller, gain) in [("cubic", 1.3), ("new_reno", 1.7)] {
        let rate = |prr: &str| {
            let outcome = Scenario::new("rate 500mbit delay 100ms queue 0.2bdp")
                .return_link("delay 100ms")
                .flow(Flow::of(&format!("{controller}:pacing=off,prr={prr}")))
                .run_for(SEC * 30);
            megabits(outcome.goodput())
        };
        let (off, on) = (rate("off"), rate("on"));
        assert!(on >= off * gain, "{controller}: {off} and {on} Mbit/s");
    }
}

#[test]
fn proportional_rate_reduction_spares_what_a_policer_takes() {
    for controller in BOTH {
        let lost = |prr: &str| {
            let link = "rate 100mbit policer 10mbit burst 60kb delay 20ms queue 1bdp";
            let outcome = Scenario::new(link)
                .return_link("delay 20ms")
                .flow(Flow::of(&format!("{controller}:prr={prr}")).bytes(4_000_000))
                .run_for(SEC * 10);
            outcome.flow(0).packets_lost
        };
        let (off, on) = (lost("off"), lost("on"));
        assert!(on * 100 <= off * 90, "{controller}: {off} and {on}");
    }
}

/// With pacing it is neither here nor there: a hundredth of the goodput at most.
#[test]
fn paced_senders_neither_gain_nor_lose_by_it() {
    for controller in BOTH {
        for queue in ["0.1bdp", "0.5bdp", "1bdp"] {
            let rate = |prr: &str| {
                let outcome = Scenario::new(&format!("rate 100mbit delay 20ms queue {queue}"))
                    .return_link("delay 20ms")
                    .flow(Flow::of(&format!("{controller}:prr={prr}")))
                    .run_for(SEC * 30);
                megabits(outcome.goodput())
            };
            let ratio = rate("on") / rate("off");
            assert!(
                (0.99..1.01).contains(&ratio),
                "{controller} {queue}: {ratio}"
            );
        }
    }
}

/// Goodput of real QUIC endpoints in Mbit/s, and how many packets they lost. Losses come to the
/// controller apart from the ACKs that revealed them, and its window is the gate of every packet.
fn real_endpoints(controller: &str) -> (f64, u64) {
    let link = "rate 100mbit delay 20ms queue 0.5bdp loss 0.05%";
    let mut config = PairConfig {
        link: link.parse().expect("a link"),
        return_link: "delay 20ms".parse().expect("a link"),
        seed: seed::choose(1, format_args!("{controller} over `{link}`")),
        ..PairConfig::default()
    };
    config.client.congestion(choose(controller));
    let mut pair = Pair::new(&config).expect("the links have a delay");
    pair.connect(SEC * 5).expect("the link is up");
    pair.send(Side::Client, Load::Endless);
    pair.run_for(SEC * 20);
    let rate = Bandwidth::from_transfer(pair.received(Side::Server), SEC * 20);
    (megabits(rate), pair.stats(Side::Client).path.lost_packets)
}

#[test]
fn real_endpoints_obey_proportional_rate_reduction_without_standing_still() {
    for controller in BOTH {
        let off = real_endpoints(controller);
        let on = real_endpoints(&format!("{controller}:prr=on"));
        assert!(on.0 >= off.0 * 0.95, "{controller}: {off:?} and {on:?}");
    }
}

#[test]
fn hystart_leaves_slow_start_before_a_deep_queue_overflows() {
    let lost = |slow_start: &str| {
        let outcome = Scenario::new("rate 100mbit delay 20ms queue 4bdp")
            .return_link("delay 20ms")
            .flow(Flow::of(&format!("cubic:slow_start={slow_start}")))
            .run_for(SEC * 2);
        outcome.flow(0).packets_lost
    };
    let (hystart, standard) = (lost("hystartpp"), lost("standard"));
    assert!(hystart * 4 < standard, "{hystart} and {standard}");
}

#[test]
fn a_link_that_slows_down_tenfold_is_followed() {
    for cc in BOTH {
        let outcome = Scenario::new("rate 50mbit delay 20ms queue 250kb")
            .return_link("delay 20ms")
            .flow(Flow::of(cc))
            .change_link(SEC * 10, "rate 5mbit delay 20ms queue 250kb")
            .change_link(SEC * 30, "rate 50mbit delay 20ms queue 250kb")
            .run_for(SEC * 60);
        let rate = |from, to| megabits(outcome.flow(0).goodput_between(SEC * from, SEC * to));
        assert!(rate(12, 30) >= 4.5, "{cc}: {}", rate(12, 30));
        assert!(rate(50, 60) >= 40.0, "{cc}: {}", rate(50, 60));
    }
}
