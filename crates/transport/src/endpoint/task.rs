//! The task that moves an endpoint's datagrams, in turns of bounded work.
//!
//! ```text
//!  flush ─▶ receive ─▶ collect ─▶ expire ─▶ drive ─▶ answer newcomers ─▶ sleep, or another turn
//!  what the  256 KiB,   what the   whose     connections in turn: timeouts,
//!  socket    to their   applica-   time has  ≤ 1 MiB out, events to the
//!  refused   connections tion did  come      application
//! ```
//!
//! Between two reads of the socket it sends no more than 16 large batches of packets or
//! 128 small ones, about 700 µs of work: longer bursts would let ACKs wait, shorter ones cost
//! system calls. It is not 16 of any size: of 200 connections that have a packet each to send, the
//! last would wait for thirteen turns, in which 3 MiB are received.

mod arrivals;
mod receiving;
mod shedding;
mod state;

use super::inner::task_has_ended;
use crate::clock;
use crate::connection::{Shared, State};
use crate::socket::BatchOptions;
use quinn_proto::ConnectionHandle;
use state::Refused;
pub(super) use state::Task;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use tokio::task::yield_now;

impl Task {
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
        let mut attempts = 0;
        while self.refused.is_some() {
            // A socket that says that it has room and has none: others have their turn meanwhile.
            if attempts == MAX_FLUSHES {
                return self.yield_to_runtime(cx);
            }
            attempts += 1;
            if self.socket.poll_writable(cx).is_pending() {
                return;
            }
            let is_sent = |refused: &mut Refused| {
                let (transmit, packets) = (&refused.transmit, &refused.packets);
                self.socket
                    .send_with(refused.options, transmit, packets, clock::now())
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

    /// Takes over the connections that the application has used.
    fn collect(&mut self) {
        self.inner.queue.take(&mut self.ready);
    }

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
        connection.close_if_abandoned();
        let mut guard = connection.lock();
        let state = &mut *guard;
        if state.is_retired {
            return 0;
        }
        let now = clock::now();
        state.follow_path(self.rebinds, |remote| self.socket.time_departures(remote));
        // On a machine that is behind, the time to forget a closing connection may have come
        // before its closing packet is sent, which therefore goes first.
        let is_closing = state.driver.conn().is_closed();
        if !is_closing {
            state.handle_timeouts(now, self.has_unread);
        }
        let is_awaited = !state.readers.is_empty();
        state.driver.tune_receive_window(now, is_awaited);
        let sent = self.transmit(state, share, connection);
        if is_closing {
            state.handle_timeouts(now, self.has_unread);
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
            connection.drop_observers();
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
            let options = BatchOptions {
                departure: state.driver.batch_departure(),
                dscp: state.driver.dscp(),
            };
            if !self.socket.send_with(options, &transmit, contents, now) {
                state.awaits_socket = true;
                self.refused = Some(Refused {
                    transmit,
                    options,
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

    /// Has the task woken once the runtime has polled its event loop, and not before.
    ///
    /// A task that wakes itself at once would keep a thread's runtime from doing that for dozens of
    /// turns, each of them up to a millisecond: meanwhile no other endpoint of the thread would
    /// get its ACKs, or its pacer's timer.
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
            Ok(has_more) => {
                this.has_unread = has_more;
                has_more
            }
            Err(error) => {
                tracing::error!(%error, "the endpoint's socket has failed");
                return Poll::Ready(());
            }
        };
        this.receive_forwarded();
        this.answer_few();
        this.collect();
        this.expire();
        has_more |= this.drive();
        has_more |= this.answer_newcomers();
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

/// Attempts to send what the socket refused in one turn, of which a kernel's needs two.
const MAX_FLUSHES: u32 = 4;

/// Connections that a turn drives. Those that only have events take about a microsecond each.
const CONNECTIONS: usize = 256;

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
