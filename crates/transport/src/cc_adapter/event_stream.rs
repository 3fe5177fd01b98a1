//! Events of congestion control as a stream that an application reads at its own pace.

use crate::lock::{Guard, Lock, Locked, Rank};
use cc_core::Event;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The events inside a connection's congestion control, from
/// [`Connection::congestion_events`](crate::Connection::congestion_events) on.
///
/// At most 1,024 wait to be read; when more happen, the oldest are dropped, and
/// [`missed`](Self::missed) counts them. It does not keep the connection open, and ends with it.
#[derive(Debug)]
pub struct CongestionEvents(Arc<Lock<Queue>>);

/// Where the events come in.
#[derive(Debug)]
pub(crate) struct Source(Arc<Lock<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    missed: u64,
    reader: Option<Waker>,
    is_over: bool,
}

impl Locked for Queue {
    const RANK: Rank = Rank::Events;
}

impl CongestionEvents {
    /// A stream, and what fills it.
    pub(crate) fn new() -> (Self, Source) {
        let queue = Arc::<Lock<Queue>>::default();
        (Self(Arc::clone(&queue)), Source(queue))
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
        let mut queue = self.0.lock();
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Some(event));
        }
        if queue.is_over {
            return Poll::Ready(None);
        }
        queue.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// How many events were dropped because nobody read them in time.
    pub fn missed(&self) -> u64 {
        self.0.lock().missed
    }
}

impl Drop for CongestionEvents {
    /// The source, whose end wakes the reader, may be dropped under the connection's lock from now
    /// on.
    fn drop(&mut self) {
        let reader = self.0.lock().reader.take();
        drop(reader);
    }
}

impl Source {
    /// Whether nobody reads the stream any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Without the connection's lock: the reader is woken.
    pub(crate) fn send(&self, events: &[Event]) {
        let mut queue = self.0.lock();
        queue.events.extend(events);
        let excess = queue.events.len().saturating_sub(MAX_EVENTS);
        queue.events.drain(..excess);
        queue.missed += excess as u64;
        wake(queue);
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.is_over = true;
        wake(queue);
    }
}

fn wake(mut queue: Guard<'_, Queue>) {
    let reader = mem::take(&mut queue.reader);
    drop(queue);
    reader.into_iter().for_each(Waker::wake);
}

/// About a second's of a busy connection.
const MAX_EVENTS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_test::{assert_pending, assert_ready_eq, task};
    use units::Timestamp;

    fn event(millis: u64) -> Event {
        Event::StateChanged {
            at: Timestamp::from_millis(millis),
            from: "a",
            to: "b",
        }
    }

    #[test]
    fn a_reader_is_woken_reads_what_came_and_then_the_end() {
        let (mut events, source) = CongestionEvents::new();
        let mut next = task::spawn(events.next());
        assert_pending!(next.poll());
        source.send(&[event(1), event(2)]);
        assert!(next.is_woken());
        assert_ready_eq!(next.poll(), Some(event(1)));
        drop(next);
        drop(source);
        for expected in [Some(event(2)), None, None] {
            assert_ready_eq!(task::spawn(events.next()).poll(), expected);
        }
        assert_eq!(events.missed(), 0);
    }

    #[test]
    fn a_slow_reader_misses_the_oldest() {
        let (mut events, source) = CongestionEvents::new();
        for millis in 0..2_000 {
            source.send(&[event(millis)]);
        }
        assert_eq!(events.missed(), 2_000 - 1_024);
        assert_ready_eq!(
            task::spawn(events.next()).poll(),
            Some(event(2_000 - 1_024))
        );
    }

    #[test]
    fn a_stream_that_was_dropped_is_abandoned() {
        let (events, source) = CongestionEvents::new();
        assert!(!source.is_abandoned());
        drop(events);
        assert!(source.is_abandoned());
    }
}
