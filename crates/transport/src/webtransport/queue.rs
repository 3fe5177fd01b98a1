//! What a session has received and the application has not taken yet.

use crate::lock::{Lock, Locked, Rank};
use std::collections::VecDeque;
use tokio::sync::Notify;

/// A queue for any number of readers.
#[derive(Debug)]
pub(super) struct Queue<T> {
    items: Lock<Items<T>>,
    changed: Notify,
    /// The sum of the items' weights is at most this; the oldest make room.
    most: usize,
    weight: fn(&T) -> usize,
}

#[derive(Debug)]
struct Items<T> {
    waiting: VecDeque<T>,
    weight: usize,
    is_closed: bool,
}

impl<T> Locked for Items<T> {
    const RANK: Rank = Rank::Events;
}

impl<T> Queue<T> {
    /// For streams and requests: each has one of QUIC's stream credits until it is taken, which
    /// bounds their number (`TransportConfig::max_concurrent_bidi_streams`).
    pub(super) fn of_streams() -> Self {
        Self::new(usize::MAX, |_| 0)
    }

    /// One whose items' weights have a sum of at most `most`.
    pub(super) fn new(most: usize, weight: fn(&T) -> usize) -> Self {
        let items = Items {
            waiting: VecDeque::new(),
            weight: 0,
            is_closed: false,
        };
        Self {
            items: Lock::new(items),
            changed: Notify::new(),
            most,
            weight,
        }
    }

    /// Returns the item when the queue is closed. Items are dropped without the lock.
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        let mut dropped = Vec::new();
        {
            let mut items = self.items.lock();
            if items.is_closed {
                drop(items);
                return Err(item);
            }
            items.weight += (self.weight)(&item);
            items.waiting.push_back(item);
            while items.weight > self.most {
                let Some(oldest) = items.waiting.pop_front() else {
                    break;
                };
                items.weight -= (self.weight)(&oldest);
                dropped.push(oldest);
            }
        }
        self.changed.notify_waiters();
        Ok(())
    }

    /// The oldest item; `None` once the queue is closed.
    pub(super) async fn pop(&self) -> Option<T> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            {
                let mut items = self.items.lock();
                if let Some(item) = items.waiting.pop_front() {
                    items.weight -= (self.weight)(&item);
                    return Some(item);
                }
                if items.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Nothing comes in any more; returns what is in there.
    pub(super) fn close(&self) -> VecDeque<T> {
        let waiting = {
            let mut items = self.items.lock();
            items.is_closed = true;
            items.weight = 0;
            std::mem::take(&mut items.waiting)
        };
        self.changed.notify_waiters();
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_make_room_and_a_closed_queue_takes_nothing() {
        let queue = Queue::<Vec<u8>>::new(10, Vec::len);
        for item in [vec![1; 4], vec![2; 4], vec![3; 4]] {
            queue.push(item).unwrap();
        }
        assert_eq!(queue.pop().await, Some(vec![2; 4]));
        assert_eq!(queue.pop().await, Some(vec![3; 4]));
        // One that is too large for the queue is not kept at all.
        queue.push(vec![4; 11]).unwrap();
        queue.push(vec![5; 10]).unwrap();
        assert_eq!(queue.close(), [vec![5; 10]]);
        assert_eq!(queue.pop().await, None);
        assert_eq!(queue.push(vec![6]), Err(vec![6]));
    }
}
