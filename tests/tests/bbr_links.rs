//! `bbr3` over links of all kinds, within limits that others published for theirs.
//!
//! Payloads are 1,472 bytes and a link carries 1,514 bytes for each, so a link of 100 Mbit/s
//! delivers 97.2 Mbit/s at most; shares are shares of that.

use core::time::Duration;
use e2e::quiche::{ESTIMATE, RTT, completed, estimate, longest_srtt, sender, sharing};
use e2e::sim::{Acks, Flow, Outcome, Scenario};
use e2e::watch::watch;
use units::{Bandwidth, Bytes, Gain, Timestamp};

const MSS: u64 = 1_472;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A link of this rate, with half of the round-trip time on either way.
fn link(rate: &str, one_way: Duration, rest: &str) -> Scenario {
    let delay = units::duration::display(one_way);
    Scenario::new(&format!("rate {rate} delay {delay} {rest}"))
        .return_link(&format!("delay {delay}"))
}

/// What a link of this rate delivers of payload.
fn payload_rate(rate: &str) -> Bandwidth {
    rate.parse::<Bandwidth>().expect("a rate") * Gain::new(MSS, MSS + 42)
}

/// Goodput of the whole run in tenths of a percent of what the link can deliver.
fn permille(outcome: &Outcome, rate: &str) -> u64 {
    outcome.goodput().bytes_per_sec() * 1_000 / payload_rate(rate).bytes_per_sec()
}

#[test]
fn an_ideal_link_is_used_to_94_percent_over_30_seconds() {
    for (rate, one_way) in [("100mbit", 10), ("100mbit", 50), ("20mbit", 20)] {
        let scenario = link(rate, MS * one_way, "queue 100bdp").flow(Flow::of("bbr3"));
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
        ("64kbit", MS * 500, 120, 870),
        ("1mbit", MS / 2, 30, 970),
        ("1mbit", MS * 150, 60, 930),
        ("1gbit", MS, 10, 950),
        ("1gbit", MS * 50, 15, 850),
        ("10gbit", MS / 2, 2, 940),
    ] {
        let scenario = link(rate, one_way, "queue 2bdp").flow(Flow::of("bbr3"));
        let outcome = scenario.run_for(SECOND * seconds);
        let share = permille(&outcome, rate);
        assert!(share >= least, "{rate} {one_way:?}: {share}");
    }
}

/// 100 Mbit/s, 40 ms, a queue of one BDP, over 30 seconds, the mean of three seeds.
fn share_under_loss(controller: &str, loss: &str) -> u64 {
    let run = |seed| {
        let rest = format!("queue 1bdp loss {loss}");
        let scenario = link("100mbit", MS * 20, &rest).flow(Flow::of(controller));
        permille(&scenario.seed(seed).run_for(SECOND * 30), "100mbit")
    };
    (1..=3).map(run).sum::<u64>() / 3
}

/// While cruising, each round with loss lowers the short-term bound to what was delivered: by the
/// pacing margin of 1 % and by what was lost in the best stretch of the round. 63 rounds of that
/// are what the draft means to bear (§5.3.3.8.3); they cost a fifth of the rate, not all of it.
#[test]
fn random_loss_of_one_percent_costs_a_fifth_and_not_everything() {
    let share = share_under_loss("bbr3", "1%");
    assert!((760..=860).contains(&share), "{share}");
    let reno = share_under_loss("new_reno", "1%");
    assert!(share >= reno * 10, "{share} against {reno}");
    let share = share_under_loss("bbr3", "0.1%");
    assert!(share >= 870, "{share}");
    // Without the margin the bound falls by the loss alone.
    let share = share_under_loss("bbr3:pacing_margin=0", "1%");
    assert!(share >= 830, "{share}");
}

