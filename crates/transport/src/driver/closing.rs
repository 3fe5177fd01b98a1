//! Closing a connection for a reason of this side's own.

use super::close_reason::{Cause, PendingClose};
use super::state::ConnectionDriver;
use quinn_proto::{Event, VarInt};
use std::time::Instant;

impl ConnectionDriver {
    /// The application's code has panicked: `reason` says whose it was. The connection is closed by
    /// the next [`Self::handle_timeout`], which is due at once.
    pub(crate) fn close_after_panic(&mut self, reason: String) {
        self.pending_close = Some(PendingClose {
            at: self.now,
            cause: Cause::Panic(reason),
        });
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
    /// quinn-proto 0.11 closes with an application's code alone on request, so what the
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

/// As RFC 9000 §20.1 numbers it.
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x1);
