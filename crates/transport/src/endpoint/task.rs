//! The task that moves an endpoint's datagrams, in turns of bounded work.
//!
//! ```text
//!  flush ─▶ receive ─▶ collect ─▶ expire ─▶ drive ─▶ sleep, or another turn
//!  what the  256 KiB,   what the   whose     connections in turn: timeouts,
//!  socket    to their   applica-   time has  ≤ 1 MiB out, events to the
//!  refused   connections tion did  come      application
//! ```
//!
//! Between two looks at the socket stands no more to be sent than 16 large batches of packets or
//! 128 small ones, about 700 µs of work: longer bursts would let ACKs wait, shorter ones cost
//! system calls. It is not 16 of any size: of 200 connections that have a packet each to send, the
//! last would wait for thirteen turns, in which 3 MiB are received.

use super::deadlines::Deadlines;
use super::inner::{Inner, task_has_ended};
use super::receive::ReceiveBuffers;
use super::table::Table;
use crate::clock;
use crate::connection::{Shared, State, Wakeups};
use crate::shard_routing::Received;
use crate::socket::{Socket, received_ecn};
use crate::timer::Timer;
use bytes::BytesMut;
use quinn_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent, EndpointEvent, Transmit};
use quinn_udp::RecvMeta;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::task::yield_now;

/// The future that is an endpoint's task.
pub(super) struct Task {
    inner: Arc<Inner>,
    socket: Arc<Socket>,
    /// The socket before it, until something has arrived at the present one.
    former_socket: Option<Arc<Socket>>,
    /// How often the socket had been replaced when the task last looked.
    rebinds: u64,
    timer: Timer,
    deadlines: Deadlines,
    buffers: ReceiveBuffers,
    /// Connections to look at, each at most once, in order of arrival.
    ready: VecDeque<Arc<Shared>>,
    refused: Option<Refused>,
    /// The other connections that may have packets to send once the socket takes some.
    waiting: Vec<Arc<Shared>>,
    /// Whether the last turn left work for this one.
    is_busy: bool,
    /// Receive errors since something was received.
    receive_errors: u32,
    scratch: Scratch,
}

/// Packets that the socket did not take, and whose they are.
struct Refused {
    transmit: Transmit,
    packets: Vec<u8>,
    connection: Arc<Shared>,
}

/// Memory that outlives its use.
#[derive(Default)]
struct Scratch {
    packets: Vec<u8>,
    answer: Vec<u8>,
    wakeups: Wakeups,
    events: Vec<EndpointEvent>,
    replies: Vec<ConnectionEvent>,
    /// Connections whose observers have something to be told.
    observed: Vec<Arc<Shared>>,
}

impl Task {
    pub(super) fn new(inner: Arc<Inner>) -> io::Result<Self> {
        Ok(Self {
            timer: Timer::new(Arc::clone(&inner.lateness))?,
            socket: inner.socket(),
            former_socket: None,
            rebinds: 0,
            inner,
            deadlines: Deadlines::default(),
            buffers: ReceiveBuffers::new(),
            ready: VecDeque::new(),
            refused: None,
            waiting: Vec::new(),
            is_busy: false,
            receive_errors: 0,
            scratch: Scratch::default(),
        })
    }

    /// Takes over the socket that the application has put in place of the last one.
    fn follow_rebind(&mut self) {
        let rebinds = self.inner.rebinds.load(Ordering::Acquire);
        if rebinds != self.rebinds {
            self.rebinds = rebinds;
            let former = mem::replace(&mut self.socket, self.inner.socket());
            self.former_socket = Some(former);
        }
    }

    /// Sends what the socket refused, or has the task woken when the socket takes it.
    fn flush(&mut self, cx: &mut Context<'_>) {
        while self.refused.is_some() {
            if self.socket.poll_writable(cx).is_pending() {
                return;
            }
            let is_sent = |refused: &mut Refused| {
                let (transmit, packets) = (&refused.transmit, &refused.packets);
                self.socket.send(transmit, packets, clock::now())
            };
            if let Some(refused) = self.refused.take_if(is_sent) {
                // Its turn is over, and the others have had none.
                self.waiting.push(refused.connection);
            }
        }
        for connection in mem::take(&mut self.waiting) {
            connection.lock().awaits_socket = false;
            self.enqueue(&connection);
        }
    }

