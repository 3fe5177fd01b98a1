//! Throughput runs and A/B tests of congestion controllers; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_kit::bug::report_panics("bench-client");
    bench_client::main_with(&bench_client::Registry::standard(), std::env::args_os())
}
