//! What a controller costs: nanoseconds per acknowledged packet, all controllers on one history.
//!
//! Ours are measured behind `Flow`, with its RTT estimator and delivery-rate sampler, and with the
//! stamp of every packet; quinn-proto's are called as its connection calls them. Both are asked for
//! their window after each step. Results are in `docs/measuring.md`.

mod history;
mod quinn;

use cc_core::{
    AckedPacket, ControllerChoice, Feedback, Flow, LostPacket, PacketStamp, Registry, Setup,
};
use criterion::{BatchSize, Criterion, Throughput};
use history::{History, MSS, RTT, Step};
use std::hint::black_box;
use units::Timestamp;

fn main() {
    let history = History::record();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("per_acked_packet");
    group.throughput(Throughput::Elements(history.acked()));
    for spec in Registry::standard().specs() {
        let choice = Registry::standard().choose(spec.name);
        let choice = choice.expect("a registered name can be chosen");
        let mut lists = Lists::default();
        group.bench_function(spec.name, |bencher| {
            bencher.iter_batched(
                || new_flow(&choice),
                |flow| run(flow, &history, &mut lists),
                BatchSize::SmallInput,
            );
        });
    }
    let rtt = quinn::rtt_estimator(RTT);
    for (name, factory) in quinn::factories() {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || quinn::Driver::new(&factory, rtt),
                |driver| driver.run(&history),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}

fn new_flow(choice: &ControllerChoice) -> Flow {
    let setup = Setup::new(Timestamp::ZERO, MSS, 1);
    Flow::new(choice.build(&setup), &setup)
}

/// The transport's side: the stamps of all packets, and the lists of one feedback.
#[derive(Default)]
struct Lists {
    stamps: Vec<PacketStamp>,
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
}

fn run(mut flow: Flow, history: &History, lists: &mut Lists) -> Flow {
    lists.stamps.clear();
    for step in &history.steps {
        match step {
            Step::Send { at, packets } => {
                for _ in 0..*packets {
                    lists.stamps.push(flow.on_sent(*at, MSS));
                }
            }
            Step::Ack { at, acked, lost } => {
                lists.fill(acked, lost);
                let newest = lists.acked.last().map(|packet| packet.stamp.sent_at);
                let feedback = Feedback {
                    acked: &lists.acked,
                    lost: &lists.lost,
                    rtt: newest.map(|sent_at| at.since(sent_at)),
                    ..Feedback::at(*at)
                };
                flow.on_feedback(&feedback, &mut ());
            }
        }
        black_box(flow.control());
    }
    flow
}

impl Lists {
    fn fill(&mut self, acked: &[usize], lost: &[usize]) {
        let stamps = &self.stamps;
        self.acked.clear();
        self.acked.extend(acked.iter().map(|number| AckedPacket {
            stamp: stamps[*number],
            bytes: MSS,
        }));
        self.lost.clear();
        self.lost.extend(lost.iter().map(|number| LostPacket {
            stamp: stamps[*number],
            bytes: MSS,
            starts_range: true,
        }));
    }
}
