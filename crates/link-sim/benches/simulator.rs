//! How fast virtual time runs: packets through a link, and through the event core.
//!
//! ```text
//! cargo bench -p paceline-link-sim --bench simulator
//! ```

use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use link_sim::sim::{Node, NodeId, Simulator, Transmit};
use link_sim::{Link, LinkSpec, Packet};
use units::{Bytes, Timestamp};

const PACKETS: u64 = 100_000;
const SIZE: Bytes = Bytes::new(1_250);

/// Packets through one link, a call in and a call out for each.
fn link(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("link");
    group.throughput(Throughput::Elements(PACKETS));
    for text in [
        "delay 20ms",
        "delay 20ms loss 1% rate 100mbit queue 1bdp",
        "delay 20ms 5ms distribution normal rate 100mbit queue 1bdp",
    ] {
        let spec: LinkSpec = text.parse().expect("the links above are right");
        group.bench_function(text, |bencher| {
            bencher.iter(|| {
                let mut link: Link<u64> = spec.build(Duration::from_millis(20), 1);
                let mut now = Timestamp::ZERO;
                for payload in 0..PACKETS {
                    link.handle_packet(now, Packet::new(SIZE, payload));
                    now += Duration::from_micros(100);
                    while link.poll_output(now).is_some() {}
                }
                link.stats().delivered
            });
        });
    }
    group.finish();
}

/// A source that keeps a window of packets under way and a sink that acknowledges each.
fn simulator(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulator");
    group.throughput(Throughput::Elements(PACKETS));
    for flows in [1, 10] {
        group.bench_function(
            format!("{flows} flows, each packet acknowledged"),
            |bencher| {
                bencher.iter(|| run(flows));
            },
        );
    }
    group.finish();
}

/// Runs until the sinks have received [`PACKETS`].
fn run(flows: u64) -> Timestamp {
    let spec: LinkSpec = "delay 20ms rate 100mbit queue 1bdp"
        .parse()
        .expect("a link");
    let mut sim = Simulator::new(1);
    let there = sim.add_link(&spec, Duration::from_millis(20));
    let back = sim.add_link(&LinkSpec::default(), Duration::ZERO);
    let sinks: Vec<NodeId> = (0..flows)
        .map(|_| {
            let sink = sim.add_node(Host::default());
            let source = sim.add_node(Host {
                peer: Some(sink),
                credit: 400 / flows,
                ..Host::default()
            });
            sim.add_route(source, sink, &[there]);
            sim.add_route(sink, source, &[back]);
            sim.update_node(source, |_, _| ());
            sink
        })
        .collect();
    let received =
        |sim: &Simulator<Host>| -> u64 { sinks.iter().map(|sink| sim.node(*sink).received).sum() };
    sim.run_while(Timestamp::MAX, |sim| received(sim) < PACKETS);
    sim.now()
}

/// Sends one packet for each it receives, and at first as many as it has credit for.
#[derive(Debug, Default)]
struct Host {
    peer: Option<NodeId>,
    credit: u64,
    received: u64,
}

impl Node for Host {
    type Payload = ();

    fn handle_packet(&mut self, _: Timestamp, from: NodeId, _: Packet<()>) {
        self.peer = Some(from);
        self.credit += 1;
        self.received += 1;
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_transmit(&mut self, _: Timestamp) -> Option<Transmit<()>> {
        let to = self.peer.filter(|_| self.credit > 0)?;
        self.credit -= 1;
        let packet = Packet::new(SIZE, ());
        Some(Transmit { to, packet })
    }
}

criterion_group!(benches, link, simulator);
criterion_main!(benches);
