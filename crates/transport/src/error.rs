//! What stream and datagram operations fail with. Names and meaning are quinn's.

use quinn_proto::{ClosedStream, ConnectionError, ReadableError, VarInt};
use std::io;
use thiserror::Error;

/// Writing to a stream failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// The peer takes no more data on this stream and gave this code (STOP_SENDING).
    #[error("sending stopped by peer: error {0}")]
    Stopped(VarInt),
    /// The connection was lost.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was finished or reset before.
    #[error("closed stream")]
    ClosedStream,
    /// The stream was opened with 0-RTT, and the server has rejected that: for the server the
    /// stream has never been. See [`Connecting::into_0rtt`](crate::Connecting::into_0rtt).
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

/// Reading from a stream failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The peer gave the stream up and gave this code (RESET_STREAM).
    #[error("stream reset by peer: error {0}")]
    Reset(VarInt),
    /// The connection was lost.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was stopped, read to its end or reset before.
    #[error("closed stream")]
    ClosedStream,
    /// An ordered read after an unordered one, which may have left gaps.
    #[error("ordered read after unordered read")]
    IllegalOrderedRead,
    /// The stream was opened with 0-RTT, and the server has rejected that: for the server the
    /// stream has never been. See [`Connecting::into_0rtt`](crate::Connecting::into_0rtt).
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

/// [`RecvStream::read_exact`](crate::RecvStream::read_exact) failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ReadExactError {
    /// The stream ended after this many bytes.
    #[error("stream finished early ({0} bytes read)")]
    FinishedEarly(usize),
    /// Reading failed.
    #[error(transparent)]
    ReadError(#[from] ReadError),
}

/// [`RecvStream::read_to_end`](crate::RecvStream::read_to_end) failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ReadToEndError {
    /// Reading failed.
    #[error("read error: {0}")]
    Read(#[from] ReadError),
    /// The stream is longer than the limit.
    #[error("stream too long")]
    TooLong,
}

/// [`SendStream::stopped`](crate::SendStream::stopped) failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum StoppedError {
    /// The connection was lost.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was opened with 0-RTT, and the server has rejected that: for the server the
    /// stream has never been. See [`Connecting::into_0rtt`](crate::Connecting::into_0rtt).
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

/// [`RecvStream::received_reset`](crate::RecvStream::received_reset) failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ResetError {
    /// The connection was lost.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was opened with 0-RTT, and the server has rejected that: for the server the
    /// stream has never been. See [`Connecting::into_0rtt`](crate::Connecting::into_0rtt).
    #[error("0-RTT rejected")]
    ZeroRttRejected,
}

/// Sending an application datagram failed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SendDatagramError {
    /// The peer does not take datagrams.
    #[error("datagrams not supported by peer")]
    UnsupportedByPeer,
    /// Datagrams are switched off on this side.
    #[error("datagram support disabled")]
    Disabled,
    /// Larger than one packet, or than the peer's limit.
    #[error("datagram too large")]
    TooLarge,
    /// The connection was lost.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}

impl From<ClosedStream> for WriteError {
    fn from(_: ClosedStream) -> Self {
        Self::ClosedStream
    }
}

impl From<StoppedError> for WriteError {
    fn from(error: StoppedError) -> Self {
        match error {
            StoppedError::ConnectionLost(error) => Self::ConnectionLost(error),
            StoppedError::ZeroRttRejected => Self::ZeroRttRejected,
        }
    }
}

impl From<ResetError> for ReadError {
    fn from(error: ResetError) -> Self {
        match error {
            ResetError::ConnectionLost(error) => Self::ConnectionLost(error),
            ResetError::ZeroRttRejected => Self::ZeroRttRejected,
        }
    }
}

impl From<ReadableError> for ReadError {
    fn from(error: ReadableError) -> Self {
        match error {
            ReadableError::ClosedStream => Self::ClosedStream,
            ReadableError::IllegalOrderedRead => Self::IllegalOrderedRead,
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        let kind = match error {
            WriteError::Stopped(_) | WriteError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            WriteError::ConnectionLost(_) | WriteError::ClosedStream => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match error {
            ReadError::Reset(_) | ReadError::ZeroRttRejected => io::ErrorKind::ConnectionReset,
            ReadError::ConnectionLost(_) | ReadError::ClosedStream => io::ErrorKind::NotConnected,
            ReadError::IllegalOrderedRead => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

macro_rules! io_error_of {
    ($($error:ident),*) => {$(
        impl From<$error> for io::Error {
            fn from(error: $error) -> Self {
                let kind = match error {
                    $error::ConnectionLost(_) => io::ErrorKind::NotConnected,
                    $error::ZeroRttRejected => io::ErrorKind::ConnectionReset,
                };
                Self::new(kind, error)
            }
        }
    )*};
}

io_error_of!(StoppedError, ResetError);
