use core::time::Duration;

/// Something that happens to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// What the window has room for leaves at once, up to a bound.
    Fill,
    /// So many packets of this size at most leave at once, whatever the window says.
    Send { packets: u8, bytes: u16 },
    /// Time passes.
    Wait(Duration),
    /// What is told next is told with a time before what was told last.
    GoBack(Duration),
    /// An ACK arrives or the loss timer fires.
    Feedback {
        acked: Which,
        lost: Which,
        rtt: Rtt,
        ce_marked: u8,
        is_persistent: bool,
    },
    /// The lost packets that left last arrive after all.
    ArriveLate(u8),
    /// The path's packet size changes.
    Mtu(u16),
    /// The application has nothing to send.
    AppLimited,
    /// The oldest packets in flight are discarded, as with the keys of a handshake.
    Discard(u8),
    /// The oldest packets in flight leave the transport's books without a word; the next feedback
    /// brings the transport's own reckoning of what is in flight.
    Forget(u8),
    /// The path turns out to carry ECT(1), or not to.
    SendsEct1(bool),
    /// The connection goes on under a new controller of the same kind.
    ChangeController,
}

/// Some of the packets in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Of the oldest 64, those whose bit is set.
    Bits(u64),
    /// The oldest ones, this many 255ths of all, rounded up.
    Share(u8),
}

/// What an ACK tells of the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rtt {
    /// That of the newest packet that it acknowledges.
    Exact,
    /// Half of that: the rest was the peer's delay.
    Half,
    /// Nothing.
    Unknown,
}

impl Op {
    /// An ACK of these packets, and nothing else.
    pub(crate) const fn ack(acked: Which) -> Self {
        Self::Feedback {
            acked,
            lost: NONE,
            rtt: Rtt::Exact,
            ce_marked: 0,
            is_persistent: false,
        }
    }
}

/// No packet at all.
pub(crate) const NONE: Which = Which::Share(0);
/// All that is in flight.
pub(crate) const ALL: Which = Which::Share(u8::MAX);
