//! Endpoints on real sockets, for as long as is asked: `just soak`. CI runs the same for a moment.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod attempts;
mod churn;
mod idle;
mod soak;

use e2e::memory::held_by_all;
use std::net::{Ipv4Addr, SocketAddr};

#[global_allocator]
static ALLOCATOR: e2e::memory::Counting = e2e::memory::Counting;

/// A loopback address, any port.
fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// What the environment variable `name` says, or `default`.
fn asked(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else {
        return default;
    };
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is a whole number, `{text}` is none"))
}

/// Figures for whoever has asked for a longer run.
#[expect(
    clippy::print_stdout,
    reason = "shown by `--nocapture`, as in `just soak`"
)]
fn report(figures: std::fmt::Arguments<'_>) {
    println!("{figures}");
}

/// Memory of the process that is in RAM in KiB, where the kernel tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
