//! Numbers and signs of quinn-proto 0.11 that its documentation does not promise.
//!
//! `tests/tests/quic_virtual/habits.rs` has a test for each, and for those of its habits that are
//! no number; it says what 0.12 does instead.

use quinn_proto::EndpointEvent;
use std::fmt::{self, Write};
use units::Bytes;

/// What to answer for a window of `most` bytes: quinn-proto sends while what is in flight, and the
/// packet, stay *below* the window (`poll_transmit`). Saturates.
///
/// At quinn-proto 0.12 this is `most` itself: quinn-rs/quinn#2773 compares with `>`.
pub(crate) fn window_admitting(most: Bytes) -> u64 {
    most.get().saturating_add(1)
}

/// Whether a congestion event stands for an increase of CE counts: a loss has bytes.
///
/// At quinn-proto 0.12 `on_congestion_event` has a parameter for it, `is_ecn`.
pub(crate) fn is_ce_mark(lost_bytes: u64) -> bool {
    lost_bytes == 0
}

/// A window that no datagram fits into; the pacer asserts that a window is not zero.
pub(crate) const ADMITS_NOTHING: u64 = 1;

/// A window of 2^32 bytes or more is not paced.
pub(crate) const NO_PACING: u64 = u64::MAX;

/// How many numbers a packet may be behind the newest: older ones are taken for duplicates, and
/// dropped (`Dedup`).
pub(crate) const MAX_LATE: u64 = 128;

/// Packets that are waited for of those behind the last ack-eliciting one: one more than its
/// constant, which it compares with before it counts the packet (`PacketSpace::sent`).
pub(crate) const MAX_TAIL: u64 = 1_001;

/// Pieces of a stream that may wait behind gaps. With more the connection is closed: with twice as
/// many surely, before that if they take much more memory than they have bytes (`Assembler`).
pub(crate) const MAX_CHUNKS: u32 = 1_024;

/// Whether the peer has retired one of this side's connection IDs: only its `Debug` tells.
pub(crate) fn is_retirement(event: &EndpointEvent) -> bool {
    let mut name = Name("EndpointEvent(RetireConnectionId(");
    // It ends with an error as soon as the name is complete, or another.
    let _ = write!(name, "{event:?}");
    name.0.is_empty()
}

/// What a text has still to begin with. Writing more is an error: a packet has room for hundreds of
/// frames, and the times in their events are not worth formatting.
struct Name(&'static str);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        if self.0.is_empty() {
            return Err(fmt::Error);
        }
        Ok(())
    }
}
