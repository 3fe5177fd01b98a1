//! Events of congestion control as a stream that an application reads at its own pace.

use crate::event_queue::{self, Reader};
use cc_core::Event;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// The events inside a connection's congestion control, from
/// [`Connection::congestion_events`](crate::Connection::congestion_events) on.
///
/// At most 1,024 wait to be read; when more happen, the oldest are dropped, and
/// [`missed`](Self::missed) counts them. It does not keep the connection open, and ends with it.
#[derive(Debug)]
pub struct CongestionEvents(Reader<Event>);

/// Where the events come in.
pub(crate) type Source = event_queue::Source<Event>;

impl CongestionEvents {
    /// A stream, and what fills it.
    pub(crate) fn new() -> (Self, Source) {
        let (reader, source) = event_queue::queue(MAX_EVENTS);
        (Self(reader), source)
    }

    /// The next event; `None` when the connection is over and all have been read.
    ///
    /// # Cancel safety
    /// If this does not resolve, no event was taken.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next), for `futures::stream::poll_fn` and the like.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_next(cx)
    }

    /// How many events were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }
}

/// About a second's of a busy connection.
const MAX_EVENTS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_test::{assert_ready_eq, task};
    use units::Timestamp;

    #[test]
    fn a_slow_reader_misses_the_oldest() {
        let (mut events, source) = CongestionEvents::new();
        let event = |millis| Event::StateChanged {
            at: Timestamp::from_millis(millis),
            from: "a",
            to: "b",
        };
        (0..2_000).for_each(|millis| source.send([event(millis)]));
        assert_eq!(events.missed(), 2_000 - 1_024);
        assert_ready_eq!(
            task::spawn(events.next()).poll(),
            Some(event(2_000 - 1_024))
        );
    }
}
