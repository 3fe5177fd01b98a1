//! The small transport of `e2e::sim` itself.

use core::time::Duration;
use e2e::sim::{Acks, Flow, Outcome, Scenario};
use units::{Bandwidth, Bytes, Timestamp};

const MS: Duration = Duration::from_millis(1);

/// 100 packets.
const WINDOW: &str = "fixed:pacing=off,cwnd=147200";
const PACED: &str = "fixed:rate=8mbit,cwnd=147200";

fn scenario(link: &str) -> Scenario {
    Scenario::new(link)
        .return_link("delay 10ms")
        .sample_every(MS * 10)
}

#[test]
fn a_window_over_a_delay_gives_one_window_per_round_trip() {
    let outcome = scenario("delay 10ms")
        .flow(Flow::of(WINDOW).bytes(147_200 * 10))
        .run_for(MS * 1_000);
    // Ten windows of a 20 ms round trip; the last one takes one way.
    let completed = outcome.flow(0).completed_at;
    assert_eq!(completed, Some(Timestamp::ZERO + MS * 190));
    assert_eq!(outcome.flow(0).packets_sent, 1_000);
    assert_eq!(outcome.flow(0).rtt.max(), MS * 20);
}

#[test]
fn a_paced_flow_keeps_to_its_rate() {
    let outcome = scenario("delay 10ms")
        .flow(Flow::of(PACED))
        .run_for(MS * 2_000);
    let rate = outcome.flow(0).goodput_between(MS * 100, MS * 1_100);
    let error = rate.bytes_per_sec().abs_diff(1_000_000);
    assert!(error <= 5_000, "{rate}");
}

#[test]
fn a_full_queue_drops_and_everything_arrives_in_the_end() {
    let outcome = scenario("rate 8mbit delay 10ms queue 20p")
        .flow(Flow::of(WINDOW).bytes(1_000_000))
        .run_for(MS * 3_000);
    let flow = outcome.flow(0);
    assert_eq!(flow.delivered, Bytes::new(1_000_000));
    assert_eq!(outcome.link().dropped.queue.packets, flow.packets_lost);
    assert!(flow.packets_lost > 0 && flow.retransmitted == flow.lost);
    assert!(outcome.link().queue_delay.max() <= MS * 31);
}

#[test]
fn random_loss_on_both_ways_stops_nothing() {
    let outcome = scenario("delay 10ms loss 20%")
        .return_link("delay 10ms loss 20%")
        .flow(Flow::of(WINDOW).bytes(300_000))
        .run_for(MS * 60_000);
    assert_eq!(outcome.flow(0).delivered, Bytes::new(300_000));
}

#[test]
fn a_dead_link_is_probed_less_and_less_and_persistent_congestion_is_noticed() {
    let outcome = scenario("delay 10ms")
        .flow(Flow::of(WINDOW))
        .change_link(MS * 500, "delay 10ms loss 100%")
        .change_link(MS * 3_000, "delay 10ms")
        .run_for(MS * 8_000);
    let flow = outcome.flow(0);
    assert!(
        (3..=7).contains(&flow.probe_timeouts),
        "{}",
        flow.probe_timeouts
    );
    assert_eq!(flow.persistent_congestions, 1);
    let rate = flow.goodput_between(MS * 6_000, MS * 7_000);
    assert!(rate > Bandwidth::from_bits_per_sec(50_000_000), "{rate}");
}

#[test]
fn reordering_makes_losses_that_are_found_spurious() {
    let outcome = scenario("delay 10ms 8ms rate 50mbit queue 1000p")
        .flow(Flow::of(WINDOW).bytes(3_000_000))
        .run_for(MS * 10_000);
    let flow = outcome.flow(0);
    assert_eq!(flow.packets_spuriously_lost, flow.packets_lost);
    assert!(flow.packets_lost > 0);
    assert_eq!(flow.lost, Bytes::ZERO);
}

