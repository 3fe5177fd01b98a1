//! What gate, adapter and driver cost: one transfer in virtual time under this crate's driver and
//! under quinn-proto alone, everything else being equal. Time per datagram, both ends, encryption
//! and the emulated link included; the difference is the seam.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paceline::VarInt;
use paceline::testing::{Load, Pair, PairConfig, PlainQuinn, Side};
use quinn_proto::congestion::CubicConfig;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use units::Bytes;

const TRANSFER: u64 = 20_000_000;

/// No loss, and a window of flow control that holds every sender to the same rate.
fn config() -> PairConfig {
    let mut config = PairConfig {
        link: "delay 5ms rate 2gbit queue 100m".parse().expect("a link"),
        return_link: "delay 5ms".parse().expect("a link"),
        seed: 1,
        ..PairConfig::default()
    };
    let window = VarInt::from_u32(1_000_000);
    config
        .server
        .receive_window(window)
        .stream_receive_window(window);
    config
}

fn driven(controller: &str) -> PairConfig {
    let mut config = config();
    let choice = cc_core::Registry::standard()
        .choose(controller)
        .expect("a controller of cc-core");
    config.client.congestion(choice);
    config
}

fn plain() -> PairConfig {
    let cubic = PlainQuinn(Arc::new(CubicConfig::default()));
    PairConfig {
        plain: Some(cubic),
        ..config()
    }
}

fn connected(config: &PairConfig) -> Pair {
    let mut pair = Pair::new(config).expect("a delay");
    pair.connect(Duration::from_secs(1)).expect("a handshake");
    pair
}

fn transfer(mut pair: Pair) -> Pair {
    pair.send(Side::Client, Load::Bytes(TRANSFER));
    let limit = Duration::from_secs(60);
    assert!(pair.run_until_received(Side::Server, Bytes::new(TRANSFER), limit));
    pair
}

fn seam(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("datagram");
    for (name, config) in [
        ("quinn-proto alone, its cubic", plain()),
        ("driver, cubic", driven("cubic")),
        ("driver, bbr3", driven("bbr3")),
    ] {
        let mut pair = transfer(connected(&config));
        let datagrams = [Side::Client, Side::Server]
            .map(|side| pair.proto_stats(side).udp_tx.datagrams)
            .iter()
            .sum();
        group.throughput(Throughput::Elements(datagrams));
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_batched(
                || connected(&config),
                |pair| black_box(transfer(pair)),
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30);
    targets = seam
}
criterion_main!(benches);
