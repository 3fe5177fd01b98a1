//! What wakes the endpoint's task, and which connections it then drives.

use crate::lock::{Lock, Locked, Rank};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Connections that have something to do, and the waker of the endpoint's task.
///
/// However many calls put work here, the task is woken once until its turn. A connection is in
/// the queue at most once: [`Shared::schedule`] sees to that.
#[derive(Debug)]
pub(crate) struct WorkQueue<T> {
    /// `None` once the task is gone: a connection that nobody takes out would keep itself alive.
    ready: Lock<Option<Vec<Arc<T>>>>,
    waker: Lock<Option<Waker>>,
    /// Whether the task has been woken and its turn has not begun.
    is_awake: AtomicBool,
}

impl<T> Locked for Option<Vec<Arc<T>>> {
    const RANK: Rank = Rank::Queue;
}

impl Locked for Option<Waker> {
    const RANK: Rank = Rank::Queue;
}

impl<T> WorkQueue<T> {
    pub(crate) fn push(&self, connection: Arc<T>) {
        if let Some(ready) = &mut *self.ready.lock() {
            ready.push(connection);
        }
        self.wake();
    }

    pub(crate) fn wake(&self) {
        if self.is_awake.swap(true, Ordering::AcqRel) {
            return;
        }
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The task's turn begins: work that comes from now on wakes it anew.
    pub(crate) fn begin_turn(&self, waker: &Waker) {
        let mut known = self.waker.lock();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        drop(known);
        self.is_awake.store(false, Ordering::Release);
    }

    /// The task comes back by itself: work that is put here until then need not wake it.
    pub(crate) fn expect_turn(&self) {
        self.is_awake.store(true, Ordering::Release);
    }

    /// Moves everything in the queue to the back of `to`.
    pub(crate) fn take(&self, to: &mut impl Extend<Arc<T>>) {
        let ready = self.ready.lock().as_mut().map(mem::take);
        to.extend(ready.into_iter().flatten());
    }

    /// The task goes, and takes no more work.
    pub(crate) fn end(&self) {
        let left = self.ready.lock().take();
        let waker = self.waker.lock().take();
        // Outside of the locks: connections that end with it take others.
        drop((left, waker));
    }
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        Self {
            ready: Lock::new(Some(Vec::new())),
            waker: Lock::default(),
            is_awake: AtomicBool::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_once_until_it_looks() {
        let queue = WorkQueue::<()>::default();
        let count = Arc::<Count>::default();
        let wakes = || count.0.load(Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&count));
        queue.begin_turn(&waker);
        assert_eq!(wakes(), 0);
        for _ in 0..10 {
            queue.wake();
        }
        assert_eq!(wakes(), 1);
        queue.begin_turn(&waker);
        queue.wake();
        assert_eq!(wakes(), 2);
    }

    #[test]
    fn a_task_that_looks_for_the_first_time_finds_what_came_before() {
        let queue = WorkQueue::<()>::default();
        queue.wake();
        let count = Arc::<Count>::default();
        queue.begin_turn(&Waker::from(Arc::clone(&count)));
        queue.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}
