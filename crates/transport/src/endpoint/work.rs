//! What wakes the endpoint's task, and which connections it then looks at.

use crate::connection::Shared;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

/// Connections that have something to do, and the way to tell the endpoint's task so.
///
/// However many calls put work here, the task is woken once until it looks. A connection is in
/// the queue at most once: [`Shared::schedule`] sees to that.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    ready: Mutex<Vec<Arc<Shared>>>,
    waker: Mutex<Option<Waker>>,
    /// Whether the task has been woken and has not yet looked.
    is_awake: AtomicBool,
}

impl WorkQueue {
    /// Adds a connection that is not in the queue.
    pub(crate) fn push(&self, connection: Arc<Shared>) {
        lock(&self.ready).push(connection);
        self.wake();
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        if self.is_awake.swap(true, Ordering::AcqRel) {
            return;
        }
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The task looks: work that comes from now on wakes it anew.
    pub(crate) fn begin_turn(&self, waker: &Waker) {
        let mut known = lock(&self.waker);
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        drop(known);
        self.is_awake.store(false, Ordering::Release);
    }

    /// Moves everything in the queue to the back of `to`.
    pub(crate) fn take(&self, to: &mut impl Extend<Arc<Shared>>) {
        let ready = mem::take(&mut *lock(&self.ready));
        to.extend(ready);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("moving values does not panic")
}
