//! QUIC over tokio, with pluggable congestion control and exact pacing.
//!
//! ```text
//!   Endpoint ── accept ──▶ Connection ── open_bi, accept_uni … ──▶ SendStream, RecvStream
//!      │                       │ a lock each, shared with the task
//!  ════╪═══════════════════════╪═══════════════════════ one task per endpoint ═════════════
//!      │             ConnectionDriver: quinn_proto::Connection + cc-core's Flow and Pacer
//!      │                       │ "these packets now", "wake me then, for pacing"
//!   Socket (GSO, GRO, ECN) ◀───┴───▶ Timer (tens of microseconds)
//! ```
//!
//! The one law: **a packet leaves when the window has room and the pacer has tokens, and both
//! numbers come from the controller, from nowhere else.** What this costs in quinn-proto's own
//! machinery, and why it is exact, stands in the driver.
//!
//! Names and meaning are those of quinn 0.11: [`Endpoint`], [`Incoming`], [`Connecting`],
//! [`Connection`], [`SendStream`], [`RecvStream`]. What is new: [`TransportConfig::congestion`]
//! chooses a controller by its name in a [`cc_core::Registry`]; [`Connection::congestion`] shows
//! its state, [`Connection::set_congestion`] exchanges it in mid-transfer, and
//! [`Connection::set_observer`] and [`Connection::congestion_events`] observe it.
//! [`ConnectionStats`] says what limited the sender.
//! [`ShardedServer`] serves one address from several cores; [`quic_lb`] is for servers behind a
//! load balancer; [`tls`] makes certificates and configurations for the common cases; with feature
//! `h3`, module `h3` has connections carry HTTP/3; with feature `webtransport`, module
//! `webtransport` has them carry WebTransport's sessions. [`Endpoint::with_socket`] takes a
//! [`DatagramSocket`] of the application's in place of the kernel's; with feature `testing`,
//! `testing::Simulation` runs an application in virtual time over emulated links.
//!
//! Cryptography is that of aws-lc-rs or ring, by the feature of that name: aws-lc-rs is a default,
//! and is used if both are on; without either the crate does not compile. `tls::SelfSigned` needs
//! feature `rcgen`, a default.
//!
//! [`cc_core`], whose traits and types a controller of one's own is written with, and [`units`],
//! whose quantities stand in signatures here, are re-exported: an application depends on this crate
//! alone:
//!
//! ```
//! use paceline::{TransportConfig, units::Bandwidth};
//!
//! let chosen_by_the_user = String::from("bbr3");
//! let mut config = TransportConfig::default();
//! config.congestion(chosen_by_the_user)?.max_rate(Some("20mbit".parse::<Bandwidth>()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use paceline::{Endpoint, VarInt, tls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let certificate = tls::SelfSigned::generate(["localhost"])?;
//! let server = Endpoint::server(certificate.server().config()?, "127.0.0.1:0".parse()?)?;
//! let address = server.local_addr()?;
//! let echo = tokio::spawn(async move {
//!     let connection = server.accept().await?.await.ok()?;
//!     let (mut send, mut recv) = connection.accept_bi().await.ok()?;
//!     tokio::io::copy(&mut recv, &mut send).await.ok()?;
//!     send.finish().ok()?;
//!     Some(connection.closed().await)
//! });
//!
//! let config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
//! let client = Endpoint::client("127.0.0.1:0".parse()?)?;
//! let connection = client.connect_with(config, address, "localhost")?.await?;
//! let (mut send, mut recv) = connection.open_bi().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! assert_eq!(recv.read_to_end(5).await?, b"hello");
//! println!("{}", connection.congestion());
//!
//! connection.close(VarInt::from_u32(0), b"done");
//! client.wait_idle().await;
//! echo.await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//! Everything that a peer can make an endpoint hold has a bound. The tests are those of this crate
//! (`attempts`, `hostile`, `polling`: `tests/loopback`; `receive`, `sent_packets`, `tap`: beside
//! the code), of `tests/tests/quic_virtual` (`acks` and others of `adversity`, `limits`).
//!
//! | what | bound | set by | shown by |
//! |---|---|---|---|
//! | attempts not yet accepted | 65,536 | [`ServerConfig::max_incoming`] | `attempts::attempts_beyond_the_limit_are_not_kept` |
//! | bytes held for one of them, for all | 10 MiB, 100 MiB | [`ServerConfig::incoming_buffer_size`], [`incoming_buffer_size_total`](ServerConfig::incoming_buffer_size_total) | `attempts::what_comes_for_attempts_that_wait…` |
//! | bytes sent to an address before it is validated | 3 times what came from it, and a packet | fixed | `amplification` |
//! | life of a connection, of a handshake, without a packet from the peer | 30 s | [`TransportConfig::max_idle_timeout`] | `hostile::clients_that_only_say_hello…`, `silence` |
//! | duration of a handshake, whatever the peer sends | 10 s | [`TransportConfig::handshake_timeout`] | `handshake::a_handshake_that_the_peer_draws_out…` |
//! | bytes to be read, per connection | 1 MiB, growing to 128 MiB | [`TransportConfig::receive_window`], [`max_receive_window`](TransportConfig::max_receive_window) | `hoarding::a_reader_that_never_reads…`, `forged` |
//! | bytes to be read, per stream | what the connection has | [`TransportConfig::stream_receive_window`] | the same |
//! | what the windows of all connections grow by, together | 1 GiB | [`Endpoint::set_window_budget`] | `budget` |
//! | pieces, with holes between them, of streams that are read from | 4,096, and one for each 256 bytes held; more end the connection | fixed | `hoarding::a_stream_full_of_holes…` |
//! | memory for these pieces | twice the receive window, and 1 MiB | the window | `hoarding::a_stream_of_pieces_as_small…` |
//! | streams the peer has open, each way | 100 | [`TransportConfig::max_concurrent_bidi_streams`], [`max_concurrent_uni_streams`](TransportConfig::max_concurrent_uni_streams) | `hoarding::streams_that_nobody_accepts…`, `streams_opened_and_reset…` |
//! | bytes written and not acknowledged | 1 MiB, growing to 128 MiB | [`TransportConfig::send_window`], [`max_send_window`](TransportConfig::max_send_window) | `limits::the_own_send_buffer` |
//! | packets in flight | the congestion window | the controller | `acks::hundreds_of_ranges…`, `acks::a_true_acknowledgement…` |
//! | those of them that the peer need not acknowledge | 1,000 | fixed | `acks::a_receiver_that_pads…` |
//! | batches that the kernel is to send later | 64, for 1 ms | fixed | `schedule::no_more_batches…` |
//! | lost packets remembered, in case they arrive | 16,384, for three probe timeouts | fixed | `sent_packets::a_lost_packet_is_remembered…` |
//! | times remembered at which ACK-only packets left | 4,096 | fixed | `sent_packets::times_of_acks…` |
//! | packets sent, ACK frames and ranges of them read, in one step | 256, 64, 1,024 | fixed | `tap::no_more_packets…`, `tap::of_frames…`, `tap::of_ranges…` |
//! | datagrams received | 1.25 MB | [`TransportConfig::datagram_receive_buffer_size`] | `hoarding::datagrams_that_nobody_reads…` |
//! | datagrams to be sent | 256 KiB, 1,024, and a batch of packets | [`TransportConfig::datagram_send_buffer_size`], [`datagram_send_buffer_count`](TransportConfig::datagram_send_buffer_count) | `datagram_queue`, `live::datagrams` |
//! | those in flight of which news is asked for, news to be read | 8,192, 4,096 | fixed | `datagram_fates`, `event_queue` |
//! | packets that came early, where others come late | 4,096 and 8 MiB, for 250 ms | fixed | `hoarding::packets_that_skip_numbers…` |
//! | handshake data out of order | 16 KiB | [`TransportConfig::crypto_buffer_size`] | `forged::frames_beyond_a_limit…` |
//! | ranges of packets to be acknowledged | 64 | fixed | `hoarding::packets_with_gaps…` |
//! | challenges to be answered | 16 | fixed | `hoarding::challenges…` |
//! | the peer's connection IDs, in use and given back | 5, 50 | fixed | `forged`, `hoarding::connection_ids_given…` |
//! | address-validation tokens of servers | 2 each of 256 names | [`ClientConfig::token_store`] | `tokens::a_client_keeps_two_tokens…` |
//! | memory behind received bytes | twice the message each came in | fixed | `receive::small_messages…` |
//! | memories of paths | 256 | [`ClientConfig::path_store`], [`ServerConfig::path_store`] | `store::the_newest_memory…` |
//! | TLS sessions to be resumed | 256 | [`ServerTls::sessions`](tls::ServerTls::sessions), [`quic_lb::Sessions`] | rustls |
//! | bytes that shards have handed to another one, each | 256 KiB | fixed | `shard_routing::a_shard_that_does_not_read…` |
//! | events of congestion control to be delivered, to be read from a stream | 1,024 each | fixed | `events::no_more_than_the_limit…`, `event_stream::a_slow_reader…` |
//! | work before the task reads the socket again | 1 MiB of packets to send, 128 batches of them, 256 connections | fixed | `fairness` |
//!
//! Connections are the application's to bound: they are as many as it accepts
//! ([`Endpoint::open_connections`] counts them); their memory comes back (`tests/tests/endurance`).

