//! A limit of streams that is higher than what the peer begins with.

use quinn_proto::VarInt;

/// Limits by direction, bidirectional first, that are higher than what the peer begins with.
pub(crate) type RaisedLimits = [Option<RaisedLimit>; 2];

/// A limit that takes effect as the peer has a use for it.
///
/// quinn-proto keeps an entry for each stream that the peer may open, so a limit of which nothing
/// is used costs memory, and one like [`VarInt::MAX`] more than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RaisedLimit {
    /// How many streams the peer may have open at present.
    granted: VarInt,
    /// How many it may come to.
    most: VarInt,
}

impl RaisedLimit {
    /// From `granted` streams to `most`. `None` if that is no more.
    pub(crate) fn new(granted: VarInt, most: VarInt) -> Option<Self> {
        (granted < most).then_some(Self { granted, most })
    }

    /// With how many of `most` a peer begins that has `open` streams: all of them, or
    /// [`FIRST_STREAMS`] and twice what it has open.
    pub(crate) fn first(open: u64, most: VarInt) -> VarInt {
        let twice = VarInt::from_u64(open.saturating_mul(2)).unwrap_or(VarInt::MAX);
        most.min(twice.max(FIRST_STREAMS))
    }

    /// As many streams have to be open at once for more: half of what is granted, rounded up.
    pub(super) fn at(self) -> u64 {
        self.granted.into_inner().div_ceil(2)
    }

    /// The limit from then on: all, or twice as many as now.
    pub(super) fn next(self) -> VarInt {
        Self::first(self.granted.into_inner(), self.most)
    }

    pub(super) fn most(self) -> VarInt {
        self.most
    }
}

/// A megabyte of entries at 60 bytes each, as much as a window begins with.
const FIRST_STREAMS: VarInt = VarInt::from_u32(16_384);
