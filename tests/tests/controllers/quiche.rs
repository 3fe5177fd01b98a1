//! The simulations by which google/quiche bounds its BBRs, for `bbr3`, `bbr2`, `bbr1` and
//! `bbrplus`.
//!
//! A sender's own link of 10 Mbit/s and 2 ms, a shared one of 4 Mbit/s and 30 ms with a drop-tail
//! queue of two BDPs, packets of 1,350 bytes, unless said. What is bold is beyond the limit; the
//! test says why, and fails when it is so no more. A row with a Q is in `bbr_quic.rs`, too, where
//! real QUIC endpoints run it.
//!
//! | row | limit | `bbr3` | `bbr2` | `bbr1` | `bbrplus` |
//! |---|---|---|---|---|---|
//! | `startup` of 12 MB | left within 5 s | 0.75 s | 0.75 s | 0.88 s | 0.88 s |
//! | | after three flat rounds | yes | yes | yes | yes |
//! | | no loss, estimate ±1 % | 0, exact | 0, exact | **17**, exact | **17**, exact |
//! | `simple_transfer`, 12 MB, Q | 30 s | 25.6 | 25.6 | 25.3 | 25.3 |
//! | | no loss | 0 | 0 | **23** | **23** |
//! | | srtt 160 ms | 151 | 151 | **192** | **192** |
//! | | min_rtt ±20 % | 7 | 7 | 11 | 7 |
//! | `queue_of_half_a_bdp`, Q | 30 s, estimate ±2 % | 25.7, exact | 25.7, exact | 25.4, exact | 25.4, exact |
//! | | loss 5 % | 0.9 | 0.6 | 1.7 | 1.5 |
//! | | of Startup's megabyte, too | 4.7 | 4.6 | **13.0** | **12.7** |
//! | `ack_aggregation_over_two_round_trips` of 10 KB | 35 s, srtt 320 ms | 27.2, 220 | 26.6, 206 | 26.3, 199 | 26.4, 199 |
//! | | no loss | **35** | **8** | 0 | 0 |
//! | | estimate ±1 % | **+13** | **+6** | exact | +0.1 |
//! | `ack_decimation`, Q | loss 0.1 % | 0 | 0 | **0.3** | **0.3** |
//! | | srtt 192 ms | 162 | 162 | 185 | 185 |
//! | `bandwidth_falls_to_a_hundredth` at 10 s, 20 MB | no loss before, done in 800 s | 696 | 699 | 677 | 677 |
//! | `bandwidth_rises_a_hundredfold` at 15 s | done in 65 s, estimate ±2 % | 34, exact | 34, exact | 34, exact | 34, exact |
//! | | loss 30 % | 0.4 | 0.2 | 0.2 | 0.2 |
//! | `application_bursts`, 20 × 512 B, 3 s apart | estimate ±1 % | exact | exact | exact | exact |
//! | `drain` | queue of 0.95 BDP before | 1.30 | 1.30 | 1.95 | 1.95 |
//! | | of 1 BDP after | 0.13 | 0.13 | 0.39 | 0.34 |
//! | | then srtt +10 %: 70 ms | 68 | 68 | **81** | **79** |
//! | `startup_left_on_loss`, 0.5 BDP | in two rounds | 0.8 | 1.3 | – | – |
//! | | bound above 1.2 BDP | 1.6 | **none** | – | – |
//! | `policer` at a quarter | 30 s, loss 30 % | 24.8, 9.5 | 24.8, 10.3 | 24.7, 8.5 | 24.7, 9.9 |
//! | `spurious_loss` | sent = acked + lost | yes | yes | yes | yes |
//! | `idle_in_probe_bw` for 15 s | the rate from before | 99 % | 99 % | 99 % | 99 % |
//! | | ProbeRTT over at once | yes | yes | – | – |
//! | `two_bbr_flows`, Q | 3 T | 2.0 | 2.0 | 2.0 | 2.0 |
//! | `against_reno_and_cubic`, Q | 3 T | 2.0 | 2.0 | 1.3 | 2.0 |
//! | `six_flows`, the median of five runs | 1.1 T | 1.02 | 1.04 | **1.14** | 1.08 |

