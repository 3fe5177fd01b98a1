//! Paceline under quinn's name, for programs whose dependencies use quinn 0.11:
//!
//! ```toml
//! [patch.crates-io]
//! quinn = { path = "paceline/crates/quinn-shim" }
//! ```
//!
//! ```text
//!  your program ──▶ reqwest, h3-quinn, wtransport, libp2p-quic …   unchanged
//!                        │ quinn 0.11's names
//!                   this crate: what quinn has and paceline has not
//!                        │
//!                   paceline: endpoint, controllers, pacing
//! ```
//!
//! Types that are quinn's in paceline already are re-exported. The others hold one of paceline.
//! [`Connection`], [`Endpoint`] and [`TransportConfig`] dereference to it, so that what paceline
//! adds is there as well: [`Connection::congestion`](paceline::Connection::congestion),
//! [`Connection::set_congestion`](paceline::Connection::set_congestion),
//! [`Endpoint::drain`](paceline::Endpoint::drain). [`TransportConfig::congestion`] chooses a
//! controller by its name.
//!
//! # Controllers
//! | quinn | here |
//! |---|---|
//! | nothing, [`congestion::CubicConfig`] | `cubic` |
//! | [`congestion::NewRenoConfig`] | `new_reno`, whose `beta` is its `loss_reduction_factor` |
//! | [`congestion::BbrConfig`] | `bbr`, which is `bbr3`; quinn's own is of version 1 |
//! | any other [`congestion::ControllerFactory`] | a panic: its trait has no pacing rate, and its facts are not paceline's |
//!
//! An `initial_window` is not taken over: it is that of RFC 9002 §7.2. One that was set is logged
//! as a warning.
//!
//! # What is refused
//! | what | how |
//! |---|---|
//! | runtimes other than [`TokioRuntime`] | an error of [`Endpoint::new`]; `AsyncStdRuntime` and `SmolRuntime` do not exist |
//! | cryptography without `ring` and `aws-lc-rs` | does not compile; with both it is aws-lc-rs |

mod abstract_socket;
mod config;
pub mod congestion;
mod connection;
mod delegate;
mod endpoint;
mod incoming;
mod named_future;
mod runtime;

pub use abstract_socket::{AsyncUdpSocket, UdpPoller};
pub use config::{ClientConfig, ServerConfig, TransportConfig};
pub use connection::{
    AcceptBi, AcceptUni, Connecting, Connection, OpenBi, OpenUni, ReadDatagram, SendDatagram,
};
pub use endpoint::{Accept, Endpoint};
pub use incoming::{Incoming, IncomingFuture, RetryError};
pub use runtime::{AsyncTimer, Runtime, TokioRuntime, default_runtime};

pub use paceline::{
    AckFrequencyConfig, ApplicationClose, BloomTokenLog, Chunk, ClosedStream, ConfigError,
    ConnectError, ConnectionClose, ConnectionError, ConnectionId, ConnectionIdGenerator,
    ConnectionStats, Dir, EndpointConfig, EndpointStats, FrameStats, FrameType, IdleTimeout,
    MtuDiscoveryConfig, NoneTokenLog, NoneTokenStore, PathStats, ReadError, ReadExactError,
    ReadToEndError, RecvStream, ResetError, SendDatagramError, SendStream, Side, StdSystemTime,
    StoppedError, StreamId, TimeSource, TokenLog, TokenMemoryCache, TokenReuseError, TokenStore,
    TransportErrorCode, UdpStats, ValidationTokenConfig, VarInt, VarIntBoundsExceeded, WriteError,
    Written, ZeroRttAccepted, crypto,
};
#[cfg(feature = "qlog")]
pub use paceline::{QlogConfig, QlogStream};
pub use quinn_proto::{EcnCodepoint, Transmit};
pub use quinn_udp as udp;
pub use rustls;