#[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
compile_error!(
    "paceline has no cryptography: turn on its feature `aws-lc-rs`, which is a default, or `ring`"
);

mod budget;
mod cc_adapter;
mod choice;
mod clock;
mod config;
mod connection;
mod crypto_provider;
mod datagram_socket;
mod datagrams;
mod driver;
mod dscp;
mod endpoint;
mod error;
#[cfg(target_os = "linux")]
mod event_loop;
mod event_queue;
mod gate;
#[cfg(feature = "h3")]
pub mod h3;
mod histogram;
mod kernel_pacing;
mod lock;
mod path_memory;
mod path_watch;
#[cfg(feature = "qlog")]
pub mod qlog;
pub mod quic_lb;
mod quinn_proto_habits;
mod random;
mod shard_routing;
mod sharded;
mod socket;
mod stats;
mod tap;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;
pub mod tls;
#[cfg(feature = "metrics")]
mod totals;
mod user_code;
#[cfg(feature = "testing")]
mod virtual_time;
#[cfg(feature = "webtransport")]
pub mod webtransport;

pub use cc_adapter::CongestionEvents;
pub use cc_core::{self, ChooseError, ControllerChoice, Observer, Snapshot};
pub use choice::{ChooseController, quinn_controller};
pub use config::{
    ClientConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig, ValidationTokenConfig,
};
pub use connection::{Connecting, Connection, RecvStream, SendStream, ZeroRttAccepted};
pub use datagram_socket::{ArrivedDatagrams, DatagramBatch, DatagramSocket};
pub use datagrams::{
    DatagramEvent, DatagramEvents, DatagramId, DatagramOptions, DatagramOutcome, DatagramPriority,
};
pub use dscp::{Dscp, ParseDscpError};
#[cfg(feature = "metrics")]
pub use endpoint::EndpointMetrics;
pub use endpoint::{Endpoint, EndpointStats, Incoming, IncomingFuture, RetryError, TimerStats};
pub use error::{
    ReadError, ReadExactError, ReadToEndError, ResetError, SendDatagramError, StoppedError,
    WriteError,
};
pub use histogram::RttHistogram;
pub use kernel_pacing::{KernelPacing, NoKernelPacing, ParseKernelPacingError};
pub use path_memory::{PathMemory, PathMemoryError, PathStore};
pub use path_watch::{IntervalError, PathEstimate, PathWatch};
#[cfg(feature = "metrics")]
pub use sharded::ShardedMetrics;
pub use sharded::{ShardStats, ShardedBuilder, ShardedServer, Steering};
pub use stats::{
    ConnectionStats, DatagramStats, EcnStats, FrameStats, LimitedBy, PathStats, UdpStats,
};

#[cfg(feature = "qlog")]
pub use qlog::{QlogConfig, QlogStream};
pub use quinn_proto::{
    AckFrequencyConfig, ApplicationClose, BloomTokenLog, Chunk, ClosedStream, ConfigError,
    ConnectError, ConnectionClose, ConnectionError, ConnectionId, ConnectionIdGenerator, Dir,
    EcnCodepoint, EndpointConfig, FrameType, IdleTimeout, NoneTokenLog, NoneTokenStore, Side,
    StdSystemTime, StreamId, TimeSource, TokenLog, TokenMemoryCache, TokenReuseError, TokenStore,
    TransportError, TransportErrorCode, VarInt, VarIntBoundsExceeded, Written, crypto,
};
pub use rustls;
pub use units;

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
