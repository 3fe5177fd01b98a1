//! LEDBAT++ on whole links: it fills what nobody wants, with 60 ms of queue, leaves it to whoever
//! comes, and shares it with its like.
//!
//! Figures in comments are those measured; `docs/ledbat_pp.md` has them in tables.

use core::time::Duration;
use e2e::share::jain;
use e2e::sim::{Flow, FlowOutcome, Outcome, Point, Scenario};
use paceline::testing::{Load, Pair, PairConfig, Side};
use units::{Bandwidth, Bytes, Gain, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
const LEDBAT_PP: &str = "ledbat_pp";

/// A bottleneck of `mbit` Mbit/s with a buffer of `buffer` milliseconds on a path of `rtt`.
fn path(mbit: u64, rtt: u64, buffer: u64) -> Scenario {
    let half = rtt / 2;
    let queue = mbit * 125 * buffer;
    Scenario::new(&format!("rate {mbit}mbit delay {half}ms queue {queue}b"))
        .return_link(&format!("delay {half}ms"))
}

fn megabits(rate: Bandwidth) -> f64 {
    rate.bits_per_sec() as f64 / 1e6
}

/// Goodput in Mbit/s between two seconds of a run.
fn rate(flow: &FlowOutcome, from: u32, to: u32) -> f64 {
    megabits(flow.goodput_between(SEC * from, SEC * to))
}

/// The first flow's share of what two got between two seconds of a run.
fn share(outcome: &Outcome, from: u32, to: u32) -> f64 {
    let [first, second] = [0, 1].map(|index| rate(outcome.flow(index), from, to));
    first / (first + second)
}

fn largest_window(flow: &FlowOutcome) -> Bytes {
    let windows = flow.points.iter().map(|point| point.cwnd);
    windows.max().unwrap_or_default()
}

#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_at_the_target() {
    for (mbit, rtt) in [(10, 20), (10, 50), (100, 20), (100, 50)] {
        let outcome = path(mbit, rtt, 400)
            .flow(Flow::of(LEDBAT_PP))
            .run_for(SEC * 120);
        let flow = outcome.flow(0);
        // 1,472 of 1,514 bytes are payload. 96, 94, 95 and 93 %: slowdowns cost the rest.
        let bound = mbit as f64 * 1_472.0 / 1_514.0;
        let used = rate(flow, 10, 120) / bound;
        assert!(used >= 0.92, "{mbit} Mbit/s, {rtt} ms: {used}");
        assert_eq!(flow.packets_lost, 0, "{mbit} Mbit/s, {rtt} ms");
        let delay = &outcome.link().queue_delay;
        let [median, most] = [50, 99].map(|percent| delay.quantile(Gain::percent(percent)));
        // A packet takes 1.2 ms at 10 Mbit/s.
        assert!((MS * 55..MS * 62).contains(&median), "{median:?}");
        assert!(most < MS * 64, "{most:?}");
    }
}

#[test]
fn real_quic_endpoints_do_the_same() {
    let mut config = PairConfig {
        link: "rate 10mbit delay 10ms queue 500kb".parse().unwrap(),
        return_link: "delay 10ms".parse().unwrap(),
        seed: e2e::seed::choose(1, "real QUIC endpoints"),
        ..PairConfig::default()
    };
    config.client.congestion(e2e::choose(LEDBAT_PP));
    let mut pair = Pair::new(&config).unwrap();
    pair.connect(SEC * 5).unwrap();
    pair.send(Side::Client, Load::Endless);
    pair.run_for(SEC * 10);
    let before = pair.received(Side::Server);
    pair.run_for(SEC * 50);
    let received = pair.received(Side::Server) - before;
    // 1,418 of 1,494 bytes are a stream's: 9.5 Mbit/s, of which it has 9.07.
    let rate = megabits(Bandwidth::from_transfer(received, SEC * 50));
    assert!(rate > 8.8, "{rate}");
    let delay = &pair.link_stats(Side::Client).queue_delay;
    let [median, most] = [50, 99].map(|percent| delay.quantile(Gain::percent(percent)));
    assert!(
        (MS * 55..MS * 62).contains(&median) && most < MS * 64,
        "{median:?}, {most:?}"
    );
    assert_eq!(pair.stats(Side::Client).path.lost_packets, 0);
}

