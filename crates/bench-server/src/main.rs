//! The server side of `bench-client run`; all of it is in `bench_kit`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_kit::server_main(&bench_kit::Registry::standard(), std::env::args_os())
}
