//! What has happened, as Careful Resume sees it.

use units::{Bytes, Gain};

/// What an ACK, or an expiry of the loss timer, means to Careful Resume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResumeSigns {
    pub(crate) newly_acked: Bytes,
    pub(crate) newly_lost: Bytes,
    pub(crate) is_marked: bool,
    /// The share of a jump whose loss is no congestion to the controller.
    pub(crate) tolerated_loss: Gain,
    /// The newest packet that was sent.
    pub(crate) sent: u64,
}