#[test]
fn two_flows_share_a_link() {
    let path = link("100mbit", MS * 20, "queue 1bdp");
    let scenario = path
        .flow(Flow::of("bbr3"))
        .flow(Flow::of("bbr3").start(SECOND));
    let outcome = scenario.run_for(SECOND * 60);
    assert!(permille(&outcome, "100mbit") >= 950);
    for flow in &outcome.flows {
        let rate = flow.goodput_between(SECOND * 40, SECOND * 60);
        assert!(rate >= payload_rate("100mbit") * Gain::new(1, 3), "{rate}");
    }
}

/// 12 MB over 4 Mbit/s.
fn transfer(queue: &str, acks: Acks) -> Outcome {
    let flow = sender("bbr3").acks(acks).bytes(12_000_000);
    sharing(&format!("rate 4mbit queue {queue}"))
        .flow(flow)
        .run_for(SECOND * 60)
}

#[test]
fn startup_ends_within_five_seconds_without_loss_and_knows_the_bandwidth() {
    let outcome = transfer("2bdp", Acks::every(2));
    let flow = outcome.flow(0);
    let drain = flow.entered("Drain").unwrap().since(Timestamp::ZERO);
    assert!(drain <= SECOND * 5, "{drain:?}");
    assert!(estimate(flow, drain).abs_diff(ESTIMATE) * 100 <= ESTIMATE);
}

#[test]
fn a_simple_transfer_takes_its_time_without_loss_and_without_a_long_queue() {
    let outcome = transfer("2bdp", Acks::every(2));
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 30);
    assert_eq!(flow.packets_lost, 0);
    assert!(longest_srtt(flow) <= RTT * 5 / 2);
}

#[test]
fn a_queue_of_half_a_bdp_loses_little() {
    let outcome = transfer("0.5bdp", Acks::every(2));
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 30);
    assert!(estimate(flow, SECOND * 20).abs_diff(ESTIMATE) * 50 <= ESTIMATE);
    assert!(flow.packets_lost * 20 <= flow.packets_sent);
}

/// Of a megabyte that Startup is the best part of.
#[test]
fn startup_in_a_queue_of_half_a_bdp_loses_at_most_a_twentieth() {
    let outcome = sharing("rate 4mbit queue 0.5bdp")
        .flow(sender("bbr3").bytes(1_048_576))
        .run_for(SECOND * 10);
    let flow = outcome.flow(0);
    assert!(
        flow.packets_lost * 20 <= flow.packets_sent,
        "{} of {}",
        flow.packets_lost,
        flow.packets_sent
    );
}

#[test]
fn startup_in_a_queue_of_half_a_bdp_ends_on_loss_soon_after_the_peak() {
    let flow = sender("bbr3").bytes(12_000_000);
    let scenario = sharing("rate 4mbit queue 0.5bdp").flow(flow);
    let (_, acks) = watch(&scenario, SECOND * 3);
    let exit = acks
        .iter()
        .find(|ack| ack.before == "Startup" && ack.state() != "Startup");
    let exit = exit.unwrap();
    let first_lost = acks.iter().find(|ack| !ack.path.lost.is_zero()).unwrap();
    assert!(exit.at.since(first_lost.at) <= RTT * 2 * 2, "{:?}", exit.at);
    let bdp = Bandwidth::from_bits_per_sec(ESTIMATE) * RTT;
    let bound = exit.after.inflight_longterm.unwrap();
    assert!(bound > bdp * Gain::new(12, 10), "{bound} of {bdp}");
}

/// The limits that google/quiche has are no loss and an estimate within 1 %. Here packets leave
/// between the ACKs of a bunch, with half of it counted as delivered before them and half as
/// delivered in their time: the estimate is up to 13 % above what the link has.
#[test]
fn acks_bunched_over_two_round_trips_do_not_slow_a_transfer() {
    let outcome = transfer("2bdp", Acks::every(2).held(10 * 1_024, RTT * 2));
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 35);
    assert!(
        flow.packets_lost * 200 <= flow.packets_sent,
        "{}",
        flow.packets_lost
    );
    assert!(longest_srtt(flow) <= RTT * 5);
    let most = flow.points.iter().filter_map(|point| point.bandwidth).max();
    assert!(
        most.unwrap().bits_per_sec() * 100 <= ESTIMATE * 115,
        "{most:?}"
    );
}

