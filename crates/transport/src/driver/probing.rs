//! Probes into a path that is silent, more often than quinn-proto's backoff has them.
//!
//! After each probe timeout the next one is twice as long (RFC 9002 §6.2.1), without a bound but
//! the idle timeout: a path that has lost nearly everything for minutes is tried again minutes
//! after it has healed. quinn-proto has no option for that. But a PING that leaves counts as the
//! last ack-eliciting packet, and its ACK ends the backoff, so the driver sends one itself.

use super::state::ConnectionDriver;
use units::{Bytes, Timestamp};

impl ConnectionDriver {
    /// When the path is probed next, if that is the driver's business.
    pub(super) fn next_probe(&self) -> Option<Timestamp> {
        // Before the lock, which most connections do not need for it.
        if self.probing.is_off() || !self.is_confirmed || self.conn.is_closed() {
            return None;
        }
        let path = self.congestion.lock().path_state();
        if path.inflight == Bytes::ZERO {
            return None;
        }
        self.probing.due(&path)
    }

    /// Has the next packet be a probe, if one is due; whether it is.
    pub(super) fn begin_probe(&mut self, now: Timestamp) -> bool {
        let is_due = self.next_probe().is_some_and(|due| due <= now);
        if is_due {
            self.conn.ping();
            // Also if nothing should leave: it is tried again an interval later.
            self.probing.on_sent(now);
        }
        is_due
    }
}
