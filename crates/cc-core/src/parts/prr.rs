//! Proportional Rate Reduction: how the flight comes down to a reduced window (RFC 9937).
//!
//! ```text
//!  flight  RecoverFS ▂                     A window cut at once stops the sender until the
//!                     ╲ ▂▂ proportional    flight has drained to it; this spreads the cut over
//!                      ╲   ▂▂▂             the round trip: of what is delivered, the share
//!  target  ─ ─ ─ ─ ─ ─ ─╲▁▁▁▁▁▂▂▂━━━━━━    target ÷ RecoverFS is replaced.
//!               cut at once    │
//!          ◀── recovery period ▶◀─ repair ─▶
//! ```
//!
//! Where losses alone take the flight below the target, as much may leave as is delivered: the
//! conservative reduction bound (PRR-CRB). From when repairs arrive and no further loss is seen, a
//! packet more for each ACK: the slow-start reduction bound (PRR-SSRB).

use units::Bytes;

/// One episode, from a reduction of the window until the flight is as large as that.
///
/// What it allows works through the congestion window: [`window`](Self::window) is what is in
/// flight and what may still leave (the RFC's cwnd = inflight + SndCnt).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    /// RecoverFS: bytes in flight before the ACK with which the episode began.
    flight: Bytes,
    /// prr_delivered: bytes delivered in the episode.
    delivered: Bytes,
    /// prr_out: bytes sent in the episode.
    out: Bytes,
    /// SndCnt, less what has left since it was computed.
    allowance: Bytes,
    /// Bytes lost in the episode, less those delivered since repairs arrive.
    to_repair: Bytes,
}

/// Deliveries that one ACK reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    /// DeliveredData.
    pub(crate) bytes: Bytes,
    /// Bytes in flight after the ACK and the losses reported with it.
    pub(crate) inflight: Bytes,
    /// ssthresh: what the flight is to come down to.
    pub(crate) target: Bytes,
    pub(crate) mss: Bytes,
    /// SafeACK: repairs arrive and no further loss is indicated.
    pub(crate) is_safe: bool,
}

impl Prr {
    /// An episode that begins with `flight` bytes in flight (§6.1).
    ///
    /// One packet may leave at once, the fast retransmission (RFC 9002 §7.3.2).
    pub(crate) fn new(flight: Bytes, mss: Bytes) -> Self {
        Self {
            flight,
            delivered: Bytes::ZERO,
            out: Bytes::ZERO,
            allowance: mss,
            to_repair: Bytes::ZERO,
        }
    }

    /// The congestion window while `inflight` bytes are in flight.
    pub(crate) fn window(&self, inflight: Bytes) -> Bytes {
        inflight.saturating_add(self.allowance)
    }

    /// On every ACK (§6.2). The fast retransmission is a whole packet: a part of one, which the
    /// share of a single ACK is, would hold it up.
    pub(crate) fn on_delivered(&mut self, ack: &Delivered) {
        if ack.bytes.is_zero() {
            return;
        }
        self.delivered += ack.bytes;
        self.allowance = if ack.inflight > ack.target {
            self.share(ack.target).saturating_sub(self.out)
        } else {
            let banked = self.delivered.saturating_sub(self.out);
            let extra = if ack.is_safe { ack.mss } else { Bytes::ZERO };
            let bound = banked.max(ack.bytes) + extra;
            bound.min(ack.target - ack.inflight)
        };
        if self.out.is_zero() {
            self.allowance = self.allowance.max(ack.mss);
        }
    }

    /// Something leaves (§6.3).
    pub(crate) fn on_sent(&mut self, bytes: Bytes) {
        self.out += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    /// A packet was lost in the episode.
    pub(crate) fn on_lost(&mut self, bytes: Bytes) {
        self.to_repair += bytes;
    }

    /// Repairs were delivered. Returns whether the episode is over: the flight may be as large as
    /// the target, or as much was delivered as had been lost.
    ///
    /// TCP's ends when all that was in flight at its beginning is acknowledged. In QUIC the packets
    /// that carry a repair are not known, but lost data are sent before new data.
    pub(crate) fn repair(&mut self, bytes: Bytes, inflight: Bytes, target: Bytes) -> bool {
        self.to_repair = self.to_repair.saturating_sub(bytes);
        self.to_repair.is_zero() || self.window(inflight) >= target
    }

    /// CEIL(prr_delivered × ssthresh ÷ RecoverFS).
    fn share(&self, target: Bytes) -> Bytes {
        let product = u128::from(self.delivered.get()) * u128::from(target.get());
        let share = product.div_ceil(u128::from(self.flight.get().max(1)));
        Bytes::new(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
