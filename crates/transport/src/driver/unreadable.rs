//! Packets of a peer that has gone back to keys of before.
//!
//! quinn-proto updates its keys for the first time after 10 to 1,000 packets. s2n-quic 1.83
//! follows, goes back when a packet with the former keys comes late (aws/s2n-quic#3307), and
//! follows again with the next one that has new keys. Where this side only acknowledges, there is
//! no next one: what the peer sends cannot be read, hence is not acknowledged, until the connection
//! times out. So such packets are answered with a PING.

use super::state::ConnectionDriver;
use units::{Bytes, Timestamp};

impl ConnectionDriver {
    /// A datagram has come, and as many packets of application data had been authenticated before.
    #[inline]
    pub(super) fn note_authenticated(&mut self, now: Timestamp, authenticated_before: u64) {
        let tap = self.congestion.tap();
        if tap.authenticated() != authenticated_before {
            self.arrivals.unreadable = 0;
        } else if tap.has_updated_keys() {
            self.arrivals.unreadable = self.arrivals.unreadable.saturating_add(1);
            self.answer_unreadable(now);
        }
    }

    /// At most once in a probe timeout, whatever comes. What is in flight is probed for already.
    fn answer_unreadable(&mut self, now: Timestamp) {
        if self.arrivals.unreadable < ANSWERED || self.conn.is_closed() {
            return;
        }
        let (last, timeout) = (self.arrivals.answered_unreadable, self.probe_timeout());
        if self.in_flight() == Bytes::ZERO && last.is_none_or(|last| last + timeout <= now) {
            self.arrivals.answered_unreadable = Some(now);
            self.conn.ping();
        }
    }
}

/// One may have been damaged, or come too late for its keys. Probes come in pairs.
const ANSWERED: u32 = 2;
