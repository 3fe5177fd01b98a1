//! Locks that are taken in one order, so that no two threads ever wait for each other.
//!
//! Each lock has a [`Rank`]. A thread may take one only if it holds none of the same rank or a
//! later one. Builds with debug assertions, which all tests are, panic where that is broken, on the
//! first attempt and whether or not another thread is there; release builds check nothing.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is locked, in the order in which one thread may take the locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The sessions of a WebTransport connection.
    #[cfg(feature = "webtransport")]
    Sessions,
    /// An endpoint's table of connections.
    Table,
    /// A connection's state.
    Connection,
    /// What a connection's keys have seen.
    Tap,
    /// A connection's congestion control; controllers run under it.
    Congestion,
    /// Connection IDs that a fleet issues, and its TLS sessions, which quinn-proto and rustls ask
    /// for under the locks above.
    Fleet,
    /// What is remembered of paths.
    PathMemory,
    /// Datagrams on their way to another shard.
    Inbox,
    /// An endpoint's socket.
    Socket,
    /// What a socket counts, and whether it is full.
    SocketState,
    /// Events that the application reads at its own pace.
    Events,
    /// Connections that have something to do, or the waker of who drives them.
    Queue,
}

/// A value that is behind a lock, which says which rank that has.
pub(crate) trait Locked {
    /// Of the lock.
    const RANK: Rank;
}

/// A mutex with the [`Rank`] of what it holds.
///
/// A panic under it leaves it usable: whoever takes one sees to it that the value is whole after
/// each step, or that what is left is only ended.
#[derive(Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T: Locked> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// # Panics
    /// In builds with debug assertions, where this thread holds a lock of this rank or a later one.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let held = held::take(T::RANK);
        Guard {
            value: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            _held: held,
        }
    }
}

impl<T: Locked> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lock").field(&T::RANK).finish()
    }
}

/// A locked value.
pub(crate) struct Guard<'a, T> {
    value: MutexGuard<'a, T>,
    _held: held::Held,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// To be called before code of the application's that may use connections and endpoints.
///
/// # Panics
/// In builds with debug assertions, where this thread holds a lock.
pub(crate) fn assert_none_held() {
    held::assert_none();
}

/// Which locks a thread holds.
#[cfg(debug_assertions)]
mod held {
    use super::Rank;
    use std::cell::Cell;

    thread_local! {
        /// A bit for each rank.
        static HELD: Cell<u32> = const { Cell::new(0) };
    }

    /// One that is held until this is dropped.
    pub(super) struct Held(Rank);

    pub(super) fn take(rank: Rank) -> Held {
        let held = HELD.get();
        assert!(
            held >> rank as u32 == 0,
            "the lock of {rank:?} taken while later ones are held: {held:#b}"
        );
        HELD.set(held | 1 << rank as u32);
        Held(rank)
    }

    pub(super) fn assert_none() {
        let held = HELD.get();
        assert_eq!(held, 0, "the application is called under locks");
    }

    impl Drop for Held {
        fn drop(&mut self) {
            HELD.set(HELD.get() & !(1 << self.0 as u32));
        }
    }
}

#[cfg(not(debug_assertions))]
mod held {
    pub(super) struct Held;

    pub(super) const fn take(_: super::Rank) -> Held {
        Held
    }

    pub(super) const fn assert_none() {}
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    struct Connection(u32);
    struct Table;
    struct Queue(u32);

    impl Locked for Connection {
        const RANK: Rank = Rank::Connection;
    }

    impl Locked for Table {
        const RANK: Rank = Rank::Table;
    }

    impl Locked for Queue {
        const RANK: Rank = Rank::Queue;
    }

    fn panics(code: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(code)).is_err()
    }

    #[test]
    fn locks_are_taken_in_their_order_alone() {
        let [connection, other] = [1, 2].map(|value| Lock::new(Connection(value)));
        let queue = Lock::new(Queue(3));
        {
            let first = connection.lock();
            assert_eq!((first.0, queue.lock().0), (1, 3));
            assert!(panics(|| drop(other.lock())), "two of one rank");
        }
        let _last = queue.lock();
        assert!(panics(|| drop(connection.lock())));
        assert!(panics(assert_none_held));
    }

    #[test]
    fn what_was_given_back_is_not_held() {
        let (table, queue) = (Lock::new(Table), Lock::new(Queue(3)));
        drop(queue.lock());
        let first = table.lock();
        let second = queue.lock();
        // In whatever order.
        drop(first);
        assert!(panics(|| drop(table.lock())));
        drop(second);
        drop(table.lock());
        assert_none_held();
    }
}