    /// Receives and routes datagrams; whether there may be more.
    ///
    /// A task that is busy asks the kernel directly: the event loop may not have looked at the
    /// socket since.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        self.receive_from_former_socket(cx);
        let mut received = 0;
        while received < RECEIVE_BYTES {
            let (socket, is_busy, batch) = (&self.socket, self.is_busy, self.buffers.batch());
            let result = self.buffers.fill(|buffers, metas| {
                if is_busy {
                    return socket.try_recv(buffers, metas);
                }
                match socket.poll_recv(cx, buffers, metas) {
                    Poll::Ready(result) => result,
                    Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
                }
            });
            let count = match result {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return self.on_receive_error(error),
            };
            self.receive_errors = 0;
            self.former_socket = None;
            received += self.route(count);
            if is_busy && count < batch {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was on its way to the old address when the socket was replaced.
    fn receive_from_former_socket(&mut self, cx: &mut Context<'_>) {
        let mut received = 0;
        while received < RECEIVE_BYTES {
            let Some(socket) = &self.former_socket else {
                return;
            };
            let result =
                self.buffers.fill(
                    |buffers, metas| match socket.poll_recv(cx, buffers, metas) {
                        Poll::Ready(result) => result.map(Some),
                        Poll::Pending => Ok(None),
                    },
                );
            match result {
                Ok(Some(count)) => received += self.route(count),
                Ok(None) => return,
                Err(_) => self.former_socket = None,
            }
        }
        cx.waker().wake_by_ref();
    }

    /// ICMP errors and the like concern one peer, and anyone can forge them. A socket that only
    /// ever fails is another matter.
    fn on_receive_error(&mut self, error: io::Error) -> io::Result<bool> {
        self.receive_errors += 1;
        if self.receive_errors >= MAX_RECEIVE_ERRORS {
            return Err(error);
        }
        tracing::debug!(%error, "receiving failed");
        Ok(true)
    }

    /// Hands the first `count` messages to their connections; returns their bytes.
    fn route(&mut self, count: usize) -> usize {
        let inner = Arc::clone(&self.inner);
        let now = clock::now();
        let mut bytes = 0;
        for index in 0..count {
            let (meta, mut message) = self.buffers.take(index);
            bytes += message.len();
            // For one message, not for all: the application may be waiting to connect or accept.
            let mut table = inner.table();
            while message.len() > meta.stride && meta.stride > 0 {
                let datagram = message.split_to(meta.stride);
                self.route_datagram(&inner, &mut table, now, &meta, datagram);
            }
            if !message.is_empty() {
                self.route_datagram(&inner, &mut table, now, &meta, message);
            }
            drop(table);
            self.call_observers();
        }
        bytes
    }

    /// Routes what other shards have handed on.
    fn receive_forwarded(&mut self) {
        let Some(membership) = &self.inner.membership else {
            return;
        };
        for Received { meta, data } in membership.take() {
            let inner = Arc::clone(&self.inner);
            self.route_own(&inner, &mut inner.table(), clock::now(), &meta, data);
            self.call_observers();
        }
    }

    /// Calls the observers of those connections that have just received something.
    fn call_observers(&mut self) {
        for connection in self.scratch.observed.drain(..) {
            connection.deliver_events();
        }
    }

    fn route_datagram(
        &mut self,
        inner: &Inner,
        table: &mut Table,
        now: Instant,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        if let Some(membership) = &inner.membership
            && let Some(owner) = membership.other_owner(&data)
        {
            table.stats.misrouted += 1;
            table.stats.misrouted_lost += u64::from(!membership.forward(owner, meta, &data));
            return;
        }
        self.route_own(inner, table, now, meta, data);
    }

    fn route_own(
        &mut self,
        inner: &Inner,
        table: &mut Table,
        now: Instant,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        let answer = &mut self.scratch.answer;
        answer.clear();
        let (ecn, bytes) = (received_ecn(meta), data.len());
        match table
            .proto
            .handle(now, meta.addr, meta.dst_ip, ecn, data, answer)
        {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = table.get(handle) {
                    let _span = connection.span.enter();
                    let mut state = connection.lock();
                    state.driver.handle_datagram(now, ecn, bytes, event);
                    if state.driver.has_events() {
                        self.scratch.observed.push(Arc::clone(connection));
                    }
                    drop(state);
                    if connection.mark_queued() {
                        self.ready.push_back(Arc::clone(connection));
                    }
                }
            }
            Some(DatagramEvent::NewConnection(attempt)) => inner.admit(table, attempt, answer),
            Some(DatagramEvent::Response(transmit)) => inner.answer(&transmit, answer),
            None => {}
        }
    }

    /// Takes over the connections that the application has used.
    fn collect(&mut self) {
        self.inner.queue.take(&mut self.ready);
    }

    /// Adds the connections whose timeouts have passed.
    fn expire(&mut self) {
        let now = clock::now();
        while let Some(handle) = self.deadlines.pop_due(now) {
            let connection = self.inner.table().get(handle).cloned();
            if let Some(connection) = connection {
                self.enqueue(&connection);
            }
        }
    }

    fn enqueue(&mut self, connection: &Arc<Shared>) {
        if connection.mark_queued() {
            self.ready.push_back(Arc::clone(connection));
        }
    }

    /// Gives each ready connection its share of the turn; whether some are left.
    fn drive(&mut self) -> bool {
        let count = self.ready.len();
        let share = (SEND_WORK / count.max(1)).max(1);
        let mut left = SEND_WORK;
        for _ in 0..count.min(CONNECTIONS) {
            if left == 0 {
                break;
            }
            let connection = self.ready.pop_front().expect("counted");
            let done = self.drive_one(&connection, share.min(left));
            left = left.saturating_sub(done);
        }
        !self.ready.is_empty()
    }

    /// One connection's turn; returns the [work](send_work) of what it sent.
    fn drive_one(&mut self, connection: &Arc<Shared>, share: usize) -> usize {
        let _span = connection.span.enter();
        connection.unmark_queued();
        let mut guard = connection.lock();
        let state = &mut *guard;
        if state.is_retired {
            return 0;
        }
        let now = clock::now();
        // On a machine that is behind, the time to forget a closing connection may have come
        // before its last word is sent, which therefore goes first.
        let is_closing = state.driver.conn().is_closed();
        if !is_closing {
            state.handle_timeouts(now);
        }
        let is_awaited = !state.readers.is_empty();
        state.driver.tune_receive_window(now, is_awaited);
        let sent = self.transmit(state, share, connection);
        if is_closing {
            state.handle_timeouts(now);
        }
        self.scratch.events.extend(state.endpoint_events());
        state.forward_events(&mut self.scratch.wakeups);
        state.is_retired = state.driver.conn().is_drained();
        let handle = state.handle();
        let deadline = if state.is_retired {
            None
        } else {
            state.deadline()
        };
        let is_retired = state.is_retired;
        let has_events = state.driver.has_events();
        drop(guard);
        self.scratch.wakeups.fire(&connection.signals);
        if has_events {
            connection.deliver_events();
        }
        if is_retired {
            connection.drop_observer();
        }
        self.deadlines.set(handle, deadline);
        self.forward_endpoint_events(connection, handle, is_retired);
        if sent >= share && !is_retired {
            self.enqueue(connection);
        }
        sent
    }

    /// Sends batches of packets until they are `share` of [work](send_work); returns how much they
    /// are. The last one may exceed it.
    fn transmit(&mut self, state: &mut State, share: usize, connection: &Arc<Shared>) -> usize {
        let mut sent = 0;
        while sent < share {
            let now = clock::now();
            if self.refused.is_some() {
                state.driver.note_host_blocked(now);
                if !mem::replace(&mut state.awaits_socket, true) {
                    self.waiting.push(Arc::clone(connection));
                }
                return sent;
            }
            let mtu = state.driver.conn().current_mtu();
            let segments = self.socket.max_segments(mtu);
            let packets = &mut self.scratch.packets;
            packets.clear();
            let Some(transmit) = state.driver.poll_transmit(now, segments, packets) else {
                return sent;
            };
            sent += send_work(transmit.size);
            let contents = &packets[..transmit.size];
            if !self.socket.send(&transmit, contents, now) {
                state.awaits_socket = true;
                self.refused = Some(Refused {
                    transmit,
                    packets: mem::take(packets),
                    connection: Arc::clone(connection),
                });
            }
        }
        sent
    }

    /// Passes the connection's events to quinn-proto's endpoint and the replies back.
    fn forward_endpoint_events(
        &mut self,
        connection: &Arc<Shared>,
        handle: ConnectionHandle,
        is_retired: bool,
    ) {
        if self.scratch.events.is_empty() {
            return;
        }
        let mut table = self.inner.table();
        for event in self.scratch.events.drain(..) {
            let reply = table.proto.handle_event(handle, event);
            self.scratch.replies.extend(reply);
        }
        if is_retired {
            table.remove(handle);
            if table.is_empty() {
                self.inner.idle.notify_waiters();
            }
        }
        drop(table);
        if self.scratch.replies.is_empty() {
            return;
        }
        let now = clock::now();
        let mut state = connection.lock();
        for reply in self.scratch.replies.drain(..) {
            state.driver.handle_event(now, reply);
        }
        drop(state);
        self.enqueue(connection);
    }

    /// Has the task woken once the runtime has looked at its event loop, and not before.
    ///
    /// A task that wakes itself at once would keep a thread's runtime from doing that for dozens of
    /// turns, each of them up to a millisecond: meanwhile no other endpoint of the thread would
    /// hear of its ACKs, or of its pacer's time.
    fn yield_to_runtime(&self, cx: &mut Context<'_>) {
        self.inner.queue.expect_turn();
        let _ = pin!(yield_now()).poll(cx);
    }

    /// Whether nothing can come any more: no handle, no connection.
    fn is_done(&self) -> bool {
        self.inner.is_abandoned.load(Ordering::Acquire) && self.inner.table().is_empty()
    }
}

impl Future for Task {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.inner.queue.begin_turn(cx.waker());
        this.follow_rebind();
        this.flush(cx);
        let mut has_more = match this.receive(cx) {
            Ok(has_more) => has_more,
            Err(error) => {
                tracing::error!(%error, "the endpoint's socket has failed");
                return Poll::Ready(());
            }
        };
        this.receive_forwarded();
        this.collect();
        this.expire();
        has_more |= this.drive();
        if this.refused.is_some() {
            this.flush(cx);
            has_more |= !this.ready.is_empty();
        }
        if this.is_done() {
            return Poll::Ready(());
        }
        let next = this.deadlines.next();
        has_more |= this.timer.poll(cx, next, clock::now()).is_ready();
        // A busy turn has not asked the event loop to watch the socket; the one after it does.
        if has_more || this.is_busy {
            this.yield_to_runtime(cx);
        }
        this.is_busy = has_more;
        Poll::Pending
    }
}

