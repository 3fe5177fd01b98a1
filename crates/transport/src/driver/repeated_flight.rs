//! The end of a client's handshake, sent again when the server repeats its part.
//!
//! A server that sends CRYPTO frames anew has not got the client's last flight. The client's own
//! probe timeout may be far away: three times the only round trip that it knows, which is one of
//! seconds where the server was busy or a radio asleep, and four times that if its first packet
//! had to be sent thrice (RFC 9002 §6.2.1). By then the server has given up. An endpoint may send
//! such data earlier, a limited number of times (§6.2.3).
//!
//! quinn-proto cannot be asked for that, so the same datagrams leave once more, as a network may
//! duplicate them: the server drops what it has.

use super::last_flight::LastFlight;
use super::state::ConnectionDriver;
use crate::clock;
use crate::tap::{Content, Sent};
use quinn_proto::Transmit;
use std::time::Instant;

impl ConnectionDriver {
    /// A datagram has come at `now`. CRYPTO frames behind the confirmation are tickets.
    #[inline]
    pub(super) fn look_for_repeated_flight(&mut self, now: Instant) {
        let Some(flight) = &mut self.arrivals.last_flight else {
            return;
        };
        let received = self.conn.stats().frame_rx;
        if received.handshake_done > 0 || self.conn.is_closed() {
            self.arrivals.last_flight = None;
        } else {
            flight.on_received(clock::timestamp(now), received.crypto);
        }
    }

    /// A batch of the flight, if it is to leave once more, written to the empty `buf`.
    pub(super) fn poll_repeated_flight(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, contents) = self.arrivals.last_flight.as_mut()?.next()?;
        buf.extend_from_slice(contents);
        Some(transmit)
    }

    /// A batch leaves, of the packets that were noted last.
    pub(super) fn keep_flight(&mut self, transmit: &Transmit, contents: &[u8]) {
        let is_over = self.is_confirmed || self.conn.side().is_server();
        if is_over || self.conn.is_handshaking() || self.conn.is_closed() {
            return;
        }
        let counts = |sent: &Sent| sent.content != Content::NotInFlight;
        // What is larger than the flight may not pass.
        if self.sent.iter().any(counts) && !self.is_mtu_probe(transmit) {
            let crypto = self.conn.stats().frame_rx.crypto;
            let flight = &mut self.arrivals.last_flight;
            flight
                .get_or_insert_with(|| Box::new(LastFlight::new(crypto)))
                .keep(transmit, &contents[..transmit.size]);
        }
    }
}
