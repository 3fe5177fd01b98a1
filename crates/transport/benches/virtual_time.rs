//! How fast virtual time passes for two real QUIC endpoints.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use transport::testing::{Load, Pair, PairConfig, Side};

const TIME: Duration = Duration::from_secs(10);

fn connected(controller: &str) -> Pair {
    let mut config = PairConfig {
        link: "delay 20ms rate 100mbit queue 1bdp"
            .parse()
            .expect("a link"),
        return_link: "delay 20ms".parse().expect("a link"),
        seed: 1,
        ..PairConfig::default()
    };
    let choice = cc_core::Registry::standard()
        .choose(controller)
        .expect("a controller of cc-core");
    config.client.congestion(choice);
    let mut pair = Pair::new(&config).expect("a delay");
    pair.connect(Duration::from_secs(1)).expect("a handshake");
    pair.send(Side::Client, Load::Endless);
    pair
}

fn virtual_time(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("virtual seconds");
    group.throughput(Throughput::Elements(TIME.as_secs()));
    for controller in ["cubic", "bbr3"] {
        group.bench_function(BenchmarkId::from_parameter(controller), |bencher| {
            bencher.iter_batched(
                || connected(controller),
                |mut pair| {
                    pair.run_for(TIME);
                    pair
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = virtual_time
}
criterion_main!(benches);
