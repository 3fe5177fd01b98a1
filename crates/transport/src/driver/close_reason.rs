//! Reasons for which this side closes a connection by itself.

use super::ConnectionDriver;
use quinn_proto::{ConnectionError, Event, TransportError, TransportErrorCode, VarInt};
use std::time::{Duration, Instant};

/// A close that is due.
#[derive(Debug)]
pub(super) struct PendingClose {
    at: Instant,
    cause: Cause,
}

#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// The handshake takes too long, whatever the peer sends.
    Handshake,
    /// A stream is in too many pieces.
    Fragmentation,
    /// Code of the application's has panicked: whose it was, and what it said.
    Panic(String),
}

impl PendingClose {
    /// A connection that begins at `now` is closed `timeout` later if its handshake is not complete.
    pub(super) fn of_handshake(now: Instant, timeout: Duration) -> Option<Self> {
        let at = now.checked_add(timeout)?;
        let cause = Cause::Handshake;
        Some(Self { at, cause })
    }

    pub(super) fn of_fragmentation(now: Instant) -> Self {
        let cause = Cause::Fragmentation;
        Self { at: now, cause }
    }

    fn of_panic(now: Instant, reason: String) -> Self {
        let cause = Cause::Panic(reason);
        Self { at: now, cause }
    }
}

impl Cause {
    fn error(self) -> ConnectionError {
        match self {
            Self::Handshake => ConnectionError::TimedOut,
            Self::Fragmentation => internal_error(PIECES.to_owned()),
            Self::Panic(reason) => internal_error(reason),
        }
    }

    /// What the peer is told.
    fn reason(&self) -> &'static str {
        match self {
            Self::Handshake => "handshake timed out",
            Self::Fragmentation => PIECES,
            Self::Panic(_) => "internal error",
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

impl ConnectionDriver {
    /// When the connection is closed, unless the reason goes away.
    pub(super) fn close_at(&self) -> Option<Instant> {
        self.pending_close.as_ref().map(|close| close.at)
    }

    /// The handshake is complete: its time limit no longer holds.
    pub(super) fn on_handshake_complete(&mut self) {
        self.pending_close
            .take_if(|close| close.cause == Cause::Handshake);
    }

    /// The application's code has panicked: `reason` says whose it was. The connection is closed by
    /// the next [`Self::handle_timeout`], which is due at once.
    pub(crate) fn close_after_panic(&mut self, reason: String) {
        tracing::error!(%reason, "the connection is closed");
        self.pending_close = Some(PendingClose::of_panic(self.now, reason));
    }

    /// The reason, if the connection is to be closed after a panic.
    #[cfg(feature = "testing")]
    pub(crate) fn panic(&self) -> Option<&str> {
        match &self.pending_close.as_ref()?.cause {
            Cause::Panic(reason) => Some(reason),
            Cause::Handshake | Cause::Fragmentation => None,
        }
    }

    /// Closes the connection if that is due.
    ///
    /// quinn-proto 0.11 closes with an application's code alone when it is told to, so what the
    /// peer gets is an APPLICATION_CLOSE with INTERNAL_ERROR's number and the reason; during the
    /// handshake it is APPLICATION_ERROR without one (RFC 9000 §10.2.3).
    pub(super) fn close_if_due(&mut self, now: Instant) {
        let Some(close) = self.pending_close.take_if(|close| close.at <= now) else {
            return;
        };
        let is_late = close.cause == Cause::Handshake && !self.conn.is_handshaking();
        if is_late || self.conn.is_closed() {
            return;
        }
        let reason = close.cause.reason().as_bytes().into();
        self.conn.close(now, INTERNAL_ERROR, reason);
        self.close_event = Some(close.cause.error());
    }

    /// The event of a close by [`Self::close_if_due`], once.
    pub(super) fn poll_close(&mut self) -> Option<Event> {
        let reason = self.close_event.take()?;
        Some(Event::ConnectionLost { reason })
    }
}

const PIECES: &str = "stream data in too many small pieces";

/// As RFC 9000 §20.1 numbers it.
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x1);