impl Drop for Task {
    /// The runtime is shutting down, the socket has failed, or all is done.
    fn drop(&mut self) {
        let mut table = self.inner.table();
        table.is_lost = true;
        for (attempt, _) in mem::take(&mut table.incoming) {
            table.proto.ignore(attempt);
        }
        let connections = table.clear();
        drop(table);
        for connection in connections {
            connection.terminate(task_has_ended());
        }
        self.inner.queue.end();
        self.inner.incoming.notify_waiters();
        self.inner.idle.notify_waiters();
    }
}

/// How much work it is to send a batch of so many bytes: as much as for a larger one that is sent
/// as part of a turn's bytes. One packet takes about as long as an eighth of the largest batch.
fn send_work(bytes: usize) -> usize {
    bytes.max(MIN_SEND_WORK)
}

/// What a turn sends: 1 MiB in batches of 64 KiB, about 700 µs of work.
const SEND_WORK: usize = 1 << 20;

/// The work of a batch of one small packet, most of which is a system call.
const MIN_SEND_WORK: usize = 8 << 10;

/// Connections that a turn looks at. Those that only have events take about a microsecond each.
const CONNECTIONS: usize = 256;

/// Bytes that a turn receives before it lets connections answer; one batch may exceed it.
const RECEIVE_BYTES: usize = 256 << 10;

/// Errors in a row after which the socket is given up.
const MAX_RECEIVE_ERRORS: u32 = 1_000;

#[cfg(test)]
mod tests;
