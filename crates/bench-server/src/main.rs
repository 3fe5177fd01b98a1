//! The server side of `bench-client run`; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_kit::bug::report_panics("bench-server");
    bench_server::main_with(&bench_server::Registry::standard(), std::env::args_os())
}
