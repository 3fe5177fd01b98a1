//! What the endpoint's task and the handles of a connection share.

use super::wakeups::{Signals, Wakeups};
use super::work_queue::WorkQueue;
use crate::cc_adapter::{By, Observing};
use crate::driver::ConnectionDriver;
use crate::kernel_pacing::{KernelPacing, NoKernelPacing};
use crate::lock::{Guard, Lock, Locked, Rank};
#[cfg(feature = "metrics")]
use crate::stats::ConnectionStats;
#[cfg(feature = "metrics")]
use crate::totals::{Group, Groups, Totals};
use crate::{clock, user_code};
use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ConnectionHandle, Dir, EndpointEvent, Event, Side, StreamEvent, StreamId,
    VarInt,
};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::Instant;
use tokio::sync::Notify;
use tracing::Span;

/// A connection's state behind its lock, what its futures wait for, and the way to the task.
///
/// The lock is held for one call of the application or one turn of the task.
pub(crate) struct Shared {
    side: Side,
    state: Lock<State>,
    pub(crate) signals: Signals,
    queue: Arc<WorkQueue<Self>>,
    is_queued: AtomicBool,
    /// Whether the last handle was dropped where the lock could not be taken: the task is to close
    /// the connection.
    is_abandoned: AtomicBool,
    /// What is logged about the connection is logged in it.
    pub(crate) span: Span,
}

impl Locked for State {
    const RANK: Rank = Rank::Connection;
}

impl Shared {
    /// Its span becomes a child of the one that the caller is in.
    pub(crate) fn new(
        mut driver: ConnectionDriver,
        handle: ConnectionHandle,
        queue: Arc<WorkQueue<Self>>,
    ) -> Arc<Self> {
        let conn = driver.conn();
        let (side, remote) = (conn.side(), conn.remote_address());
        let span = tracing::debug_span!("connection", id = handle.0, ?side, %remote);
        Arc::new(Self {
            side,
            span,
            state: Lock::new(State {
                driver,
                handle,
                connecting: None,
                is_connected: false,
                readers: BTreeMap::new(),
                writers: BTreeMap::new(),
                stopped: BTreeMap::new(),
                departing: BTreeMap::new(),
                error: None,
                awaits_socket: false,
                checked_path: None,
                is_retired: false,
                #[cfg(feature = "metrics")]
                reported: None,
            }),
            signals: Signals::default(),
            queue,
            is_queued: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
        })
    }

    /// # Panics
    /// In a congestion controller.
    pub(crate) fn lock(&self) -> Guard<'_, State> {
        user_code::assert_unlocked();
        // After a panic under the lock, which would be our bug, the task's end marks every
        // connection as lost, and handles still have to be dropped.
        self.state.lock()
    }

    /// Has the task drive this connection: there may be something to send.
    pub(crate) fn schedule(self: &Arc<Self>) {
        if self.mark_queued() {
            self.queue.push(Arc::clone(self));
        }
    }

    /// Whether the connection was in no queue, and is in the caller's from now on.
    pub(crate) fn mark_queued(&self) -> bool {
        !self.is_queued.swap(true, Ordering::AcqRel)
    }

    /// The connection has left the queue. What comes up from now on puts it there again.
    pub(crate) fn unmark_queued(&self) {
        self.is_queued.store(false, Ordering::Release);
    }

    /// Closes the connection if its last handle was dropped in a congestion controller.
    pub(crate) fn close_if_abandoned(self: &Arc<Self>) {
        if self.is_abandoned.swap(false, Ordering::AcqRel) {
            self.close(VarInt::from_u32(0), Bytes::new());
        }
    }

    /// Closes the connection on this side.
    pub(crate) fn close(self: &Arc<Self>, code: VarInt, reason: Bytes) {
        let mut wakeups = Wakeups::default();
        self.lock().close(code, reason, &mut wakeups);
        wakeups.fire(&self.signals);
        self.schedule();
    }

    /// Ends the connection without telling the peer.
    pub(crate) fn terminate(&self, reason: ConnectionError) {
        let mut wakeups = Wakeups::default();
        self.lock().terminate(reason, &mut wakeups);
        wakeups.fire(&self.signals);
        self.drop_observers();
    }

    /// Delivers the events to the observers. They are called without any lock; one that panics ends
    /// the connection in its next turn, and none is called any more.
    pub(crate) fn deliver_events(self: &Arc<Self>) {
        let delivery = self.lock().driver.take_events();
        let Some(mut delivery) = delivery else {
            return;
        };
        let result = user_code::call(|| delivery.call());
        let mut state = self.lock();
        let dropped = match result {
            Ok(()) => state.driver.give_back_observers(delivery),
            Err(message) => {
                let reason = format!("observer panicked: {message}");
                tracing::error!("{reason}");
                state.driver.close_after_panic(reason);
                self.schedule();
                let mut dismissed = state.driver.dismiss_observers();
                dismissed.extend(state.driver.give_back_observers(delivery));
                dismissed
            }
        };
        drop(state);
        drop_each(dropped);
    }

    /// Has `by` receive the events, too, from now on; drops it if there are none any more.
    pub(crate) fn add_observer(&self, by: By) {
        let mut state = self.lock();
        if state.error.is_some() {
            drop(state);
            drop(by);
            return;
        }
        let former = state.driver.add_observer(by);
        drop(state);
        drop(former);
    }

    /// Nothing happens any more. An observer that holds a handle of this connection would keep it
    /// in memory for ever.
    pub(crate) fn drop_observers(&self) {
        let observers = self.lock().driver.dismiss_observers();
        drop_each(observers);
    }
}

