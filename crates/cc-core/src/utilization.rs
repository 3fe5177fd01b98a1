//! Whether a window is in use.

use crate::control::Control;
use crate::events::PacketStamp;
use units::Bytes;

/// Whether packets in flight filled the window in this round trip and in the one before.
///
/// Judged over a round, not at the moment of an ACK: a paced sender that uses its whole window is
/// below it most of the time. And judged against the window at the moment of sending: ACKs that
/// come in a bunch may double it before the next packet leaves.
#[derive(Debug, Default)]
pub(crate) struct CwndUtilization {
    fills: bool,
    filled_before: bool,
    /// The round ends when a packet is acknowledged that left after this much was delivered.
    round_end: Bytes,
}

impl CwndUtilization {
    /// Within one burst, at least two packets, of the window counts as full.
    #[inline]
    pub(crate) fn on_sent(&mut self, inflight: Bytes, control: &Control, mss: Bytes) {
        if self.fills {
            return;
        }
        let slack = control.send_quantum.min(control.cwnd / 4).max(mss * 2);
        self.fills = inflight.saturating_add(slack) >= control.cwnd;
    }

    /// Returns whether a round trip is over.
    #[inline]
    pub(crate) fn on_acked(&mut self, newest: &PacketStamp, delivered: Bytes) -> bool {
        let is_over = newest.delivered >= self.round_end;
        if is_over {
            self.round_end = delivered;
            self.filled_before = self.fills;
            self.fills = false;
        }
        is_over
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.fills || self.filled_before
    }
}
