//! The small transport over more than one link.

use core::time::Duration;
use e2e::sim::{Acks, Flow, FlowOutcome, Outcome, Scenario};
use units::{Bandwidth, Bytes};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Two bottlenecks one behind the other: the first flow crosses both, each of the others one.
fn parking_lot(controller: &str) -> Outcome {
    let bottleneck = "rate 20mbit delay 10ms queue 1bdp";
    Scenario::new(bottleneck)
        .link("second", bottleneck)
        .return_link("delay 10ms")
        .flow(Flow::of(controller).via(&[Scenario::LINK, "second"]))
        .flow(Flow::of(controller))
        .flow(Flow::of(controller).via(&["second"]))
        .run_for(30 * SECOND)
}

fn late_goodput(flow: &FlowOutcome) -> u64 {
    let rate = flow.goodput_between(10 * SECOND, 30 * SECOND);
    rate.bits_per_sec() / 1_000
}

#[test]
fn in_a_parking_lot_both_links_are_full_and_the_long_flow_gets_less() {
    for controller in ["new_reno", "cubic", "bbr3"] {
        let outcome = parking_lot(controller);
        let [long, first, second] = [0, 1, 2].map(|flow| late_goodput(outcome.flow(flow)));
        for (link, short) in [("first", first), ("second", second)] {
            // Of 20 Mbit/s at layer 2, 97 % can be payload.
            let sum = long + short;
            assert!(sum > 18_000, "{controller}, {link}: {sum} kbit/s");
            assert!(
                long < short,
                "{controller}, {link}: {long} and {short} kbit/s"
            );
        }
        assert!(long > 500, "{controller}: {long} kbit/s for the long flow");
    }
}

#[test]
fn what_leaves_one_link_of_a_chain_enters_the_next() {
    let outcome = parking_lot("cubic");
    let (first, second) = (outcome.link(), outcome.link_named("second"));
    let [long, only_first, only_second] = [0, 1, 2].map(|flow| outcome.flow(flow));
    let sent = long.packets_sent + only_first.packets_sent;
    assert_eq!(first.arrived.packets, sent);
    let handed_on = first.delivered.packets - only_first.packets_received;
    let entered = handed_on + only_second.packets_sent;
    assert_eq!(second.arrived.packets, entered);
    let received = long.packets_received + only_second.packets_received;
    assert_eq!(second.delivered.packets, received);
}

#[test]
fn a_queue_in_bdp_counts_the_longest_path_across_its_link() {
    // 8 Mbit/s and 10 + 30 + 20 ms are 60,000 bytes; the second link is no part of the other path.
    let outcome = Scenario::new("rate 8mbit delay 10ms queue 1bdp")
        .link("second", "delay 30ms")
        .return_link("delay 20ms")
        .flow(Flow::of("fixed:pacing=off").mss(958).bytes(200_000))
        .flow(
            Flow::of("fixed:pacing=off")
                .via(&[Scenario::LINK, "second"])
                .start(SECOND),
        )
        .run_for(800 * MS);
    assert_eq!(outcome.link().max_queue.bytes, Bytes::new(60_000));
}

#[test]
fn data_shares_its_link_with_the_acks_of_the_other_direction() {
    let link = "rate 20mbit delay 10ms queue 1bdp";
    let scenario = Scenario::new(link).return_link(link);
    let alone = scenario
        .clone()
        .flow(Flow::of("cubic"))
        .run_for(10 * SECOND);
    let both = scenario
        .flow(Flow::of("cubic"))
        .flow(Flow::of("cubic").reversed())
        .run_for(10 * SECOND);
    let acks = alone.return_link().arrived.packets;
    let data = both.flow(1).packets_sent;
    let shared = both.return_link().arrived.packets;
    assert!(
        acks > 7_000 && shared > data + 5_000,
        "{acks}, {shared} of {data}"
    );
    for flow in &both.flows {
        let rate = flow.goodput_between(3 * SECOND, 10 * SECOND);
        // The ACKs of the other take 3 % of the link and wait in its queue.
        assert!(rate > Bandwidth::from_bits_per_sec(16_000_000), "{rate}");
    }
}

