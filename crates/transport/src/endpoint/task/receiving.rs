//! Receiving: from the socket, and from other shards, to the connections.

use super::state::Task;
use crate::clock;
use crate::driver::Datagram;
use crate::endpoint::inner::Inner;
use crate::endpoint::newcomers::Class;
use crate::endpoint::table::Table;
use crate::shard_routing::Received;
use crate::socket::received_ecn;
use bytes::BytesMut;
use quinn_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent};
use quinn_udp::RecvMeta;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

impl Task {
    /// Receives and routes datagrams; whether there may be more.
    ///
    /// A task that is busy asks the kernel directly: the event loop may not have polled the
    /// socket since.
    pub(super) fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        self.receive_from_former_socket(cx);
        let mut received = 0;
        while received < RECEIVE_BYTES {
            let (socket, is_busy, batch) = (&self.socket, self.is_busy, self.buffers.batch());
            let asked_at = clock::now();
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
            received += self.route(clock::now(), count);
            if count < batch {
                self.arrivals.on_emptied(asked_at);
            }
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
                Ok(Some(count)) => received += self.route(clock::now(), count),
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
    fn route(&mut self, now: Instant, count: usize) -> usize {
        let inner = Arc::clone(&self.inner);
        self.arrivals.on_read(clock::read_both(now));
        let mut bytes = 0;
        for index in 0..count {
            let (meta, mut message) = self.buffers.take(index);
            let came_at = self.arrivals.arrived(now, meta.timestamp);
            let times = Times { now, came_at };
            bytes += message.len();
            // For one message, not for all: the application may be waiting to connect or accept.
            let mut table = inner.table();
            while message.len() > meta.stride && meta.stride > 0 {
                let datagram = message.split_to(meta.stride);
                self.route_datagram(&inner, &mut table, times, &meta, datagram);
            }
            if !message.is_empty() {
                self.route_datagram(&inner, &mut table, times, &meta, message);
            }
            drop(table);
            self.call_observers();
        }
        bytes
    }

    pub(super) fn receive_forwarded(&mut self) {
        let Some(membership) = &self.inner.membership else {
            return;
        };
        for Received { meta, data } in membership.take() {
            let inner = Arc::clone(&self.inner);
            let times = Times::of(clock::now());
            self.route_own(&inner, &mut inner.table(), times, &meta, data);
            self.call_observers();
        }
    }

    pub(super) fn call_observers(&mut self) {
        for connection in self.scratch.observed.drain(..) {
            connection.deliver_events();
        }
    }

    fn route_datagram(
        &mut self,
        inner: &Inner,
        table: &mut Table,
        times: Times,
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
        self.route_own(inner, table, times, meta, data);
    }

    fn route_own(
        &mut self,
        inner: &Inner,
        table: &mut Table,
        times: Times,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        if table.server_config.is_some()
            && let Some(class) = Class::of(&data)
        {
            return self.put_off(table, class, times, meta, data);
        }
        self.hand_in(inner, table, times, meta, data);
    }

    /// Hands a datagram to quinn-proto, and on to its connection or to the application.
    pub(super) fn hand_in(
        &mut self,
        inner: &Inner,
        table: &mut Table,
        times: Times,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        let Times { now, came_at } = times;
        let answer = &mut self.scratch.answer;
        answer.clear();
        let ecn = received_ecn(meta);
        let datagram = Datagram::new(came_at, meta.addr, ecn, &data);
        match table
            .proto
            .handle(now, meta.addr, meta.dst_ip, ecn, data, answer)
        {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                self.deliver(table, now, handle, datagram, event);
            }
            Some(DatagramEvent::NewConnection(attempt)) => inner.admit(table, attempt, answer),
            Some(DatagramEvent::Response(transmit)) => inner.answer(&transmit, answer),
            None => {}
        }
    }

    pub(super) fn deliver(
        &mut self,
        table: &Table,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
        event: ConnectionEvent,
    ) {
        let Some(connection) = table.get(handle) else {
            return;
        };
        let _span = connection.span.enter();
        let mut state = connection.lock();
        state.driver.handle_datagram(now, datagram, event);
        if state.driver.has_events() {
            self.scratch.observed.push(Arc::clone(connection));
        }
        drop(state);
        if connection.mark_queued() {
            self.ready.push_back(Arc::clone(connection));
        }
    }
}

/// Of a datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// When it is handed on.
    pub(super) now: Instant,
    /// When the host had it.
    pub(super) came_at: Instant,
}

impl Times {
    /// Of one that is taken to have come just now.
    pub(super) fn of(now: Instant) -> Self {
        Self { now, came_at: now }
    }
}

/// Bytes that a turn receives before it lets connections answer; one batch may exceed it.
const RECEIVE_BYTES: usize = 256 << 10;

/// Errors in a row after which the socket is abandoned.
const MAX_RECEIVE_ERRORS: u32 = 1_000;
