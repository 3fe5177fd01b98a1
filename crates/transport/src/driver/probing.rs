//! Probes into a path that is silent, more often than quinn-proto's backoff has them.
//!
//! After each probe timeout the next one is twice as long (RFC 9002 §6.2.1), without a bound but
//! the idle timeout: a path that has lost nearly everything for minutes is tried again minutes
//! after it has healed. quinn-proto has no option for that. But a PING that leaves counts as the
//! last ack-eliciting packet, and its ACK ends the backoff, so the driver sends one itself. And it
//! answers the probes of a peer that waits for an ACK ([`super::asked_acks`]).

use super::state::ConnectionDriver;
use crate::cc_adapter::probe_timeout;
use crate::clock;
use std::time::Duration;
use units::{Bytes, Timestamp};

impl ConnectionDriver {
    /// Without backoff.
    pub(super) fn probe_timeout(&self) -> Duration {
        let congestion = self.congestion.lock();
        let path = congestion.path_state();
        probe_timeout(&path, self.conn.rtt(), congestion.max_ack_delay)
    }

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

    /// Lets the probe timeout expire now if the peer waits for an ACK that it has asked for on a
    /// path that is silent: the ACK leaves with a loss probe.
    pub(super) fn probe_to_acknowledge(&mut self, now: Timestamp) {
        if !self.asked_acks.is_full() || !self.is_confirmed || self.conn.is_closed() {
            return;
        }
        let stats = self.conn.stats();
        // What validates a path has a timer that must not expire early.
        if !self.asked_acks.is_owed(&stats)
            || stats.frame_tx.path_challenge > stats.frame_rx.path_response
        {
            return;
        }
        if self.loss_time.is_some() {
            // What is missing counts as lost soon, and then leaves again, with the ACK.
            return;
        }
        let (rtt, timeout) = (self.conn.rtt(), self.probe_timeout());
        let congestion = self.congestion.lock();
        let path = congestion.path_state();
        // By the shortest round trip, as ACKs that have waited make smoothed ones of seconds.
        let shortest = path.min_rtt.unwrap_or(rtt) * 2 + congestion.max_ack_delay;
        drop(congestion);
        let silence = shortest.min(timeout);
        if path.inflight == Bytes::ZERO || !self.asked_acks.is_due(now, rtt, silence) {
            return;
        }
        // The idle timer, which the packet has just restarted, expires no earlier than after three
        // probe timeouts (RFC 9000 §10.1), nor do keys go earlier. After two backoffs nothing is
        // done here.
        let latest = clock::instant(now + timeout * 3);
        if let Some(timeout) = self.conn.poll_timeout().filter(|at| *at < latest) {
            self.asked_acks.on_answered(now);
            self.conn.handle_timeout(timeout);
        }
    }
}
