//! Ends that this side decides on.

use super::ConnectionDriver;
use quinn_proto::{ConnectionError, Event, TransportError, TransportErrorCode, VarInt};
use std::time::{Duration, Instant};

/// An end that is due.
#[derive(Debug)]
pub(super) struct Ending {
    at: Instant,
    cause: Cause,
}

#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// The handshake takes too long, whatever the peer keeps sending.
    Handshake,
    /// A stream is in too many pieces.
    Pieces,
    /// Code of the application's has panicked: whose it was, and what it said.
    Panic(String),
}

impl Ending {
    /// Unless the handshake is over before, what began at `now` ends `timeout` later.
    pub(super) fn of_handshake(now: Instant, timeout: Duration) -> Option<Self> {
        let at = now.checked_add(timeout)?;
        let cause = Cause::Handshake;
        Some(Self { at, cause })
    }

    pub(super) fn of_pieces(now: Instant) -> Self {
        let cause = Cause::Pieces;
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
            Self::Pieces => internal_error(PIECES.to_owned()),
            Self::Panic(reason) => internal_error(reason),
        }
    }

    /// What the peer is told.
    fn reason(&self) -> &'static str {
        match self {
            Self::Handshake => "handshake timed out",
            Self::Pieces => PIECES,
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
    /// When the connection ends, if nothing comes in between.
    pub(super) fn ending_at(&self) -> Option<Instant> {
        self.ending.as_ref().map(|ending| ending.at)
    }

    /// The handshake is over.
    pub(super) fn end_in_time(&mut self) {
        self.ending
            .take_if(|ending| ending.cause == Cause::Handshake);
    }

    /// The application's code has panicked: `reason` says whose it was. The connection ends with
    /// the next [`Self::handle_timeout`], which is due at once.
    pub(crate) fn end_after_panic(&mut self, reason: String) {
        tracing::error!(%reason, "the connection is closed");
        self.ending = Some(Ending::of_panic(self.now, reason));
    }

    /// What was said about a panic for which the connection ends.
    #[cfg(feature = "testing")]
    pub(crate) fn panic(&self) -> Option<&str> {
        match &self.ending.as_ref()?.cause {
            Cause::Panic(reason) => Some(reason),
            Cause::Handshake | Cause::Pieces => None,
        }
    }

    /// Ends the connection if that is due.
    ///
    /// quinn-proto 0.11 closes with an application's code alone when it is told to, so what the
    /// peer gets is an APPLICATION_CLOSE with INTERNAL_ERROR's number and the reason; during the
    /// handshake it is APPLICATION_ERROR without one (RFC 9000 §10.2.3).
    pub(super) fn end_if_due(&mut self, now: Instant) {
        let Some(ending) = self.ending.take_if(|ending| ending.at <= now) else {
            return;
        };
        let is_late = ending.cause == Cause::Handshake && !self.conn.is_handshaking();
        if is_late || self.conn.is_closed() {
            return;
        }
        let reason = ending.cause.reason().as_bytes().into();
        self.conn.close(now, INTERNAL_ERROR, reason);
        self.ended = Some(ending.cause.error());
    }

    /// The end that nobody has heard of yet.
    pub(super) fn poll_ending(&mut self) -> Option<Event> {
        let reason = self.ended.take()?;
        Some(Event::ConnectionLost { reason })
    }
}

const PIECES: &str = "stream data in too many small pieces";

/// As RFC 9000 §20.1 numbers it.
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x1);
