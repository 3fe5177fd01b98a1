//! Endpoints on real sockets over loopback. Nothing here depends on how fast the machine is; a
//! limit of a minute turns what hangs into a failure.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod attempts;
mod closing;
mod controllers;
mod datagrams;
mod draining;
mod dscp;
mod fairness;
mod handles;
mod handshakes;
mod hostile;
mod interop;
mod kernel_pacing;
#[cfg(target_os = "linux")]
mod late_host;
mod logs;
#[cfg(feature = "metrics")]
mod metrics;
mod observers;
mod own_socket;
mod polling;
mod quic_lb;
mod rebind;
mod security;
mod streams;
mod support;
mod tokens;
mod user_code;
#[cfg(feature = "webtransport")]
mod webtransport;
mod zero_rtt;
