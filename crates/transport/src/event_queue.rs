//! Events that an application reads at its own pace: a bounded queue that drops the oldest.

use crate::lock::{Lock, Locked, Rank};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Reader<T>(Arc<Lock<Queue<T>>>);

/// The end that is written to. When it is dropped, the reader is woken and finds the end.
#[derive(Debug)]
pub(crate) struct Source<T>(Arc<Lock<Queue<T>>>);

#[derive(Debug)]
struct Queue<T> {
    events: VecDeque<T>,
    most: usize,
    missed: u64,
    reader: Option<Waker>,
    is_over: bool,
}

impl<T> Locked for Queue<T> {
    const RANK: Rank = Rank::Events;
}

/// The two ends of a queue that keeps the newest `most` events.
pub(crate) fn queue<T>(most: usize) -> (Reader<T>, Source<T>) {
    let queue = Arc::new(Lock::new(Queue {
        events: VecDeque::new(),
        most,
        missed: 0,
        reader: None,
        is_over: false,
    }));
    (Reader(Arc::clone(&queue)), Source(queue))
}

impl<T> Reader<T> {
    /// The next event; `None` when the source is gone and all have been read.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
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
    pub(crate) fn missed(&self) -> u64 {
        self.0.lock().missed
    }
}

impl<T> Drop for Reader<T> {
    /// The source, whose end wakes the reader, may be dropped under the connection's lock from now
    /// on.
    fn drop(&mut self) {
        let reader = self.0.lock().reader.take();
        drop(reader);
    }
}

impl<T> Source<T> {
    /// Whether nobody reads any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Without the connection's lock: the reader is woken.
    pub(crate) fn send(&self, events: impl IntoIterator<Item = T>) {
        let reader = self.put(events);
        reader.into_iter().for_each(Waker::wake);
    }

    /// As [`Self::send`], but returns the reader, which is to be woken without the lock.
    pub(crate) fn put(&self, events: impl IntoIterator<Item = T>) -> Option<Waker> {
        let mut queue = self.0.lock();
        queue.events.extend(events);
        let excess = queue.events.len().saturating_sub(queue.most);
        queue.events.drain(..excess);
        queue.missed += excess as u64;
        mem::take(&mut queue.reader)
    }

    /// There are no more events. Returns the reader, which is to be woken without the lock.
    pub(crate) fn end(&self) -> Option<Waker> {
        let mut queue = self.0.lock();
        queue.is_over = true;
        mem::take(&mut queue.reader)
    }
}

impl<T> Drop for Source<T> {
    fn drop(&mut self) {
        self.end().into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio_test::{assert_pending, assert_ready_eq, task};

    #[test]
    fn a_reader_is_woken_reads_what_came_and_then_the_end() {
        let (mut reader, source) = queue(8);
        let mut next = task::spawn(poll_fn(|cx| reader.poll_next(cx)));
        assert_pending!(next.poll());
        source.send([1, 2]);
        assert!(next.is_woken());
        assert_ready_eq!(next.poll(), Some(1));
        drop(next);
        drop(source);
        for expected in [Some(2), None, None] {
            assert_ready_eq!(
                task::spawn(poll_fn(|cx| reader.poll_next(cx))).poll(),
                expected
            );
        }
        assert_eq!(reader.missed(), 0);
    }

    #[test]
    fn a_slow_reader_misses_the_oldest() {
        let (mut reader, source) = queue(100);
        (0..1_000).for_each(|event| source.send([event]));
        assert_eq!(reader.missed(), 900);
        assert_ready_eq!(
            task::spawn(poll_fn(|cx| reader.poll_next(cx))).poll(),
            Some(900)
        );
    }

    #[test]
    fn a_source_that_nobody_reads_is_abandoned() {
        let (reader, source) = queue::<u8>(1);
        assert!(!source.is_abandoned());
        drop(reader);
        assert!(source.is_abandoned());
    }
}
