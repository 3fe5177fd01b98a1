//! A limit of streams that is higher than what the peer begins with.

use quinn_proto::VarInt;

/// Limits by direction, bidirectional first, that are higher than what the peer begins with.
pub(crate) type RaisedLimits = [Option<RaisedLimit>; 2];

/// A limit that takes effect when the peer has a use for it.
///
/// quinn-proto keeps an entry for each stream that the peer may open, so a limit of which nothing
/// is used costs memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RaisedLimit {
    /// As many streams have to be open at once.
    pub(crate) at: u64,
    /// The limit from then on.
    pub(crate) to: VarInt,
}

impl RaisedLimit {
    /// From `initial` streams to `most`, when half of them are open. `None` if that is no more.
    pub(crate) fn new(initial: VarInt, most: VarInt) -> Option<Self> {
        (initial < most).then(|| Self {
            at: initial.into_inner().div_ceil(2),
            to: most,
        })
    }
}
