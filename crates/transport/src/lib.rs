//! QUIC over tokio with pluggable congestion control and exact pacing.
//!
//! Names and meaning are quinn's: an [`Endpoint`] on a UDP socket makes and accepts
//! [`Connection`]s, which carry streams and datagrams.

mod cc_adapter;
mod clock;
mod config;
mod connection;
mod driver;
mod endpoint;
mod error;
mod gate;
mod socket;
mod stats;
mod stream;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;
pub mod tls;

pub use config::{ClientConfig, ServerConfig, TransportConfig};
pub use connection::{Connecting, Connection};
pub use endpoint::{Endpoint, EndpointStats, Incoming, IncomingFuture, RetryError, TimerStats};
pub use error::{
    ReadError, ReadExactError, ReadToEndError, ResetError, SendDatagramError, StoppedError,
    WriteError,
};
pub use stats::{ConnectionStats, FrameStats, LimitedBy, PathStats, UdpStats};
pub use stream::{RecvStream, SendStream};

pub use quinn_proto::{
    AckFrequencyConfig, ApplicationClose, Chunk, ClosedStream, ConfigError, ConnectError,
    ConnectionClose, ConnectionError, ConnectionId, ConnectionIdGenerator, Dir, EndpointConfig,
    IdleTimeout, MtuDiscoveryConfig, Side, StreamId, TokenStore, TransportError,
    TransportErrorCode, ValidationTokenConfig, VarInt, VarIntBoundsExceeded, Written, crypto,
};
pub use rustls;