#[test]
fn a_slowdown_empties_the_queue_and_costs_a_tenth() {
    let outcome = path(20, 20, 400)
        .sample_every(MS * 10)
        .flow(Flow::of(LEDBAT_PP))
        .run_for(SEC * 60);
    let flow = outcome.flow(0);
    let visits = &flow.states;
    let begins: Vec<usize> = (0..visits.len() - 3)
        .filter(|index| visits[*index].state == "Slowdown")
        .collect();
    assert!(begins.len() >= 4, "{visits:?}");
    for index in begins {
        let [begin, ramp, end, next] = [0, 1, 2, 3].map(|step| visits[index + step].at);
        let queue = &flow.point_at(ramp.since(Timestamp::ZERO)).queue;
        assert!(*queue <= Bytes::new(1_514), "{queue} at {ramp}");
        let (cost, wait) = (end.since(begin), next.since(end));
        assert!(wait.abs_diff(cost * 9) < MS * 100, "{cost:?}, {wait:?}");
    }
}

#[test]
fn beside_a_loss_based_flow_it_yields_and_comes_back() {
    // The last: Mbit/s that it has again, and how many seconds after the other left.
    for (mbit, rtt, buffer, most, back) in [
        (10, 20, 70, 0.15, (9.0, 10)),
        (10, 20, 200, 0.02, (9.0, 10)),
        (20, 40, 100, 0.03, (17.0, 25)),
        (100, 20, 100, 0.02, (80.0, 30)),
        (100, 50, 200, 0.01, (65.0, 60)),
    ] {
        for other in ["cubic", "new_reno"] {
            let outcome = path(mbit, rtt, buffer)
                .flow(Flow::of(LEDBAT_PP))
                .flow(Flow::of(other).start(SEC * 10).backlogged_for(SEC * 60))
                .run_for(SEC * (91 + back.1));
            let case = format!("{other}, {mbit} Mbit/s, {rtt} ms, {buffer} ms of buffer");
            let share = share(&outcome, 15, 70);
            assert!(share < most, "{case}: {share}");
            let (least, seconds) = back;
            let again = rate(outcome.flow(0), 70 + seconds, 90 + seconds);
            assert!(again > least, "{case}: {again}");
        }
    }
}

#[test]
fn in_a_buffer_below_the_target_it_is_a_slow_reno() {
    for (mbit, rtt, buffer) in [
        (10, 20, 10),
        (10, 20, 40),
        (20, 40, 20),
        (100, 20, 20),
        (100, 50, 40),
    ] {
        for (other, most) in [("cubic", 0.26), ("new_reno", 0.38)] {
            let outcome = path(mbit, rtt, buffer)
                .flow(Flow::of(LEDBAT_PP))
                .flow(Flow::of(other).start(SEC * 10))
                .run_for(SEC * 100);
            let share = share(&outcome, 30, 100);
            assert!(
                (0.05..most).contains(&share),
                "{other}, {mbit} Mbit/s, {rtt} ms, {buffer} ms of buffer: {share}"
            );
        }
    }
}

#[test]
fn a_short_buffer_alone_is_used_as_reno_uses_it() {
    // 79, 91 and 74 % of the link.
    for (mbit, rtt, buffer, least) in [(20, 40, 10, 15.0), (10, 20, 20, 9.0), (100, 50, 10, 70.0)] {
        let outcome = path(mbit, rtt, buffer)
            .flow(Flow::of(LEDBAT_PP))
            .run_for(SEC * 60);
        let rate = rate(outcome.flow(0), 10, 60);
        assert!(rate > least, "{mbit} Mbit/s, {rtt} ms: {rate}");
    }
}

/// Two flows, the second of which comes after 20 s.
fn latecomer(controller: &str, mbit: u64, rtt: u64, seconds: u32) -> Outcome {
    path(mbit, rtt, 200)
        .flow(Flow::of(controller))
        .flow(Flow::of(controller).start(SEC * 20))
        .run_for(SEC * seconds)
}

#[test]
fn a_latecomer_and_the_first_flow_converge() {
    for (mbit, rtt, least) in [
        (10, 20, 0.98),
        (20, 20, 0.97),
        (20, 100, 0.97),
        (100, 20, 0.85),
    ] {
        let outcome = latecomer(LEDBAT_PP, mbit, rtt, 200);
        let even = jain(&outcome, SEC * 120..SEC * 200);
        assert!(even > least, "{mbit} Mbit/s, {rtt} ms: {even}");
        let rates = [0, 1].map(|flow| rate(outcome.flow(flow), 120, 200));
        assert!(rates[0] + rates[1] > 0.9 * mbit as f64, "{rates:?}");
    }
}

#[test]
fn without_slowdowns_the_latecomer_takes_it_all() {
    for (mbit, rtt) in [(10, 20), (20, 100), (100, 20)] {
        let outcome = latecomer("ledbat_pp:slowdown=off", mbit, rtt, 120);
        let share = share(&outcome, 60, 120);
        assert!(share < 0.02, "{mbit} Mbit/s, {rtt} ms: {share}");
    }
}