#[test]
fn one_ack_for_ten_packets_is_enough() {
    let outcome = transfer("2bdp", Acks::every(10));
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 30);
    assert!(flow.packets_lost * 1_000 <= flow.packets_sent);
    assert!(longest_srtt(flow) <= RTT * 3);
}

/// The queue is two BDPs of the fast link: 13 seconds of the slow one. Longer than the interval of
/// ProbeRTT, so no probe for bandwidth is ever finished and the estimate stays where it was; the
/// draft has no answer, and three of four packets are lost. It does come to its end.
#[test]
fn a_hundredth_of_the_bandwidth_is_survived() {
    let scenario = sharing("rate 10mbit queue 160000b")
        .flow(sender("bbr3").bytes(20_000_000))
        .change_link(SECOND * 10, "rate 100kbit delay 30ms queue 160000b");
    let outcome = scenario.run_for(SECOND * 900);
    let flow = outcome.flow(0);
    assert_eq!(flow.point_at(SECOND * 10).packets_lost, 0);
    assert!(completed(flow) <= SECOND * 800);
}

#[test]
fn a_hundredfold_bandwidth_is_found() {
    let scenario = sharing("rate 100kbit queue 2bdp")
        .flow(sender("bbr3").bytes(20_000_000))
        .change_link(SECOND * 15, "rate 10mbit delay 30ms queue 160000b");
    let outcome = scenario.run_for(SECOND * 80);
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 65);
    assert!(flow.packets_lost * 100 <= flow.packets_sent * 30);
    let fast = ESTIMATE * 10 / 4;
    assert!(estimate(flow, SECOND * 20).abs_diff(fast) * 50 <= fast);
}

#[test]
fn small_bursts_of_an_application_do_not_lower_the_estimate() {
    let flow = sender("bbr3").bytes(4_000_000).bursts(20, 512, SECOND * 3);
    let outcome = sharing("rate 4mbit queue 2bdp")
        .flow(flow)
        .run_for(SECOND * 70);
    for seconds in (10..70).step_by(5) {
        let estimate = estimate(outcome.flow(0), SECOND * seconds);
        assert!(estimate.abs_diff(ESTIMATE) * 100 <= ESTIMATE, "{estimate}");
    }
}

#[test]
fn bursts_from_the_beginning_leave_startup_to_the_transfer_that_follows() {
    let flow = sender("bbr3").bursts(40, 512, SECOND * 3).bytes(4_000_000);
    let outcome = sharing("rate 4mbit queue 2bdp")
        .flow(flow)
        .run_for(SECOND * 150);
    let flow = outcome.flow(0);
    assert!(flow.entered("Drain").unwrap() > Timestamp::ZERO + SECOND * 120);
    assert!(estimate(flow, SECOND * 125).abs_diff(ESTIMATE) * 100 <= ESTIMATE);
}

#[test]
fn drain_empties_the_queue_that_startup_filled() {
    let scenario = sharing("rate 4mbit queue 2bdp")
        .flow(sender("bbr3").bytes(12_000_000))
        .sample_every(MS);
    let outcome = scenario.run_for(SECOND * 6);
    let flow = outcome.flow(0);
    let bdp = Bandwidth::from_bits_per_sec(4_000_000) * RTT;
    let queue_at = |state: &str| {
        let at = flow.entered(state).unwrap().since(Timestamp::ZERO);
        flow.point_at(at).queue
    };
    assert!(queue_at("Drain") >= bdp * Gain::new(95, 100));
    assert!(queue_at("ProbeBW_DOWN") <= bdp);
    let refill = flow.entered("ProbeBW_REFILL").unwrap();
    let srtt = flow.point_at(refill.since(Timestamp::ZERO)).srtt.unwrap();
    assert!(srtt <= RTT * 11 / 10, "{srtt:?}");
}

