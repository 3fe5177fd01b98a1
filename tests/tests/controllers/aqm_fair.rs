//! Whole flows through queues that manage their delay and keep flows apart.
//!
//! Times are of a link of 50 Mbit/s and a round trip of 40 ms, unless said, on which a packet takes
//! 0.24 ms. Slow start fills any queue for as long as it takes CoDel to speak up, an interval of
//! 100 ms and a round trip; so it is not counted in what a queue's delay is most of the time.

use core::time::Duration;
use e2e::sim::{Flow, FlowOutcome, Outcome, Scenario};
use units::Gain;

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
/// CoDel's and, with an RTT of 100 ms, CAKE's.
const TARGET: Duration = Duration::from_millis(5);

fn single(aqm: &str, flow: Flow) -> Outcome {
    Scenario::new(&format!("rate 50mbit delay 20ms {aqm}"))
        .return_link("delay 20ms")
        .flow(flow)
        .run_for(SEC * 30)
}

fn megabits(flow: &FlowOutcome, from: Duration, to: Duration) -> f64 {
    flow.goodput_between(from, to).bits_per_sec() as f64 / 1e6
}

#[test]
fn marks_keep_the_delay_at_the_target_and_nothing_is_lost() {
    for aqm in ["aqm codel ecn", "aqm fq_codel", "aqm cake"] {
        let outcome = single(aqm, Flow::of("cubic").ecn());
        let queue_delay = &outcome.link().queue_delay;
        let p95 = queue_delay.quantile(Gain::percent(95));
        assert!(p95 < TARGET * 6 / 5, "{aqm}: {p95:?}");
        assert_eq!(outcome.flow(0).packets_lost, 0, "{aqm}");
        assert!(outcome.link().marked.packets >= 10, "{aqm}");
        let rate = megabits(outcome.flow(0), SEC * 5, SEC * 30);
        assert!(rate >= 44.0, "{aqm}: {rate}");
    }
    // Without, all of the queue's 1000 packets stand most of the time: 242 ms.
    let outcome = single("aqm droptail", Flow::of("cubic").ecn());
    let p50 = outcome.link().queue_delay.quantile(Gain::percent(50));
    assert!(p50 > MS * 150, "{p50:?}");
}

#[test]
fn without_marks_the_same_delay_costs_a_packet_for_each() {
    for aqm in ["aqm codel", "aqm fq_codel", "aqm cake"] {
        let outcome = single(aqm, Flow::of("cubic"));
        let p95 = outcome.link().queue_delay.quantile(Gain::percent(95));
        assert!(p95 < TARGET * 6 / 5, "{aqm}: {p95:?}");
        let dropped = &outcome.link().dropped;
        assert_eq!(dropped.total(), dropped.aqm, "{aqm}");
        let lost = outcome.flow(0).packets_lost;
        assert!((10..=30).contains(&lost), "{aqm}: {lost}");
    }
}

#[test]
fn a_flow_alone_meets_the_same_queue_in_fq_codel_as_in_codel() {
    for cc in ["cubic", "bbr3"] {
        let flow = || Flow::of(cc).ecn().bytes(50_000_000);
        let codel = single("aqm codel ecn queue 10240p", flow());
        let fair = single("aqm fq_codel", flow());
        assert_eq!(codel.link(), fair.link(), "{cc}");
        assert_eq!(codel.flow(0).rtt, fair.flow(0).rtt, "{cc}");
        assert_eq!(codel.ended_at, fair.ended_at, "{cc}");
    }
}

/// What a flow with a round trip of 10 ms gets for each bit of one with 100 ms.
fn advantage_of_the_short_way(cc: &str, queue: &str) -> f64 {
    let outcome = Scenario::new(&format!("rate 50mbit {queue}"))
        .return_link("delay 1ms")
        .flow(Flow::of(cc).ecn().access("delay 9ms"))
        .flow(Flow::of(cc).ecn().access("delay 99ms"))
        .run_for(SEC * 60);
    let rate = |flow| megabits(outcome.flow(flow), SEC * 20, SEC * 60);
    rate(0) / rate(1)
}

#[test]
fn flows_of_unequal_round_trips_share_evenly_where_they_are_kept_apart() {
    for queue in ["aqm fq_codel", "aqm cake"] {
        // What CUBIC's long flow lacks, it lacks by itself: 5 ms of queue are little for 100 ms.
        let cubic = advantage_of_the_short_way("cubic", queue);
        assert!((1.0..1.3).contains(&cubic), "{queue}: {cubic}");
        let bbr3 = advantage_of_the_short_way("bbr3", queue);
        assert!((0.95..1.1).contains(&bbr3), "{queue}: {bbr3}");
    }
    let cubic = advantage_of_the_short_way("cubic", "queue 500p");
    assert!(cubic > 3.0, "{cubic}");
    let bbr3 = advantage_of_the_short_way("bbr3", "queue 500p");
    assert!(bbr3 < 0.2, "{bbr3}");
}

#[test]
fn a_sparse_flow_does_not_wait_behind_a_bulk_one() {
    // 100 bytes every 20 ms, as a call sends them, over 10 Mbit/s and a round trip of 20 ms.
    let call = |queue: &str| {
        Scenario::new(&format!("rate 10mbit delay 10ms {queue}"))
            .return_link("delay 10ms")
            .flow(Flow::of("cubic").ecn())
            .flow(Flow::of("cubic").ecn().bursts(1_400, 100, MS * 20))
            .run_for(SEC * 30)
    };
    for aqm in ["aqm fq_codel", "aqm cake"] {
        let outcome = call(aqm);
        let call = outcome.flow(1);
        // The round trip, its own 0.1 ms, the packet in transmission and one of a flow that is as
        // new, 1.2 ms each.
        let worst = call.rtt.max();
        assert!(worst <= Duration::from_micros(22_540), "{aqm}: {worst:?}");
        assert_eq!(call.packets_lost, 0, "{aqm}");
    }
    let outcome = call("queue 500p");
    let usual = outcome.flow(1).rtt.quantile(Gain::percent(50));
    assert!(usual > MS * 300, "{usual:?}");
}