#[test]
fn an_application_writes_its_phases_one_after_the_other() {
    let outcome = scenario("delay 10ms")
        .flow(
            Flow::of(WINDOW)
                .bytes(100_000)
                .pause(MS * 100)
                .bursts(5, 500, MS * 10)
                .bytes(100_000),
        )
        .run_for(MS * 1_000);
    let flow = outcome.flow(0);
    assert_eq!(flow.delivered, Bytes::new(202_500));
    // 20 ms until the first bytes are acknowledged, the pause, five bursts, one way.
    let expected = MS * (20 + 100 + 50 + 10);
    assert_eq!(flow.completed_at, Some(Timestamp::ZERO + expected));
    let waits = flow.point_at(MS * 80);
    assert_eq!(
        (waits.delivered, waits.inflight),
        (Bytes::new(100_000), Bytes::ZERO)
    );
}

#[test]
fn a_receive_window_limits_what_is_in_flight() {
    let outcome = scenario("delay 10ms")
        .flow(Flow::of(WINDOW).receive_window(20_000))
        .run_for(MS * 500);
    let peak = outcome
        .flow(0)
        .points
        .iter()
        .map(|point| point.inflight)
        .max();
    assert_eq!(peak, Some(Bytes::new(20_000)));
}

#[test]
fn acks_are_delayed_and_held_as_asked() {
    let sent = |acks: Acks| {
        let flow = Flow::of(PACED).bytes(200_000).acks(acks);
        let outcome = scenario("delay 10ms").flow(flow).run_for(MS * 2_000);
        (
            outcome.return_link().arrived.packets,
            outcome.flow(0).rtt.max(),
        )
    };
    assert_eq!(sent(Acks::every(1)).0, 136);
    assert_eq!(sent(Acks::every(2)).0, 68);
    let (acks, longest) = sent(Acks::every(1_000).within(MS * 5));
    assert!((27..=41).contains(&acks), "{acks}");
    assert!((MS * 22..=MS * 26).contains(&longest), "{longest:?}");
    let (acks, longest) = sent(Acks::every(1).held(36 * 10, MS * 50));
    assert_eq!(acks, 136);
    assert!((MS * 30..=MS * 71).contains(&longest), "{longest:?}");
}

#[test]
fn flows_share_a_link_and_start_when_they_are_told() {
    let outcome = scenario("rate 20mbit delay 10ms queue 300p")
        .flow(Flow::of(WINDOW))
        .flow(Flow::of(WINDOW).start(MS * 500).access("delay 5ms"))
        .run_for(MS * 1_000);
    assert_eq!(outcome.flow(1).point_at(MS * 500).delivered, Bytes::ZERO);
    let second = outcome.flow(1).goodput_between(MS * 600, MS * 1_000);
    assert!(second > Bandwidth::from_bits_per_sec(8_000_000), "{second}");
}

#[test]
fn a_packet_size_and_a_controller_change_in_the_middle() {
    let outcome = scenario("delay 10ms")
        .flow(
            Flow::of(PACED)
                .mtu_change(MS * 100, 9_000)
                .mtu_change(MS * 300, 1_200)
                .controller_change(MS * 500, WINDOW),
        )
        .run_for(MS * 1_000);
    let flow = outcome.flow(0);
    assert!(flow.goodput_between(MS * 600, MS * 900) > Bandwidth::from_bits_per_sec(40_000_000));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let run = |seed| -> Outcome {
        scenario("rate 20mbit delay 10ms 2ms loss 1% queue 1bdp")
            .flow(Flow::of("new_reno"))
            .flow(Flow::of(WINDOW))
            .seed(seed)
            .run_for(MS * 2_000)
    };
    let (a, b, c) = (run(1), run(1), run(2));
    assert_eq!(a.flow(0).points, b.flow(0).points);
    assert_eq!(a.links, b.links);
    assert_ne!(a.flow(0).points, c.flow(0).points);
}

#[test]
fn thirty_seconds_at_a_hundred_megabits_are_all_there() {
    let outcome = scenario("rate 100mbit delay 10ms queue 1bdp")
        .flow(Flow::of(WINDOW))
        .run_for(MS * 30_000);
    // 100 packets of 1,472 bytes in a round trip of 20 ms and the 121 µs on the wire.
    let rate = outcome.goodput().bits_per_sec();
    assert!((58_000_000..=58_600_000).contains(&rate), "{rate}");
}

#[test]
fn a_wrong_name_is_refused_by_name() {
    let scenario = scenario("delay 10ms").flow(Flow::of("new_remo"));
    let refused = std::panic::catch_unwind(|| scenario.run_for(MS));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("did you mean `new_reno`?"), "{message}");
}
