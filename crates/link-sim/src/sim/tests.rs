//! These tests prove the simulator: determinism, order of events, checks of any link.

use super::*;
use crate::spec::tests::specs;
use crate::{Ecn, Link};
use proptest::prelude::*;
use units::{Bandwidth, Bytes};

/// Sends packets of 1250 bytes and every codepoint at a constant rate, or counts and answers what
/// it receives.
#[derive(Debug, Default)]
struct Host {
    /// Where to, how often, and how many still.
    source: Option<(NodeId, Duration, u64)>,
    next: Option<Timestamp>,
    echo: bool,
    answer: Option<NodeId>,
    sent: u64,
    received: Vec<(Timestamp, NodeId, u64)>,
}

impl Host {
    fn sink() -> Self {
        Self::default()
    }

    fn source(to: NodeId, gap: Duration, count: u64, start: Timestamp) -> Self {
        Self {
            source: Some((to, gap, count)),
            next: (count > 0).then_some(start),
            ..Self::default()
        }
    }

    fn packet(&mut self) -> Packet<u64> {
        self.sent += 1;
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][self.sent as usize % 4];
        Packet::new(Bytes::new(1_250), self.sent).ecn(ecn)
    }
}

impl Node for Host {
    type Payload = u64;

    fn handle_packet(&mut self, now: Timestamp, from: NodeId, packet: Packet<u64>) {
        self.received.push((now, from, packet.payload));
        self.answer = self.echo.then_some(from);
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.next
    }

    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<u64>> {
        if let Some(to) = self.answer.take() {
            let packet = self.packet();
            return Some(Transmit { to, packet });
        }
        let (to, gap, left) = self.source.as_mut()?;
        let (to, due) = (*to, self.next.filter(|next| *next <= now)?);
        *left -= 1;
        self.next = (*left > 0).then(|| due + *gap);
        let packet = self.packet();
        Some(Transmit { to, packet })
    }
}

fn spec(text: &str) -> LinkSpec {
    text.parse().unwrap()
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_packet_and_its_answer_take_one_rtt() {
    let mut sim = Simulator::new(1);
    let server = sim.add_node(Host {
        echo: true,
        ..Host::default()
    });
    let client = sim.add_node(Host::source(server, MS, 1, Timestamp::from_millis(5)));
    let (there, back) = sim
        .connect(
            client,
            server,
            &spec("delay 20ms rate 10mbit"),
            &spec("delay 10ms"),
        )
        .unwrap();
    sim.run_until(Timestamp::from_millis(100));
    assert_eq!(
        sim.node(client).received,
        [(Timestamp::from_millis(36), server, 1)]
    );
    assert_eq!(sim.now(), Timestamp::from_millis(100));
    assert_eq!(sim.link_stats(there).delivered.packets, 1);
    assert_eq!(sim.link_stats(back).delivered.packets, 1);
}

#[test]
fn flows_through_one_bottleneck_share_its_rate() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let bottleneck = sim.add_link(&spec("rate 10mbit delay 5ms queue 10p"), Duration::ZERO);
    let sources = [0, 1].map(|n| {
        // Each alone would fill the link.
        let start = Timestamp::ZERO + Duration::from_micros(500 * n);
        let source = sim.add_node(Host::source(sink, MS, 1_000, start));
        sim.add_route(source, sink, &[bottleneck]);
        source
    });
    sim.run_until(Timestamp::from_millis(1_005));
    assert_eq!(sim.node(sink).received.len(), 1_000);
    for source in sources {
        let from = |(_, from, _): &&(Timestamp, NodeId, u64)| *from == source;
        let share = sim.node(sink).received.iter().filter(from).count();
        assert!(share > 0, "a source got nothing through");
    }
    assert_eq!(sim.link_stats(bottleneck).max_queue.packets, 10);
}

#[test]
fn a_route_over_two_links_crosses_both() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let source = sim.add_node(Host::source(sink, MS, 1, Timestamp::ZERO));
    let access = sim.add_link(&spec("rate 10mbit delay 2ms"), Duration::ZERO);
    let core = sim.add_link(&spec("rate 5mbit delay 30ms"), Duration::ZERO);
    sim.add_route(source, sink, &[access, core]);
    sim.run_until(Timestamp::from_millis(100));
    assert_eq!(sim.node(sink).received[0].0, Timestamp::from_millis(35));
}

