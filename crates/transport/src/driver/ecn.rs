//! Counters of ECN codepoints.

use crate::stats::EcnStats;
use quinn_proto::{EcnCodepoint, Transmit};

impl EcnStats {
    pub(super) fn count_sent(&mut self, transmit: &Transmit) {
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let datagrams = transmit.size.div_ceil(segment) as u64;
        match transmit.ecn {
            Some(EcnCodepoint::Ect0) => self.sent_ect0 += datagrams,
            Some(EcnCodepoint::Ect1) => self.sent_ect1 += datagrams,
            Some(EcnCodepoint::Ce) | None => {}
        }
    }

    /// A datagram has arrived.
    pub(super) fn count_received(&mut self, mark: Option<EcnCodepoint>) {
        match mark {
            Some(EcnCodepoint::Ect0) => self.received_ect0 += 1,
            Some(EcnCodepoint::Ect1) => self.received_ect1 += 1,
            Some(EcnCodepoint::Ce) => self.received_ce += 1,
            None => {}
        }
    }
}
