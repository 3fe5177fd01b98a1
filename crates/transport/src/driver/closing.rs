//! Closing a connection for a reason of this side's own.

use super::close_reason::{Cause, PendingClose};
use super::state::ConnectionDriver;
use quinn_proto::VarInt;
use std::time::{Duration, Instant};

impl ConnectionDriver {
    /// Packets may leave: the handshake's time begins, unless it has begun before.
    pub(super) fn begin_handshake(&mut self, now: Instant) {
        let timeout = self.handshake_timeout.take();
        if let Some(at) = timeout.and_then(|timeout| now.checked_add(timeout)) {
            let cause = Cause::Handshake;
            self.pending_close.get_or_insert(PendingClose { at, cause });
        }
    }

    /// Does not count against the handshake that its timers expire only now if they were due long
    /// ago: what should have driven the connection had no time to, and its peer may be in the same
    /// program.
    pub(super) fn excuse_lateness(&mut self, now: Instant) {
        if self.handshake_end().is_none() {
            return;
        }
        let due = self.poll_timeout().map_or(now, |(due, _)| due);
        let late = now.saturating_duration_since(due.max(self.now));
        if late >= BLOCKED {
            self.extend_handshake(now, late);
        }
    }

    /// Datagrams have arrived that are not handed in yet, perhaps some of this connection's: the
    /// handshake does not end before they are.
    pub(crate) fn excuse_unread(&mut self, now: Instant) {
        if self.handshake_end().is_some_and(|end| *end <= now) {
            self.extend_handshake(now, TURN);
        }
    }

    fn handshake_end(&mut self) -> Option<&mut Instant> {
        let close = self.pending_close.as_mut()?;
        (close.cause == Cause::Handshake).then_some(&mut close.at)
    }

    fn extend_handshake(&mut self, now: Instant, by: Duration) {
        if self.excuses_left == 0 {
            return;
        }
        self.excuses_left -= 1;
        if let Some(end) = self.handshake_end() {
            *end = now.max(*end) + by;
        }
    }

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
            Cause::Handshake | Cause::Fragmentation | Cause::Config(_) | Cause::KernelPacing(_) => {
                None
            }
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
}

/// As RFC 9000 §20.1 numbers it.
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x1);

/// Later than timers are on a busy machine.
const BLOCKED: Duration = Duration::from_millis(50);

/// Enough for what comes next to be another turn.
const TURN: Duration = Duration::from_millis(1);

/// How often the end of a handshake is put off, so that it ends on a machine that is always behind,
/// too. A full socket buffer of 4 MiB is read in 16 turns.
pub(super) const EXCUSES: u32 = 32;