#[test]
fn flows_over_paths_of_their_own_length_get_a_window_in_each_round_trip() {
    let outcome = Scenario::new("delay 10ms")
        .return_link("delay 10ms")
        .flow(Flow::of("fixed:pacing=off,cwnd=73600"))
        .flow(Flow::of("fixed:pacing=off,cwnd=73600").access("delay 20ms"))
        .flow(
            Flow::of("fixed:pacing=off,cwnd=73600")
                .access("delay 80ms")
                .acks(Acks::every(1)),
        )
        .run_for(10 * SECOND);
    for (flow, rtt) in outcome.flows.iter().zip([20_u32, 40, 100]) {
        assert_eq!(flow.rtt.max(), MS * rtt);
        let delivered = flow.point_at(9 * SECOND).delivered - flow.point_at(SECOND).delivered;
        assert_eq!(delivered, Bytes::new(73_600 * 8_000 / u64::from(rtt)));
    }
}

#[test]
fn a_flow_leaves_the_link_to_the_others_when_it_stops() {
    let outcome = Scenario::new("rate 20mbit delay 10ms queue 1bdp")
        .return_link("delay 10ms")
        .flow(Flow::of("cubic"))
        .flow(
            Flow::of("cubic")
                .start(10 * SECOND)
                .backlogged_for(10 * SECOND),
        )
        .run_for(30 * SECOND);
    let [first, second] = [0, 1].map(|flow| outcome.flow(flow));
    let rate = |flow: &FlowOutcome, from: u32, to: u32| {
        flow.goodput_between(SECOND * from, SECOND * to)
            .bits_per_sec()
            / 1_000
    };
    assert!(rate(first, 2, 10) > 18_000, "alone");
    assert!(rate(second, 14, 20) > 5_000, "the second gets its part");
    assert!(rate(first, 22, 30) > 18_000, "alone again");
    assert_eq!(rate(second, 21, 30), 0);
}

#[test]
fn marks_travel_to_the_receiver_and_back_and_replace_losses() {
    let run = |flow: Flow| {
        Scenario::new("rate 20mbit delay 10ms aqm codel ecn queue 500p")
            .return_link("delay 10ms")
            .flow(flow)
            .run_for(20 * SECOND)
    };
    let marked = run(Flow::of("cubic").ecn());
    let flow = marked.flow(0);
    assert!(flow.packets_marked > 10, "{} marks", flow.packets_marked);
    assert_eq!(flow.packets_marked, marked.link().marked.packets);
    assert_eq!(flow.packets_lost, 0);
    let dropped = run(Flow::of("cubic"));
    assert_eq!(dropped.link().marked.packets, 0);
    assert!(dropped.link().dropped.aqm.packets > 10);
    // The sender has reacted to them: a window that did not shrink would fill the queue.
    for outcome in [&marked, &dropped] {
        let late = outcome.flow(0).points.iter().skip(100);
        let longest = late.map(|point| point.queue).max();
        assert!(longest < Some(Bytes::new(150_000)), "{longest:?}");
    }
}

#[test]
fn a_flow_that_never_sends_changes_nothing_of_the_others() {
    let scenario = Scenario::new("rate 20mbit delay 10ms 2ms loss 1% queue 1bdp")
        .return_link("delay 10ms")
        .flow(Flow::of("cubic"))
        .flow(Flow::of("bbr3"));
    let without = scenario.run_for(5 * SECOND);
    let silent = Flow::of("bbr3").access("rate 5mbit loss 5%");
    let with = scenario.flow(silent.start(6 * SECOND)).run_for(5 * SECOND);
    assert_eq!(with.flow(2).packets_sent, 0);
    for flow in [0, 1] {
        assert!(
            with.flow(flow).points == without.flow(flow).points,
            "flow {flow}"
        );
    }
    assert_eq!(with.links, without.links);
}

#[test]
fn a_way_over_a_link_that_there_is_not_is_refused_by_name() {
    let scenario = Scenario::new("delay 10ms").flow(Flow::of("cubic").via(&["secnod"]));
    let refused = std::panic::catch_unwind(|| scenario.run_for(MS));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(message, "there is no link `secnod`");
}
