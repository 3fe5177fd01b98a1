//! How a datagram is sent, and what becomes of it.

use crate::event_queue::{self, Reader};
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;
use units::Timestamp;

/// How [`Connection::send_datagram_with`](crate::Connection::send_datagram_with) sends a datagram.
///
/// By default it has no lifetime, goes before streams, is of no group, and nobody is told what
/// becomes of it.
///
/// ```
/// use paceline::{DatagramOptions, DatagramPriority};
/// use std::time::Duration;
///
/// let frame = DatagramOptions::default().ttl(Duration::from_millis(100)).notify(true);
/// let telemetry = DatagramOptions::default().priority(DatagramPriority::AfterStreams);
/// // Of track 1: drops what still waits of its groups before the seventh.
/// let picture = DatagramOptions::default().group(1, 7);
/// # let _ = (frame, telemetry, picture);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramOptions {
    pub(crate) ttl: Option<Duration>,
    pub(crate) priority: DatagramPriority,
    pub(crate) group: Option<DatagramGroup>,
    pub(crate) is_notified: bool,
    /// Whether it is padding, which the peer's application does not get.
    pub(crate) is_padding: bool,
}

/// A part of a track that is worth sending until the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatagramGroup {
    pub(crate) track: u64,
    pub(crate) number: u64,
}

impl DatagramOptions {
    /// Drops the datagram if it has not left after this time. Default: it waits for as long as
    /// there is room for it.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        let ttl = Some(ttl);
        Self { ttl, ..self }
    }

    /// Default [`DatagramPriority::BeforeStreams`].
    #[must_use]
    pub fn priority(self, priority: DatagramPriority) -> Self {
        Self { priority, ..self }
    }

    /// Makes the datagram one of group `number` of `track`, both of the application's choice, such
    /// as a video and its groups of pictures, or a player and the count of its positions. Of each
    /// track one group waits at most: when this datagram is sent, those of earlier groups are
    /// dropped, whatever their priority, and if one of a later group waits, this one is. Either is
    /// [`Superseded`](DatagramOutcome::Superseded). Within a group the order is that of sending.
    ///
    /// Up to one batch of packets that is about to leave is not dropped any more. Tracks are those
    /// of one connection; no memory of one remains when nothing of it waits. Default: none, and
    /// nothing is dropped for being older.
    #[must_use]
    pub fn group(self, track: u64, number: u64) -> Self {
        let group = Some(DatagramGroup { track, number });
        Self { group, ..self }
    }

    /// Whether [`Connection::datagram_events`](crate::Connection::datagram_events) reports what
    /// becomes of it. Default `false`.
    #[must_use]
    pub fn notify(self, is_notified: bool) -> Self {
        Self {
            is_notified,
            ..self
        }
    }
}

/// What goes first, from the highest priority to the lowest. Datagrams of equal priority leave in
/// the order in which they were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DatagramPriority {
    /// Before all other datagrams, and like those before streams: for a key frame, or a command.
    Urgent,
    /// Before all data of streams, whatever their priority: quinn-proto fills packets so.
    #[default]
    BeforeStreams,
    /// When no stream has data to send.
    AfterStreams,
}

/// A datagram of one connection, in the order in which they were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatagramId(pub(crate) u64);

/// What has become of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatagramEvent {
    /// Which.
    pub id: DatagramId,
    /// When.
    pub at: Timestamp,
    /// What has happened.
    pub outcome: DatagramOutcome,
}

/// What may become of a datagram: [`Sent`](Self::Sent), and then
/// [`Acknowledged`](Self::Acknowledged) or [`Lost`](Self::Lost); or one of the others alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DatagramOutcome {
    /// It has left in a packet.
    Sent,
    /// The peer has acknowledged that packet: its transport has the datagram. Its application may
    /// be too slow to read it.
    Acknowledged,
    /// That packet was declared lost. It may arrive all the same, which is not reported.
    Lost,
    /// It did not leave within its [`ttl`](DatagramOptions::ttl).
    Expired,
    /// It was dropped for newer ones, because the buffer was full.
    Displaced,
    /// It was dropped because a later [`group`](DatagramOptions::group) of its track was sent.
    Superseded,
    /// Packets have become smaller, and it does not fit into one any more.
    TooLarge,
}

/// What becomes of datagrams that were sent with [`notify`](DatagramOptions::notify), from
/// [`Connection::datagram_events`](crate::Connection::datagram_events) on.
///
/// At most 4,096 events wait to be read; when more happen, the oldest are dropped, and
/// [`missed`](Self::missed) counts them. It does not keep the connection open, and ends with it.
#[derive(Debug)]
pub struct DatagramEvents(Reader<DatagramEvent>);

/// Where the events come in.
pub(crate) type Source = event_queue::Source<DatagramEvent>;

impl DatagramEvents {
    /// A stream, and what fills it.
    pub(crate) fn new() -> (Self, Source) {
        let (reader, source) = event_queue::queue(MAX_EVENTS);
        (Self(reader), source)
    }

    /// The next event; `None` when the connection is over and all have been read.
    ///
    /// # Cancel safety
    /// If this does not resolve, no event was taken.
    pub async fn next(&mut self) -> Option<DatagramEvent> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next), for `futures::stream::poll_fn` and the like.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<DatagramEvent>> {
        self.0.poll_next(cx)
    }

    /// How many events were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }
}

/// Two for each datagram: a second's of 20 Mbit/s.
const MAX_EVENTS: usize = 4_096;
