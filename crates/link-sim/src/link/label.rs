//! Each stage draws from its own stream, so that a draw more in one moves nothing in another.

pub(super) const DUPLICATE: u64 = 1;
pub(super) const LOSS: u64 = 2;
pub(super) const REORDER: u64 = 3;
pub(super) const DELAY: u64 = 4;
pub(super) const CORRUPT: u64 = 5;
pub(super) const RADIO: u64 = 6;
pub(super) const SLOT: u64 = 7;
pub(super) const QUEUE: u64 = 8;
