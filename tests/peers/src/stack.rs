//! What a QUIC library has to offer to be measured.

mod paceline;
#[cfg(feature = "quiche")]
mod quiche;
mod quinn;
mod s2n_quic;

pub(crate) use self::paceline::Paceline;
#[cfg(feature = "quiche")]
pub(crate) use self::quiche::{LARGEST_PACKET, Quiche};
pub(crate) use self::quinn::Quinn;
pub(crate) use self::s2n_quic::S2nQuic;

use crate::Result;
use crate::settings::Settings;
use bytes::Bytes;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;

/// The stacks by name, ours first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    /// This repository's `paceline`.
    Paceline,
    /// The same under CUBIC, beside a controller that paces.
    #[value(skip)]
    Cubic,
    /// `paceline` as another build of this program has it.
    #[value(skip)]
    Before,
    /// quinn 0.11.
    Quinn,
    /// s2n-quic 1.x.
    S2nQuic,
    /// quiche 0.30.
    #[cfg(feature = "quiche")]
    Quiche,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Paceline => "paceline",
            Self::Cubic => "cubic",
            Self::Before => "before",
            Self::Quinn => "quinn",
            Self::S2nQuic => "s2n-quic",
            #[cfg(feature = "quiche")]
            Self::Quiche => "quiche",
        })
    }
}

/// A library. Every socket is on loopback.
pub(crate) trait Stack: Send + Sync + 'static {
    type Server: Send;
    type Client: Clone + Send + Sync + 'static;
    type Connection: Connection;

    /// A server with this certificate and key, both DER, and its port.
    fn server(settings: &Settings, certificate: &[u8], key: &[u8]) -> Result<(Self::Server, u16)>;

    /// A client that trusts the certificate.
    fn client(settings: &Settings, certificate: &[u8]) -> Result<Self::Client>;

    /// The next attempt, which resolves once its handshake is done.
    fn accept(
        server: &mut Self::Server,
    ) -> impl Future<Output = Option<Attempt<Self::Connection>>> + Send;

    /// Resolves once the handshake is done on this side.
    fn connect(
        client: &Self::Client,
        server: SocketAddr,
    ) -> impl Future<Output = Result<Self::Connection>> + Send;
}

/// A handshake under way.
pub(crate) type Attempt<C> = Pin<Box<dyn Future<Output = Result<C>> + Send>>;

/// Lives as long as a handle or a stream of it does.
pub(crate) trait Connection: Send + 'static {
    type Sender: Sender;
    type Receiver: Receiver;

    /// A new bidirectional stream.
    fn open(&mut self) -> impl Future<Output = Streams<Self>> + Send;

    /// The peer's next bidirectional stream; an error once the connection is closed.
    fn accept(&mut self) -> impl Future<Output = Streams<Self>> + Send;

    fn close(&self);
}

type Streams<C> = Result<(<C as Connection>::Sender, <C as Connection>::Receiver)>;

/// The sending half of a stream.
pub(crate) trait Sender: Send + 'static {
    /// Hands all of `data` over, which waits for room.
    fn write(&mut self, data: Bytes) -> impl Future<Output = Result<()>> + Send;

    /// Says that nothing follows, and does not wait.
    fn finish(&mut self) -> Result<()>;
}

/// The receiving half of a stream.
pub(crate) trait Receiver: Send + 'static {
    /// The next bytes in order, however many there are; `None` at the end.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>>> + Send;
}