#[test]
fn routes_share_one_link_of_a_chain_and_each_is_counted_for_itself() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let [first, second] =
        ["loss 20%", "loss 10% duplicate 5%"].map(|text| sim.add_link(&spec(text), Duration::ZERO));
    let sources = [&[first, second][..], &[first], &[second]].map(|via| {
        let source = sim.add_node(Host::source(sink, MS, 1_000, Timestamp::ZERO));
        sim.add_route(source, sink, via);
        source
    });
    sim.run_until(Timestamp::from_millis(2_000));
    let [both, one, other] = sources.map(|source| sim.route_stats(source, sink));
    assert!([both, one, other].iter().all(|stats| stats.sent == 1_000));
    let (first, second) = (sim.link_stats(first), sim.link_stats(second));
    assert_eq!(first.arrived.packets, 2_000);
    let handed_on = first.delivered.packets - one.received;
    assert_eq!(second.arrived.packets, handed_on + 1_000);
    assert_eq!(second.delivered.packets, both.received + other.received);
    let survived = 1_000 * 80 / 100 * 90 / 100 * 105 / 100;
    assert!(both.received.abs_diff(survived) < 60, "{both:?}");
}

#[test]
fn the_same_seed_repeats_a_run() {
    let run = |seed| {
        let mut sim = Simulator::new(seed);
        let sink = sim.add_node(Host::sink());
        let source = sim.add_node(Host::source(sink, MS, 300, Timestamp::ZERO));
        let link = spec("delay 10ms 5ms distribution pareto loss 10% duplicate 3%");
        sim.connect(source, sink, &link, &LinkSpec::default())
            .unwrap();
        sim.run_until(Timestamp::from_millis(1_000));
        sim.node(sink).received.clone()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn two_links_of_one_run_lose_different_packets() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let lost: Vec<Vec<u64>> = (0..2)
        .map(|_| {
            let source = sim.add_node(Host::source(sink, MS, 100, sim.now()));
            sim.connect(source, sink, &spec("loss 50%"), &LinkSpec::default())
                .unwrap();
            let before = sim.node(sink).received.len();
            sim.run_until(sim.now() + Duration::from_secs(1));
            let received = &sim.node(sink).received[before..];
            received.iter().map(|(_, _, number)| *number).collect()
        })
        .collect();
    assert_ne!(lost[0], lost[1]);
}

#[test]
fn a_link_that_changes_while_it_runs_carries_the_new_rate() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let gap = Duration::from_micros(100);
    let source = sim.add_node(Host::source(sink, gap, 20_000, Timestamp::ZERO));
    let (link, _) = sim
        .connect(
            source,
            sink,
            &spec("rate 10mbit queue 5p"),
            &LinkSpec::default(),
        )
        .unwrap();
    sim.run_until(Timestamp::from_millis(1_000));
    let before = sim.node(sink).received.len();
    sim.reconfigure(link, &spec("rate 50mbit queue 5p"), Duration::ZERO);
    sim.run_until(Timestamp::from_millis(2_000));
    let after = sim.node(sink).received.len() - before;
    assert_eq!(before, 1_000);
    assert!((4_995..=5_005).contains(&after), "{after}");
}

#[test]
fn a_run_stops_when_its_condition_ends() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let source = sim.add_node(Host::source(sink, MS, 100, Timestamp::ZERO));
    sim.connect(source, sink, &spec("delay 1ms"), &LinkSpec::default())
        .unwrap();
    let waiting = |sim: &Simulator<Host>| sim.node(sink).received.len() < 10;
    assert!(!sim.run_while(Timestamp::MAX, waiting));
    assert_eq!(sim.now(), Timestamp::from_millis(10));
    assert!(sim.run_while(Timestamp::MAX, |_| true));
}

