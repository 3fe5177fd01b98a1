//! What leaves for a client's address that nobody has proved yet: three times what came from it at
//! most (RFC 9000 §8.1).
//!
//! quinn-proto has the limit too, but sends a packet whole that begins within it. A whole flight of
//! certificates may then be 1,199 bytes too long. Here a datagram leaves only where a full one
//! fits.
//!
//! A full one of more than 3,600 bytes never fits into what a client's first datagram allows. With
//! such packets the rule is quinn-proto's, and as much as one datagram may be beyond the limit.

use super::state::ConnectionDriver;
use crate::tap::{Received, Space};

impl ConnectionDriver {
    /// How many datagrams may leave in the next batch: at most `packets`, and none where the limit
    /// is reached.
    pub(super) fn within_amplification_limit(&mut self, packets: usize) -> usize {
        if self.is_validated {
            return packets;
        }
        let stats = self.conn.stats();
        let received = FIRST_DATAGRAM + stats.udp_rx.bytes;
        let left = (received * AMPLIFICATION).saturating_sub(stats.udp_tx.bytes);
        let mtu = u64::from(self.conn.current_mtu());
        let fit = match mtu <= FIRST_DATAGRAM * AMPLIFICATION {
            true => left / mtu,
            false => left.min(1),
        };
        packets.min(usize::try_from(fit).unwrap_or(usize::MAX))
    }
}

/// Whether a Handshake packet of the client's has come, which proves its address (RFC 9000 §8.1): a
/// server discards its Initial keys with the first one (RFC 9001 §4.9.1), not before. It need not
/// end the handshake. Where the server's flight is longer than the limit, the first ones
/// acknowledge what has come of it, and the rest follows.
pub(super) fn proves_address(received: &Received) -> bool {
    received.discarded[Space::Initial as usize]
}

/// The client's first datagram, which quinn-proto does not count, has no fewer bytes (RFC 9000
/// §14.1).
const FIRST_DATAGRAM: u64 = 1_200;

/// Bytes that may leave for each that came (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
