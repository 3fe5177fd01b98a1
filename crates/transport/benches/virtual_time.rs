//! How fast virtual time passes for two real QUIC endpoints, with and without encryption of their
//! packets: virtual seconds per second of one core, links and their checks included.
//!
//! And how long a minute of a whole application takes, endpoints, tasks and timers: the one of
//! docs/simulation.md, over `delay 50ms loss 2%`, which is to take less than two seconds.
//!
//! ```text
//! cargo bench -p paceline --features testing --bench virtual_time
//! ```

#[path = "../tests/simulation/ten_lines.rs"]
mod ten_lines;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paceline::testing::{Load, Pair, PairConfig, Side};
use std::time::{Duration, Instant};

/// Of virtual time: 83,000 data packets and 41,000 ACKs at 100 Mbit/s.
const TIME: Duration = Duration::from_secs(10);

/// Two endpoints at the begin of an endless transfer.
fn sending(controller: &str, is_unencrypted: bool) -> Pair {
    let mut config = PairConfig {
        link: "delay 20ms rate 100mbit queue 1bdp"
            .parse()
            .expect("a link"),
        return_link: "delay 20ms".parse().expect("a link"),
        is_unencrypted,
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
    for (name, is_unencrypted) in [("encrypted", false), ("unencrypted", true)] {
        for controller in ["cubic", "bbr3"] {
            group.bench_function(BenchmarkId::new(name, controller), |bencher| {
                bencher.iter_batched(
                    || sending(controller, is_unencrypted),
                    |mut pair| {
                        pair.run_for(TIME);
                        pair
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is asserted is the real time that it takes"
)]
fn a_minute_of_an_application(criterion: &mut Criterion) {
    let run = || ten_lines::a_minute_over("delay 50ms loss 2%", 1).expect("it runs");
    let begun = Instant::now();
    run();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "a minute takes {took:?}");
    criterion.bench_function("a minute of an application", |bencher| bencher.iter(run));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = virtual_time, a_minute_of_an_application
}
criterion_main!(benches);