/// Each by itself: the others are dropped when one panics.
fn drop_each(observers: Vec<Observing>) {
    for observer in observers {
        let _ = user_code::call(|| drop(observer));
    }
}

// A panic leaves nothing half done here: the state is behind its lock, which copes with one, and a
// span is a number and the way to its subscriber.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

/// Without what is behind the lock: an application may log a connection wherever it has one.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("stable_id", &ptr::from_ref(self).addr())
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

/// A handle that keeps a connection open; the connection closes when the last one is dropped.
#[derive(Clone)]
pub(crate) struct Lease(Arc<LastHandle>);

struct LastHandle(Arc<Shared>);

impl Lease {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(Arc::new(LastHandle(shared)))
    }

    /// Unlike addresses and connection IDs, the same for the connection's life.
    pub(crate) fn stable_id(&self) -> usize {
        Arc::as_ptr(&self.0.0).addr()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl Deref for Lease {
    type Target = Arc<Shared>;
    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}

impl Drop for LastHandle {
    fn drop(&mut self) {
        if user_code::is_locked() {
            self.0.is_abandoned.store(true, Ordering::Release);
            return self.0.schedule();
        }
        let is_open = !self.0.lock().driver.conn().is_closed();
        if is_open {
            self.0.close(VarInt::from_u32(0), Bytes::new());
        }
    }
}

pub(crate) struct State {
    pub(crate) driver: ConnectionDriver,
    handle: ConnectionHandle,
    /// The task that waits for the handshake, or for the outcome of 0-RTT.
    pub(crate) connecting: Option<Waker>,
    pub(crate) is_connected: bool,
    /// One task each that waits to read from a stream, or to write.
    pub(crate) readers: BTreeMap<StreamId, Waker>,
    pub(crate) writers: BTreeMap<StreamId, Waker>,
    /// Told when the peer has stopped a stream or acknowledged all of it.
    pub(crate) stopped: BTreeMap<StreamId, Arc<Notify>>,
    /// Told when so many bytes of a stream have left.
    pub(crate) departing: BTreeMap<(StreamId, u64), Arc<Notify>>,
    /// Set before the connection is drained, and never changed.
    pub(crate) error: Option<ConnectionError>,
    /// Whether the task has it wait until the socket takes packets again.
    pub(crate) awaits_socket: bool,
    /// The path of which it is known whether the kernel can time departures on it.
    checked_path: Option<(IpAddr, u64)>,
    /// The endpoint has forgotten the connection, and its handle may be another's.
    pub(crate) is_retired: bool,
    /// What metrics have been told of the connection.
    #[cfg(feature = "metrics")]
    reported: Option<Box<Totals>>,
}

impl State {
    pub(crate) fn handle(&self) -> ConnectionHandle {
        self.handle
    }

    /// Whether the server has rejected 0-RTT: streams that were opened with it never were, and
    /// their numbers are given out again.
    ///
    /// Asked of quinn-proto too, whose event may not have been forwarded yet.
    pub(crate) fn has_rejected_0rtt(&mut self) -> bool {
        let conn = self.driver.conn();
        let is_established = self.is_connected || !(conn.is_handshaking() || conn.is_closed());
        is_established && conn.side().is_client() && !conn.accepted_0rtt()
    }

    /// Adds to `groups` what the connection has counted since this was last called, each thing
    /// once; returns its group, and its statistics.
    #[cfg(feature = "metrics")]
    pub(crate) fn count_into(&mut self, groups: &mut Groups) -> (Group, ConnectionStats) {
        let group = Group {
            controller: self.driver.snapshot().algorithm,
            side: self.driver.conn().side(),
        };
        let stats = self.driver.stats(clock::now());
        let totals = Totals::of(&stats);
        let new = match &self.reported {
            Some(before) => totals.since(before),
            None => totals.clone(),
        };
        groups.entry(group).or_default().totals.add(&new);
        match &mut self.reported {
            Some(before) => **before = totals,
            None => self.reported = Some(Box::new(totals)),
        }
        (group, stats)
    }

    fn close(&mut self, code: VarInt, reason: Bytes, wakeups: &mut Wakeups) {
        self.driver.conn().close(clock::now(), code, reason);
        self.terminate(ConnectionError::LocallyClosed, wakeups);
    }

    fn terminate(&mut self, reason: ConnectionError, wakeups: &mut Wakeups) {
        self.error.get_or_insert(reason);
        self.driver.leave_path_memory();
        wakeups.everyone();
        wakeups.add(self.connecting.take());
        self.wake_streams(wakeups);
        self.driver.end_reports();
        wakeups.extend(self.driver.take_wakers());
    }

    /// Collects all who wait for one of the streams.
    fn wake_streams(&mut self, wakeups: &mut Wakeups) {
        wakeups.extend(std::mem::take(&mut self.readers).into_values());
        wakeups.extend(std::mem::take(&mut self.writers).into_values());
        wakeups.notify(std::mem::take(&mut self.stopped).into_values());
        wakeups.notify(std::mem::take(&mut self.departing).into_values());
    }

    /// Nobody asks any more how much of a stream has left.
    pub(crate) fn forget_departure(&mut self, id: StreamId) {
        self.driver.forget_departure(id);
        self.departing.retain(|(stream, _), _| *stream != id);
    }

    /// Collects those who wait until a stream has left so far, if it has or never will.
    fn wake_departing(&mut self, stopped: Option<StreamId>, wakeups: &mut Wakeups) {
        let driver = &self.driver;
        self.departing.retain(|&(id, bytes), notify| {
            let is_over = stopped == Some(id) || driver.departed(id) >= bytes;
            if is_over {
                wakeups.notify([Arc::clone(notify)]);
            }
            !is_over
        });
    }

    /// Has `check` say whether the kernel can time departures to the peer, when the connection
    /// begins and whenever its path has changed. `rebinds` is how often the socket was replaced.
    pub(crate) fn follow_path(
        &mut self,
        rebinds: u64,
        check: impl FnOnce(IpAddr) -> Result<(), NoKernelPacing>,
    ) {
        if self.driver.kernel_pacing_mode() == KernelPacing::Off {
            return;
        }
        let path = (self.driver.conn().remote_address().ip(), rebinds);
        if self.checked_path.replace(path) != Some(path) {
            self.driver.set_kernel_pacing(check(path.0));
        }
    }

    /// Runs the timeouts that have passed; `has_unread` says whether datagrams may have arrived
    /// that are not handed in yet.
    pub(crate) fn handle_timeouts(&mut self, now: Instant, has_unread: bool) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            if has_unread {
                self.driver.excuse_unread(now);
            }
            self.driver.handle_timeout(now);
        }
    }

    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        self.driver.poll_timeout().map(|(deadline, _)| deadline)
    }

    pub(crate) fn endpoint_events(&mut self) -> impl Iterator<Item = EndpointEvent> {
        std::iter::from_fn(|| self.driver.poll_endpoint_event())
    }

    /// Collects whom the connection's events wake.
    pub(crate) fn forward_events(&mut self, wakeups: &mut Wakeups) {
        while let Some(event) = self.driver.poll_event() {
            match event {
                Event::HandshakeDataReady => wakeups.handshake_data = true,
                Event::Connected => {
                    self.is_connected = true;
                    wakeups.add(self.connecting.take());
                    if self.has_rejected_0rtt() {
                        self.wake_streams(wakeups);
                    }
                }
                Event::ConnectionLost { reason } => self.terminate(reason, wakeups),
                Event::Stream(event) => self.forward_stream_event(event, wakeups),
                Event::DatagramReceived => wakeups.datagram_received = true,
                Event::DatagramsUnblocked => wakeups.datagrams_unblocked = true,
            }
        }
        self.wake_departing(None, wakeups);
        wakeups.extend(self.driver.take_wakers());
    }

    fn forward_stream_event(&mut self, event: StreamEvent, wakeups: &mut Wakeups) {
        match event {
            StreamEvent::Opened { dir } => wakeups.incoming[index(dir)] = true,
            // One credit or many: everyone who waits tries.
            StreamEvent::Available { dir } => wakeups.available[index(dir)] = true,
            StreamEvent::Readable { id } => wakeups.add(self.readers.remove(&id)),
            StreamEvent::Writable { id } => wakeups.add(self.writers.remove(&id)),
            StreamEvent::Finished { id } => wakeups.notify(self.stopped.remove(&id)),
            StreamEvent::Stopped { id, .. } => {
                wakeups.notify(self.stopped.remove(&id));
                self.wake_departing(Some(id), wakeups);
                wakeups.add(self.writers.remove(&id));
            }
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("handle", &self.handle)
            .field("is_connected", &self.is_connected)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// A direction's place in an array of two.
pub(crate) fn index(dir: Dir) -> usize {
    match dir {
        Dir::Bi => 0,
        Dir::Uni => 1,
    }
}
