//! Defaults and bounds that the command line and the files of a matrix share.

/// iperf3's write for TCP.
pub(crate) const DEFAULT_LENGTH: &str = "128K";

/// What QUIC asks of every path (RFC 9000 §14).
pub(crate) const MIN_MTU: u16 = 1_200;

/// The most that a UDP datagram can have.
pub(crate) const MAX_MTU: u16 = bench_kit::transport_settings::LARGEST_PAYLOAD;

/// 1 Gbit/s over 250 ms.
pub(crate) const DEFAULT_WINDOW: &str = "32M";
