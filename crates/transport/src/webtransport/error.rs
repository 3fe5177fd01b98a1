//! What sessions, their streams and their datagrams fail with.

use super::codes::StreamCode;
use http::StatusCode;
use quinn_proto::{ConnectionError, TransportErrorCode};
use std::io;
use thiserror::Error;

/// Why a session is over.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer has closed it. Without a code of its own, 0 and no reason.
    #[error("session closed by the peer: code {code}, reason {reason:?}")]
    Closed {
        /// The peer's.
        code: u32,
        /// The peer's, at most 1,024 bytes.
        reason: String,
    },
    /// It was closed on this side.
    #[error("session closed on this side")]
    ClosedHere,
    /// The peer has reset its CONNECT stream, or asked to stop it.
    #[error("session abandoned by the peer: {0}")]
    Abandoned(StreamCode),
    /// What the peer sent about it cannot be read.
    #[error("session ended because of the peer's {0}")]
    Malformed(&'static str),
    /// The QUIC connection is lost or closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}

/// Why a client has no session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is not a URL, or not one of WebTransport.
    #[error("invalid URL {url:?}: {why}; expected https://HOST[:PORT]/PATH")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The host has no address that the endpoint could connect to.
    #[error(
        "no address for {host:?}; check the name, and that the endpoint has its address family"
    )]
    Lookup {
        /// Of the URL.
        host: String,
        /// What the lookup failed with, if it did.
        #[source]
        source: Option<io::Error>,
    },
    /// QUIC could not begin to connect.
    #[error("cannot connect")]
    Connect(#[from] quinn_proto::ConnectError),
    /// The handshake has failed because client and server have no application protocol in common.
    #[error(
        "the server takes none of the client's application protocols; give the TLS configurations \
         of both `.alpn(&[webtransport::ALPN])`"
    )]
    NoCommonProtocol(#[source] ConnectionError),
    /// The peer's SETTINGS do not have what WebTransport needs.
    #[error("the server does not support WebTransport over HTTP/3")]
    Unsupported,
    /// As many sessions as the server permits are open on this connection.
    #[error("{limit} sessions are open, as many as the server permits; close one, or connect anew")]
    TooManySessions {
        /// The server's.
        limit: u64,
    },
    /// The server is about to close the connection (GOAWAY, RFC 9114 §5.2).
    #[error("the server accepts no more sessions on this connection; connect anew")]
    GoingAway,
    /// The server has answered with a status other than 2xx.
    #[error("session refused by the server with status {0}")]
    Rejected(StatusCode),
    /// A header or a protocol's name cannot be sent.
    #[error("the request cannot be written: {0}; names and values are printable ASCII")]
    Request(String),
    /// The server's answer cannot be read, or the stream ended before it.
    #[error("no answer that can be read: {0}")]
    Answer(String),
    /// Only a client's connection opens sessions.
    #[error("this is the server's side of the connection; servers accept sessions")]
    NotAClient,
    /// The QUIC connection is lost or closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}

/// Why a stream cannot be written to.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The peer reads no more of it.
    #[error("stream stopped by the peer: {0}")]
    Stopped(StreamCode),
    /// The session is over.
    #[error(transparent)]
    SessionEnded(#[from] SessionError),
    /// It was finished or reset on this side.
    #[error("closed stream")]
    ClosedStream,
}

/// Why a stream cannot be read.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The peer has abandoned it.
    #[error("stream reset by the peer: {0}")]
    Reset(StreamCode),
    /// The session is over.
    #[error(transparent)]
    SessionEnded(#[from] SessionError),
    /// It was stopped on this side.
    #[error("closed stream")]
    ClosedStream,
}

/// Why [`read_to_end`](super::RecvStream::read_to_end) has no result.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadToEndError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is longer than the limit that was given.
    #[error("stream longer than the limit of {0} bytes")]
    TooLong(usize),
}

/// Why a datagram cannot be sent.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendDatagramError {
    /// It does not fit into a packet now, see
    /// [`max_datagram_size`](super::Session::max_datagram_size).
    #[error("datagram too large")]
    TooLarge,
    /// Datagrams are off, in the peer's transport or in this one's.
    #[error("no datagrams: one side's transport has them turned off")]
    Disabled,
    /// The session is over.
    #[error(transparent)]
    SessionEnded(#[from] SessionError),
}

impl ConnectError {
    /// Of a QUIC connection that could not be made.
    pub(super) fn from_handshake(error: ConnectionError) -> Self {
        let code = match &error {
            ConnectionError::ConnectionClosed(close) => Some(close.error_code),
            ConnectionError::TransportError(error) => Some(error.code),
            _ => None,
        };
        if code == Some(TransportErrorCode::crypto(NO_APPLICATION_PROTOCOL)) {
            Self::NoCommonProtocol(error)
        } else {
            Self::ConnectionLost(error)
        }
    }
}

impl WriteError {
    pub(super) fn from_stream(error: crate::WriteError) -> Self {
        match error {
            crate::WriteError::Stopped(code) => Self::Stopped(StreamCode::from_wire(code)),
            crate::WriteError::ConnectionLost(error) => {
                Self::SessionEnded(SessionError::ConnectionLost(error))
            }
            crate::WriteError::ClosedStream | crate::WriteError::ZeroRttRejected => {
                Self::ClosedStream
            }
        }
    }
}

impl ReadError {
    pub(super) fn from_stream(error: crate::ReadError) -> Self {
        match error {
            crate::ReadError::Reset(code) => Self::Reset(StreamCode::from_wire(code)),
            crate::ReadError::ConnectionLost(error) => {
                Self::SessionEnded(SessionError::ConnectionLost(error))
            }
            crate::ReadError::ClosedStream
            | crate::ReadError::IllegalOrderedRead
            | crate::ReadError::ZeroRttRejected => Self::ClosedStream,
        }
    }
}

impl SessionError {
    /// Of what its CONNECT stream was read with.
    pub(super) fn from_read(error: crate::ReadError) -> Self {
        match error {
            crate::ReadError::Reset(code) => Self::Abandoned(StreamCode::from_wire(code)),
            crate::ReadError::ConnectionLost(error) => Self::ConnectionLost(error),
            crate::ReadError::ClosedStream
            | crate::ReadError::IllegalOrderedRead
            | crate::ReadError::ZeroRttRejected => Self::ClosedHere,
        }
    }

    /// Of what its CONNECT stream was written with.
    pub(super) fn from_write(error: crate::WriteError) -> Self {
        match error {
            crate::WriteError::Stopped(code) => Self::Abandoned(StreamCode::from_wire(code)),
            crate::WriteError::ConnectionLost(error) => Self::ConnectionLost(error),
            crate::WriteError::ClosedStream | crate::WriteError::ZeroRttRejected => {
                Self::ClosedHere
            }
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        let kind = match error {
            WriteError::Stopped(_) => io::ErrorKind::ConnectionReset,
            WriteError::SessionEnded(_) | WriteError::ClosedStream => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match error {
            ReadError::Reset(_) => io::ErrorKind::ConnectionReset,
            ReadError::SessionEnded(_) | ReadError::ClosedStream => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// TLS's alert (RFC 7301 §3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;
