//! QUIC's errors as HTTP/3 gets them.

use crate::error::{ReadError, WriteError};
use ::h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use quinn_proto::{ConnectionError, VarInt};
use std::sync::Arc;

/// Codes beyond 2⁶² − 1 cannot be written (RFC 9000 §16) and become that. `h3` has none, the
/// application may.
pub(super) fn wire_code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

pub(super) fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        ConnectionError::VersionMismatch
        | ConnectionError::TransportError(_)
        | ConnectionError::ConnectionClosed(_)
        | ConnectionError::Reset
        | ConnectionError::LocallyClosed
        | ConnectionError::CidsExhausted => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

pub(super) fn on_connection(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: connection_error(error),
    }
}

pub(super) fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => terminated(code),
        WriteError::ConnectionLost(error) => on_connection(error),
        WriteError::ClosedStream | WriteError::ZeroRttRejected => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

pub(super) fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => terminated(code),
        ReadError::ConnectionLost(error) => on_connection(error),
        ReadError::ClosedStream | ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

fn terminated(code: VarInt) -> StreamErrorIncoming {
    StreamErrorIncoming::StreamTerminated {
        error_code: code.into_inner(),
    }
}
