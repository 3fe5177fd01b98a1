//! Reasons for which this side closes a connection by itself.

use quinn_proto::{ConnectionError, TransportError, TransportErrorCode};
use std::time::Instant;

#[derive(Debug)]
pub(super) struct PendingClose {
    pub(super) at: Instant,
    pub(super) cause: Cause,
}

impl PendingClose {
    /// For an error of the configuration.
    pub(super) fn at_once(now: Instant, error: String) -> Self {
        Self {
            at: now,
            cause: Cause::Config(error),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The handshake takes too long, whatever the peer sends.
    Handshake,
    /// A stream is in too many pieces.
    Fragmentation,
    /// Code of the application's has panicked: whose it was, and what it said.
    Panic(String),
    /// The configuration has a value that no connection can work with: which.
    Config(String),
    /// The kernel is to time departures and cannot: why.
    KernelPacing(String),
}

impl Cause {
    pub(super) fn error(self) -> ConnectionError {
        match self {
            Self::Handshake => ConnectionError::TimedOut,
            Self::Fragmentation => internal_error(PIECES.to_owned()),
            Self::Panic(reason) | Self::Config(reason) | Self::KernelPacing(reason) => {
                internal_error(reason)
            }
        }
    }

    /// The reason phrase that the peer gets.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Handshake => "handshake timed out",
            Self::Fragmentation => PIECES,
            Self::Panic(_) | Self::Config(_) | Self::KernelPacing(_) => "internal error",
        }
    }
}

fn internal_error(reason: String) -> ConnectionError {
    ConnectionError::TransportError(TransportError {
        code: TransportErrorCode::INTERNAL_ERROR,
        frame: None,
        reason,
    })
}

const PIECES: &str = "stream data in too many small pieces";
