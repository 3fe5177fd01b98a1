//! Throughput runs and A/B tests of congestion controllers; all of it is in `bench_kit`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_kit::client_main(&bench_kit::Registry::standard(), std::env::args_os())
}
