//! How fast the small transport runs: data packets delivered per second of one core, the ACKs, the
//! links and their checks included.
//!
//! ```text
//! cargo bench -p e2e --bench small_transport
//! ```

use core::time::Duration;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use e2e::sim::{Flow, Outcome, Scenario};

/// Of virtual time: 24,000 packets of 1,472 bytes at 100 Mbit/s.
const TIME: Duration = Duration::from_secs(3);

fn run(controller: &str) -> Outcome {
    Scenario::new("delay 20ms rate 100mbit queue 1bdp")
        .return_link("delay 20ms")
        .flow(Flow::of(controller))
        .run_for(TIME)
}

fn delivered(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets delivered");
    for controller in ["cubic", "bbr3"] {
        let packets = run(controller).flow(0).packets_received;
        group.throughput(Throughput::Elements(packets));
        group.bench_function(BenchmarkId::from_parameter(controller), |bencher| {
            bencher.iter(|| run(controller));
        });
    }
    group.finish();
}

criterion_group!(benches, delivered);
criterion_main!(benches);
