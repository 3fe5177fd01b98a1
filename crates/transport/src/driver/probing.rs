//! Probes into a path that is silent, more often than quinn-proto's backoff has them.
//!
//! After each probe timeout the next one is twice as long (RFC 9002 §6.2.1), without a bound but
//! the idle timeout: a path that has lost nearly everything for minutes is tried again minutes
//! after it has healed. quinn-proto has no option for that. But a PING that leaves counts as the
//! last ack-eliciting packet, and its ACK ends the backoff, so the driver sends one itself.

use super::state::ConnectionDriver;
use cc_core::PathState;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// When the next probe is due.
#[derive(Debug)]
pub(super) struct Probing {
    /// Longest time between probes, if there is a bound.
    most: Option<Duration>,
    /// When a packet last left that the peer has to acknowledge.
    last_sent: Option<Timestamp>,
}

impl Probing {
    pub(super) fn new(most: Option<Duration>) -> Self {
        Self {
            most,
            last_sent: None,
        }
    }

    pub(super) fn on_sent(&mut self, leaves: Timestamp) {
        self.last_sent = Some(leaves);
    }

    /// When it is due, with something in flight.
    ///
    /// By the shortest round trip, not by the probe timeout: where ACKs were lost, what acknowledges
    /// a packet may be a probe of the peer's half a minute later, and its delay counts as a round
    /// trip (RFC 9002 §5.3). Timeouts of minutes come of that, without any backoff.
    fn due(&self, path: &PathState) -> Option<Timestamp> {
        Some(self.last_sent? + self.most?.max(path.min_rtt? * 2))
    }
}

impl ConnectionDriver {
    /// When the path is probed next, if that is the driver's business.
    pub(super) fn next_probe(&self) -> Option<Timestamp> {
        // The lock is for those alone who have a bound.
        self.probing.most?;
        if !self.is_confirmed || self.conn.is_closed() {
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