/// A queue of the bucket's size drops what the policer would.
#[test]
fn a_policed_link_is_used_at_its_rate() {
    let flow = Flow::of("bbr3")
        .mss(1_350)
        .access("rate 16mbit delay 2ms queue 1000p")
        .bytes(3_000_000);
    let outcome = sharing("rate 4mbit queue 10kb")
        .flow(flow)
        .run_for(SECOND * 30);
    let flow = outcome.flow(0);
    assert!(completed(flow) <= SECOND * 30);
    assert!(flow.packets_lost * 100 <= flow.packets_sent * 30);
}

#[test]
fn probe_rtt_ends_as_soon_as_an_idle_flow_sends_again() {
    let flow = sender("bbr3")
        .bytes(3_000_000)
        .pause(SECOND * 15)
        .bytes(1_000_000);
    let outcome = sharing("rate 4mbit queue 2bdp")
        .flow(flow)
        .run_for(SECOND * 40);
    let visits = &outcome.flow(0).states;
    let idle = visits.iter().position(|visit| visit.state == "ProbeRTT");
    let [probe_rtt, down, cruise] = visits[idle.unwrap()..][..3] else {
        panic!("{visits:?}")
    };
    assert_eq!(
        (down.state, cruise.state),
        ("ProbeBW_DOWN", "ProbeBW_CRUISE")
    );
    let paused = down.at.since(probe_rtt.at);
    assert!(paused > SECOND * 15, "{paused:?}");
    assert_eq!(down.at, cruise.at);
    // The first flight after the pause filled the pipe: no window of half a BDP held it.
    let rate = outcome.flow(0).goodput_between(
        cruise.at.since(Timestamp::ZERO) + RTT,
        cruise.at.since(Timestamp::ZERO) + RTT * 16,
    );
    assert!(rate.bits_per_sec() * 10 >= ESTIMATE * 9, "{rate}");
}

#[test]
fn two_transfers_one_after_the_other_end_within_three_times_their_time() {
    let alone = Bytes::new(10_000_000) / Bandwidth::from_bits_per_sec(ESTIMATE);
    let outcome = sharing("rate 4mbit queue 2bdp")
        .flow(sender("bbr3").bytes(10_000_000))
        .flow(sender("bbr3").bytes(10_000_000).start(alone / 10))
        .run_for(SECOND * 80);
    assert!(completed(outcome.flow(0)) <= alone * 3);
    assert!(completed(outcome.flow(1)) <= alone * 31 / 10);
}

#[test]
fn a_transfer_against_a_loss_based_one_ends_within_three_times_its_time() {
    for (other, bytes) in [("new_reno", 10_000_000), ("cubic", 50_000_000)] {
        let alone = Bytes::new(bytes) / Bandwidth::from_bits_per_sec(ESTIMATE);
        let outcome = sharing("rate 4mbit queue 2bdp")
            .flow(sender("bbr3").bytes(bytes))
            .flow(sender(other).bytes(bytes))
            .run_for(alone * 4);
        let took = completed(outcome.flow(0));
        assert!(took <= alone * 3, "{other}: {took:?} of {alone:?}");
    }
}

#[test]
fn six_flows_two_seconds_apart_waste_no_tenth_of_the_link() {
    let mut scenario = sharing("rate 4mbit queue 2bdp");
    for index in 0..6 {
        scenario = scenario.flow(sender("bbr3").bytes(2_000_000).start(SECOND * 2 * index));
    }
    let outcome = scenario.run_for(SECOND * 60);
    let together = Bytes::new(12_000_000) / Bandwidth::from_bits_per_sec(ESTIMATE);
    let last = outcome.flows.iter().map(completed).max().unwrap();
    assert!(last <= together * 11 / 10, "{last:?}");
}
