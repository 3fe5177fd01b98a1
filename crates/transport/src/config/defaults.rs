//! What a connection gets that asks for nothing.

use std::time::Duration;

/// Bytes that a window begins with. A sender that doubles from ten packets needs six round trips to
/// fill it, in which it has grown; 10,000 connections that nobody reads from hold 10 GiB at most.
pub(super) const FIRST_WINDOW: u64 = 1 << 20;

/// Bytes that a window comes to at most: 64 MiB in flight, twice.
pub(super) const MAX_WINDOW: u64 = 128 << 20;

/// Probe timeouts of 1, 2 and 4 s, and a bit (RFC 9002 §6.2.1).
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// As long as Chromium uses what a server has told it of its bandwidth (kBWRE).
pub(super) const LIFETIME: Duration = Duration::from_secs(3_600);

pub(super) const DEFAULT_CONTROLLER: &str = "cubic";