#[test]
fn a_run_that_stops_before_a_delivery_is_collected_has_lost_nothing() {
    let mut sim = Simulator::new(1);
    let echo = sim.add_node(Host {
        echo: true,
        ..Host::default()
    });
    let asks = sim.add_node(Host::source(echo, MS, 1, Timestamp::ZERO));
    let tells = sim.add_node(Host::source(asks, MS, 1, Timestamp::ZERO));
    let [first, second] = [(); 2].map(|()| sim.add_link(&spec("delay 1ms"), Duration::ZERO));
    sim.add_route(asks, echo, &[first]);
    sim.add_route(echo, asks, &[second]);
    sim.add_route(tells, asks, &[second]);
    // The answer enters the second link at the instant at which another packet is due there.
    sim.run_while(Timestamp::MAX, |sim| {
        sim.link_stats(second).arrived.packets < 2
    });
    assert_eq!(sim.link_stats(second).delivered.packets, 1);
    assert!(sim.node(asks).received.is_empty());
    sim.run_until(Timestamp::from_millis(10));
    assert_eq!(sim.node(asks).received.len(), 2);
}

#[test]
fn a_node_changed_from_outside_sends_at_once() {
    let mut sim = Simulator::new(1);
    let sink = sim.add_node(Host::sink());
    let source = sim.add_node(Host::source(sink, MS, 0, Timestamp::ZERO));
    sim.connect(source, sink, &spec("delay 1ms"), &LinkSpec::default())
        .unwrap();
    sim.run_until(Timestamp::from_millis(3));
    sim.update_node(source, |host, now| {
        *host = Host::source(sink, MS, 1, now);
    });
    sim.run_until(Timestamp::from_millis(10));
    assert_eq!(sim.node(sink).received[0].0, Timestamp::from_millis(4));
}

#[test]
#[should_panic(expected = "virtual time stands still")]
fn nodes_that_answer_each_other_without_delay_are_stopped() {
    let mut sim = Simulator::new(1);
    let echo = || Host {
        echo: true,
        ..Host::default()
    };
    let a = sim.add_node(echo());
    let b = sim.add_node(echo());
    sim.connect(a, b, &LinkSpec::default(), &LinkSpec::default())
        .unwrap();
    sim.update_node(a, |host, now| {
        *host = Host {
            echo: true,
            ..Host::source(b, MS, 1, now)
        };
    });
    sim.run_until(Timestamp::from_millis(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The simulator's own checks do the work: conservation, order, spacing, no copy too many.
    #[test]
    fn every_link_keeps_its_promises_under_any_traffic(
        first in specs(),
        second in specs(),
        gaps in proptest::collection::vec(0..20_000_u64, 1..4),
        seed in any::<u64>(),
    ) {
        let mut sim = Simulator::new(seed);
        let sink = sim.add_node(Host::sink());
        let link = sim.add_link(&first, Duration::from_millis(20));
        for gap in gaps {
            let gap = Duration::from_micros(gap);
            let source = sim.add_node(Host::source(sink, gap, 200, Timestamp::ZERO));
            sim.add_route(source, sink, &[link]);
        }
        sim.run_until(Timestamp::from_millis(1_000));
        sim.reconfigure(link, &second, Duration::from_millis(20));
        sim.run_until(Timestamp::MAX);
        let stats = sim.link_stats(link);
        prop_assert_eq!(stats.held, Count::default());
        let intact = stats.delivered - stats.corrupted;
        prop_assert_eq!(intact.packets, sim.node(sink).received.len() as u64);
    }

    #[test]
    fn a_full_link_never_carries_more_than_its_rate(
        rate in 1_000..100_000_000_u64,
        sizes in proptest::collection::vec(1..9_000_u64, 1..100),
        netem in any::<bool>(),
    ) {
        let queue = if netem { "" } else { "queue 1000p" };
        let rate = Bandwidth::from_bytes_per_sec(rate);
        let spec = spec(&format!("rate {}bit {queue}", rate.bits_per_sec()));
        let mut link: Link<()> = spec.build(Duration::ZERO, 1);
        for size in &sizes {
            link.handle_packet(Timestamp::ZERO, Packet::new(Bytes::new(*size), ()));
        }
        let mut carried = Bytes::ZERO;
        while let Some(delivery) = link.poll_output(Timestamp::MAX) {
            carried += delivery.packet.size;
            let exact = carried / rate;
            let taken = delivery.due.since(Timestamp::ZERO);
            prop_assert_eq!(taken, exact);
        }
    }
}