use core::time::Duration;
use e2e::limit::{Limit, millis};
use e2e::quiche::{
    DECIMATED_LOST, DECIMATED_SRTT, ESTIMATE, LOST, MIN_RTT_OFF, RTT, SHALLOW_LOST, SHARED, SRTT,
    TRANSFER, WIDE_STARTUP, completed, estimate, hundredths, longest_srtt, off_percent, sender,
    sharing,
};
use e2e::seed::median;
use e2e::sim::{Acks, Flow, FlowOutcome, Scenario};
use e2e::watch::{WATCHED as BBRS, plateau, round_ends, watch};
use units::{Bandwidth, Bytes, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

const ESTIMATE_OFF: Limit = Limit::at_most("error of the estimate per 1,000", 10);
const LOST_A_LOT: Limit = Limit::at_most("lost per 1,000", 300);

/// What the shared link gives `flow` alone.
fn over(link: &str, flow: Flow, limit: Duration) -> FlowOutcome {
    sharing(link).flow(flow).run_for(limit).flow(0).clone()
}

/// 12 MB over 4 Mbit/s.
fn transfer(controller: &str, queue: &str, acks: Acks) -> FlowOutcome {
    let flow = sender(controller).acks(acks).bytes(12_000_000);
    over(&format!("rate 4mbit queue {queue}"), flow, SECOND * 60)
}

/// How far a rate is from what a link of `mbit` Mbit/s carries of payload, per 1,000, rounded up.
fn off_permille(rate: u64, mbit: u64) -> u64 {
    let exact = ESTIMATE * mbit / 4;
    (rate.abs_diff(exact) * 1_000).div_ceil(exact)
}

/// The same of the controller's estimate.
fn estimate_off(flow: &FlowOutcome, at: Duration, mbit: u64) -> u64 {
    off_permille(estimate(flow, at), mbit)
}

/// Lost per 1,000 sent, rounded up.
fn lost_permille(flow: &FlowOutcome) -> u64 {
    (flow.packets_lost * 1_000).div_ceil(flow.packets_sent)
}

/// When it first came into `state`.
fn entered(flow: &FlowOutcome, state: &str) -> Duration {
    let at = flow.entered(state);
    at.unwrap_or_else(|| panic!("{state} is never entered"))
        .since(Timestamp::ZERO)
}

#[test]
fn startup() {
    const END: Limit = Limit::at_most("end of Startup in ms", 5_000);
    const LATE: Limit = Limit::at_most("rounds after three flat ones", 0);
    let lost = [("bbr1", 17, WIDE_STARTUP), ("bbrplus", 17, WIDE_STARTUP)];
    for controller in BBRS {
        let flow = sender(controller).bytes(12_000_000);
        let (outcome, acks) = watch(&sharing("rate 4mbit queue 2bdp").flow(flow), SECOND * 6);
        let exit = acks.iter().find(|ack| ack.state() != "Startup");
        let exit = exit.expect("Startup ends").at;
        let flat = plateau(&acks).expect("the link has a rate");
        assert!(flat <= exit, "{controller}: {flat}, {exit}");
        let rounds = round_ends(&acks).filter(|ack| ack.at > flat && ack.at <= exit);
        LATE.check(controller, rounds.count() as u64, &[]);
        let (flow, exit) = (outcome.flow(0), exit.since(Timestamp::ZERO));
        END.check(controller, millis(exit), &[]);
        ESTIMATE_OFF.check(controller, estimate_off(flow, exit, 4), &[]);
        LOST.check(controller, flow.point_at(exit).packets_lost, &lost);
    }
}

#[test]
fn simple_transfer() {
    let lost = [("bbr1", 23, WIDE_STARTUP), ("bbrplus", 23, WIDE_STARTUP)];
    let srtt = [("bbr1", 192, WIDE_STARTUP), ("bbrplus", 192, WIDE_STARTUP)];
    for controller in BBRS {
        let flow = sender(controller).bytes(12_000_000);
        let (outcome, acks) = watch(&sharing("rate 4mbit queue 2bdp").flow(flow), SECOND * 60);
        let flow = outcome.flow(0);
        TRANSFER.check(controller, millis(completed(flow)), &[]);
        LOST.check(controller, flow.packets_lost, &lost);
        SRTT.check(controller, millis(longest_srtt(flow)), &srtt);
        let min_rtt = acks.last().and_then(|ack| ack.after.min_rtt);
        MIN_RTT_OFF.check(controller, off_percent(min_rtt.unwrap()), &[]);
    }
}

#[test]
fn queue_of_half_a_bdp() {
    const ESTIMATE_OFF: Limit = Limit::at_most("error of the estimate per 1,000", 20);
    const HEEDLESS: &str = "loss is no reason to leave Startup; 5.5 % with full_loss_thresh=12.5%";
    let of_startup = [("bbr1", 133, HEEDLESS), ("bbrplus", 133, HEEDLESS)];
    for controller in BBRS {
        let flow = transfer(controller, "0.5bdp", Acks::every(2));
        TRANSFER.check(controller, millis(completed(&flow)), &[]);
        ESTIMATE_OFF.check(controller, estimate_off(&flow, SECOND * 20, 4), &[]);
        SHALLOW_LOST.check(controller, lost_permille(&flow), &[]);
        // Of a megabyte, Startup is the best part.
        let flow = sender(controller).bytes(1_048_576);
        let flow = over("rate 4mbit queue 0.5bdp", flow, SECOND * 10);
        SHALLOW_LOST.check(controller, lost_permille(&flow), &of_startup);
    }
}

#[test]
fn ack_aggregation_over_two_round_trips() {
    const TRANSFER: Limit = Limit::at_most("duration in ms", 35_000);
    const SRTT: Limit = Limit::at_most("longest srtt in ms", 320);
    // What leaves between the ACKs of a bunch has half of it counted as delivered before and half
    // as delivered in its own time.
    const HALVES: &str = "rates of what leaves between bunched ACKs are too high";
    let lost = [("bbr3", 44, HALVES), ("bbr2", 15, HALVES)];
    let off = [("bbr3", 150, HALVES), ("bbr2", 80, HALVES)];
    let acks = Acks::every(2).held(10 * 1_024, RTT * 2);
    for controller in BBRS {
        let flow = sender(controller).acks(acks).bytes(12_000_000);
        let scenario = sharing("rate 4mbit queue 2bdp").flow(flow);
        let outcomes = [1, 2, 3].map(|seed| scenario.clone().seed(seed).run_for(SECOND * 60));
        // With one seed of eight `bbrplus` is misled, too: the medians of three.
        let of = |figure: fn(&FlowOutcome) -> u64| {
            median(3, |seed| figure(outcomes[seed as usize - 1].flow(0)))
        };
        TRANSFER.check(controller, of(|flow| millis(completed(flow))), &[]);
        LOST.check(controller, of(|flow| flow.packets_lost), &lost);
        SRTT.check(controller, of(|flow| millis(longest_srtt(flow))), &[]);
        ESTIMATE_OFF.check(controller, of(highest_estimate_off), &off);
    }
}

fn highest_estimate_off(flow: &FlowOutcome) -> u64 {
    let estimates = flow.points.iter().filter_map(|point| point.bandwidth);
    let highest = estimates.max().expect("a sample came");
    off_permille(highest.bits_per_sec(), 4)
}

#[test]
fn ack_decimation() {
    let lost = [("bbr1", 3, WIDE_STARTUP), ("bbrplus", 3, WIDE_STARTUP)];
    for controller in BBRS {
        let flow = transfer(controller, "2bdp", Acks::every(10));
        TRANSFER.check(controller, millis(completed(&flow)), &[]);
        DECIMATED_LOST.check(controller, lost_permille(&flow), &lost);
        DECIMATED_SRTT.check(controller, millis(longest_srtt(&flow)), &[]);
    }
}

/// The queue is two BDPs of the fast link and 13 seconds of the slow one: longer than the interval
/// of ProbeRTT, so that `bbr3` and `bbr2` never finish a probe for bandwidth and their estimates
/// stay where they were. Both come to the end; docs/bbr.md says what of `bbr2`'s packets is lost.
#[test]
fn bandwidth_falls_to_a_hundredth() {
    const TRANSFER: Limit = Limit::at_most("duration in s", 800);
    for controller in BBRS {
        let scenario = sharing("rate 10mbit queue 160000b")
            .flow(sender(controller).bytes(20_000_000))
            .change_link(SECOND * 10, "rate 100kbit delay 30ms queue 160000b");
        let outcome = scenario.run_for(SECOND * 900);
        let flow = outcome.flow(0);
        LOST.check(controller, flow.point_at(SECOND * 10).packets_lost, &[]);
        TRANSFER.check(controller, millis(completed(flow)).div_ceil(1_000), &[]);
    }
}

#[test]
fn bandwidth_rises_a_hundredfold() {
    const TRANSFER: Limit = Limit::at_most("duration in ms", 65_000);
    const ESTIMATE_OFF: Limit = Limit::at_most("error of the estimate per 1,000", 20);
    for controller in BBRS {
        let scenario = sharing("rate 100kbit queue 2bdp")
            .flow(sender(controller).bytes(20_000_000))
            .change_link(SECOND * 15, "rate 10mbit delay 30ms queue 160000b");
        let outcome = scenario.run_for(SECOND * 80);
        let flow = outcome.flow(0);
        TRANSFER.check(controller, millis(completed(flow)), &[]);
        LOST_A_LOT.check(controller, lost_permille(flow), &[]);
        // Five seconds after, and at the end.
        for at in [SECOND * 20, completed(flow) - SECOND] {
            ESTIMATE_OFF.check(controller, estimate_off(flow, at, 10), &[]);
        }
    }
}

#[test]
fn application_bursts() {
    for controller in BBRS {
        let flow = sender(controller).bytes(4_000_000);
        let flow = flow.bursts(20, 512, SECOND * 3);
        let flow = over("rate 4mbit queue 2bdp", flow, SECOND * 70);
        for seconds in (10..70).step_by(5) {
            let off = estimate_off(&flow, SECOND * seconds, 4);
            ESTIMATE_OFF.check(controller, off, &[]);
        }
    }
}

/// Startup is left to the transfer that follows.
#[test]
fn application_bursts_from_the_beginning() {
    for controller in BBRS {
        let flow = sender(controller).bursts(40, 512, SECOND * 3);
        let flow = flow.bytes(4_000_000);
        let flow = over("rate 4mbit queue 2bdp", flow, SECOND * 150);
        assert!(entered(&flow, "Drain") > SECOND * 120, "{controller}");
        ESTIMATE_OFF.check(controller, estimate_off(&flow, SECOND * 125, 4), &[]);
    }
}

#[test]
fn drain() {
    const QUEUE_BEFORE: Limit = Limit::at_least("queue in percent of a BDP", 95);
    const QUEUE_AFTER: Limit = Limit::at_most("queue in percent of a BDP", 100);
    const SRTT: Limit = Limit::at_most("srtt in ms", 70);
    const BURSTS: &str = "a BDP and three bursts, which are six packets of 2.8 ms, stay in flight";
    let srtt = [("bbr1", 84, BURSTS), ("bbrplus", 84, BURSTS)];
    for controller in BBRS {
        let scenario = sharing("rate 4mbit queue 2bdp")
            .flow(sender(controller).bytes(12_000_000))
            .sample_every(MS);
        let outcome = scenario.run_for(SECOND * 6);
        let flow = outcome.flow(0);
        let bdp = Bandwidth::from_bits_per_sec(4_000_000) * RTT;
        let queue_at = |state| flow.point_at(entered(flow, state)).queue.get() * 100 / bdp.get();
        let next = flow.state_names()[2];
        QUEUE_BEFORE.check(controller, queue_at("Drain"), &[]);
        QUEUE_AFTER.check(controller, queue_at(next), &[]);
        // BBRv1 has no REFILL: the least of its cycles.
        let at_refill = flow
            .entered("ProbeBW_REFILL")
            .map(|at| flow.point_at(at.since(Timestamp::ZERO)).srtt);
        let cycle = flow.points.iter().filter(|point| point.state == next);
        let least = at_refill.unwrap_or_else(|| cycle.filter_map(|point| point.srtt).min());
        SRTT.check(controller, millis(least.unwrap()), &srtt);
    }
}

/// BBRv1's Startup does not end on loss.
#[test]
fn startup_left_on_loss() {
    const AFTER: Limit = Limit::at_most("hundredths of a round trip after the first loss", 400);
    const BOUND: Limit = Limit::at_least("bound in percent of a BDP", 121);
    let bound = [("bbr2", 0, "draft -02 sets none in Startup")];
    for controller in ["bbr3", "bbr2"] {
        let flow = sender(controller).bytes(12_000_000);
        let (_, acks) = watch(&sharing("rate 4mbit queue 0.5bdp").flow(flow), SECOND * 3);
        let exit = acks.iter().find(|ack| ack.state() != "Startup").unwrap();
        let first_lost = acks.iter().find(|ack| !ack.path.lost.is_zero()).unwrap();
        let after = hundredths(exit.at.since(first_lost.at), RTT);
        AFTER.check(controller, after, &[]);
        let bdp = Bandwidth::from_bits_per_sec(ESTIMATE) * RTT;
        let reached = exit.after.inflight_longterm.unwrap_or_default();
        BOUND.check(controller, reached.get() * 100 / bdp.get(), &bound);
    }
}

/// Tokens for 10 kB at the begin, for 100 kB at most.
#[test]
fn policer() {
    const TRANSFER: Limit = Limit::at_most("duration in ms", 30_000);
    for controller in BBRS {
        let link = "rate 4mbit queue 2bdp policer 1mbit burst";
        let scenario = sharing(&format!("{link} 10000b"))
            .flow(sender(controller).bytes(3_000_000))
            .change_link(MS, &format!("{link} 100000b delay 30ms"));
        let outcome = scenario.run_for(SECOND * 60);
        let flow = outcome.flow(0);
        TRANSFER.check(controller, millis(completed(flow)), &[]);
        LOST_A_LOT.check(controller, lost_permille(flow), &[]);
    }
}

/// A queue of 10 kB drops what a policer with such a bucket would, at a quarter of what the
/// sender's own link has.
#[test]
fn policer_as_a_very_short_queue() {
    const TRANSFER: Limit = Limit::at_most("duration in ms", 30_000);
    for controller in BBRS {
        let flow = sender(controller).access("rate 16mbit delay 2ms queue 1000p");
        let flow = over("rate 4mbit queue 10kb", flow.bytes(3_000_000), SECOND * 60);
        TRANSFER.check(controller, millis(completed(&flow)), &[]);
        LOST_A_LOT.check(controller, lost_permille(&flow), &[]);
    }
}

#[test]
fn spurious_loss() {
    for controller in BBRS {
        let flow = sender(controller).bytes(12_000_000);
        let flow = over("rate 4mbit queue 2bdp reorder 1%", flow, SECOND * 60);
        assert!(flow.packets_spuriously_lost > 0, "{controller}");
        let dropped = flow.packets_lost - flow.packets_spuriously_lost;
        let acked = flow.packets_received;
        assert_eq!(flow.packets_sent, acked + dropped, "{controller}");
    }
}

/// The first flight after the pause fills the pipe: nothing is left of a ProbeRTT.
#[test]
fn idle_in_probe_bw() {
    const RATE: Limit = Limit::at_least("percent of the link's rate", 90);
    for controller in BBRS {
        let flow = sender(controller).bytes(3_000_000).pause(SECOND * 15);
        let flow = flow.bytes(1_000_000);
        let flow = over("rate 4mbit queue 2bdp", flow, SECOND * 40);
        let idle = |at: Timestamp| at > Timestamp::ZERO + SECOND * 15;
        let mut late = flow.points.iter().filter(|point| idle(point.at));
        let again = late.find(|point| !point.inflight.is_zero()).unwrap();
        let begin = again.at.since(Timestamp::ZERO);
        let rate = flow.goodput_between(begin + RTT, begin + RTT * 16);
        RATE.check(controller, rate.bits_per_sec() * 100 / ESTIMATE, &[]);
    }
}

/// The first transfer ends with the flow in ProbeRTT, or just before one is due.
#[test]
fn idle_in_probe_rtt() {
    for (controller, bytes) in [
        ("bbr3", 3_000_000),
        ("bbr2:probe_rtt_duration=2s", 3_300_000),
    ] {
        let flow = sender(controller).bytes(bytes).pause(SECOND * 15);
        let flow = flow.bytes(1_000_000);
        let visits = over("rate 4mbit queue 2bdp", flow, SECOND * 40).states;
        let idle = visits.iter().position(|visit| visit.state == "ProbeRTT");
        let [probe_rtt, down, cruise] = visits[idle.unwrap()..][..3] else {
            panic!("{visits:?}")
        };
        let next = (down.state, cruise.state);
        assert_eq!(next, ("ProbeBW_DOWN", "ProbeBW_CRUISE"), "{controller}");
        let paused = down.at.since(probe_rtt.at);
        assert!(paused > SECOND * 15, "{controller}: {paused:?}");
        assert_eq!(down.at, cruise.at, "{controller}");
    }
}

/// The second begins when the first has had a tenth of the time that it takes alone.
#[test]
fn two_bbr_flows() {
    let alone = Bytes::new(10_000_000) / Bandwidth::from_bits_per_sec(ESTIMATE);
    let starts = [Duration::ZERO, alone / 10];
    for controller in BBRS {
        let flows = starts.map(|start| sender(controller).bytes(10_000_000).start(start));
        let outcome = flows
            .into_iter()
            .fold(sharing("rate 4mbit queue 2bdp"), Scenario::flow)
            .run_for(SECOND * 80);
        for (flow, start) in outcome.flows.iter().zip(starts) {
            let took = completed(flow) - start;
            SHARED.check(controller, hundredths(took, alone), &[]);
        }
    }
}

#[test]
fn against_reno_and_cubic() {
    for controller in BBRS {
        for (other, bytes) in [("new_reno", 10_000_000), ("cubic", 50_000_000)] {
            let alone = Bytes::new(bytes) / Bandwidth::from_bits_per_sec(ESTIMATE);
            let outcome = sharing("rate 4mbit queue 2bdp")
                .flow(sender(controller).bytes(bytes))
                .flow(sender(other).bytes(bytes))
                .run_for(alone * 4);
            let took = completed(outcome.flow(0));
            SHARED.check(controller, hundredths(took, alone), &[]);
        }
    }
}

/// Six flows that begin two seconds after each other, the median of five runs.
#[test]
fn six_flows() {
    const TOGETHER: Limit = Limit::at_most("hundredths of the time alone", 110);
    const POLICED: &str = "it believes in policers where there are none; 1.05 with lt_bw=off";
    let misses = [("bbr1", 116, POLICED)];
    let alone = Bytes::new(12_000_000) / Bandwidth::from_bits_per_sec(ESTIMATE);
    for controller in BBRS {
        let flow = |index| {
            sender(controller)
                .bytes(2_000_000)
                .start(SECOND * 2 * index)
        };
        let scenario = (0..6)
            .map(flow)
            .fold(sharing("rate 4mbit queue 2bdp"), Scenario::flow);
        let last = |seed| {
            let outcome = scenario.clone().seed(seed).run_for(SECOND * 60);
            outcome.flows.iter().map(completed).max()
        };
        let last = median(5, last).expect("there are flows");
        TOGETHER.check(controller, hundredths(last, alone), &misses);
    }
}
