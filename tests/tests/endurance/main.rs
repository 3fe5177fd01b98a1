//! Endpoints on real sockets, for as long as is asked: `just soak`. CI runs the same for a moment.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod churn;
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
