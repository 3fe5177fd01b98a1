//! What is counted of packets: those of one batch, and what the peer reports.

use crate::tap::Sent;
use units::Timestamp;

/// What was sent in one call of quinn-proto.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// When it leaves, which may be later than it is handed over.
    pub(crate) leaves: Timestamp,
    pub(crate) packets: &'a [Sent],
    pub(crate) is_mtu_probe: bool,
}

/// What the peer has reported on all paths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Packets that were declared lost and have arrived after all.
    pub(crate) spurious_losses: u64,
    /// Packets marked CE.
    pub(crate) ce_marked: u64,
    /// ACKs that reported more of them.
    pub(crate) ce_reports: u64,
    /// ACKs that came before the newest packet that they acknowledge was to leave.
    pub(crate) acked_early: u64,
}