#[test]
fn four_flows_one_after_the_other_share_as_those_of_ns_3() {
    let flow = |start| Flow::of(LEDBAT_PP).start(SEC * start);
    let outcome = path(20, 20, 600)
        .flow(flow(0))
        .flow(flow(10))
        .flow(flow(20))
        .flow(flow(30))
        .run_for(SEC * 100);
    let even = jain(&outcome, SEC * 70..SEC * 99);
    assert!(even > 0.85, "{even}");
    let rates: Vec<f64> = outcome.flows.iter().map(|f| rate(f, 70, 99)).collect();
    let sum: f64 = rates.iter().sum();
    assert!(
        sum > 18.0 && rates.iter().all(|rate| *rate > 0.08 * sum),
        "{rates:?}"
    );
}

#[test]
fn a_connection_that_changes_to_it_gives_the_queue_back() {
    let outcome = path(20, 40, 400)
        .flow(Flow::of("cubic").controller_change(SEC * 20, LEDBAT_PP))
        .run_for(SEC * 60);
    let srtt = |second| outcome.flow(0).point_at(SEC * second).srtt;
    assert!(srtt(19) > Some(MS * 250), "{:?}", srtt(19));
    assert!(srtt(40) < Some(MS * 105), "{:?}", srtt(40));
}

#[test]
fn a_longer_route_is_believed_when_the_shorter_one_is_forgotten() {
    let outcome = path(20, 20, 400)
        .flow(Flow::of("ledbat_pp:base_history=2"))
        .change_link(SEC * 30, "rate 20mbit delay 80ms queue 1000000b")
        .run_for(SEC * 200);
    // 70 ms more than the path took look like a queue that others make, until the minute in
    // which the route changed and the next are over.
    let flow = outcome.flow(0);
    assert!(rate(flow, 40, 119) < 0.5, "{}", rate(flow, 40, 119));
    assert!(rate(flow, 150, 200) > 16.0, "{}", rate(flow, 150, 200));
}

#[test]
fn reordering_costs_little_where_its_reductions_are_undone() {
    let rate = |undo: &str| {
        let outcome = Scenario::new("rate 50mbit delay 20ms reorder 1% queue 2bdp")
            .return_link("delay 20ms")
            .flow(Flow::of(&format!("ledbat_pp:undo={undo}")))
            .run_for(SEC * 20);
        megabits(outcome.goodput())
    };
    let (with, without) = (rate("on"), rate("off"));
    assert!(with > 4.0 * without, "{with} and {without} Mbit/s");
}

#[test]
fn a_window_stays_near_what_the_application_or_the_receiver_lets_fly() {
    let ten = Bandwidth::from_bits_per_sec(10_000_000);
    let outcome = path(100, 20, 20)
        .flow(Flow::of(LEDBAT_PP).rate(ten, SEC * 60))
        .run_for(SEC * 61);
    // A tenth of the BDP is in flight, 25 kB.
    let window = largest_window(outcome.flow(0));
    assert!(window <= Bytes::new(125_000), "{window}");
    let outcome = path(100, 20, 20)
        .flow(Flow::of(LEDBAT_PP).receive_window(100_000))
        .run_for(SEC * 30);
    let window = largest_window(outcome.flow(0));
    assert!(window <= Bytes::new(250_000), "{window}");
    let rate = megabits(outcome.goodput());
    assert!((37.0..40.0).contains(&rate), "{rate} Mbit/s");
}

#[test]
fn a_minute_of_silence_forgets_nothing() {
    let flow = Flow::of(LEDBAT_PP)
        .backlogged_for(SEC * 20)
        .pause(SEC * 60)
        .bytes(20_000_000);
    let outcome = path(100, 20, 100).flow(flow).run_for(SEC * 100);
    let flow = outcome.flow(0);
    let Point { cwnd, state, .. } = *flow.point_at(MS * 79_900);
    let again = flow.point_at(MS * 80_500);
    assert_eq!(
        (state, again.state),
        ("CongestionAvoidance", "CongestionAvoidance")
    );
    assert!(
        again.cwnd > Bytes::new(900_000),
        "{} after {cwnd}",
        again.cwnd
    );
    assert_eq!(flow.packets_lost, 0);
    // 20 MB at 97 Mbit/s are 1.65 s.
    let done = flow.completed_at.unwrap();
    assert!(done <= Timestamp::ZERO + MS * 81_800, "{done}");
}
