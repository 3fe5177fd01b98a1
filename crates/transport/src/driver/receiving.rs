//! Datagrams on their way to quinn-proto.

use super::reorder_buffer::ReorderBuffer;
use super::state::ConnectionDriver;
#[cfg(feature = "qlog")]
use super::trace::Trace;
use crate::clock;
use crate::tap::Head;
use quinn_proto::{ConnectionEvent, EcnCodepoint};
use std::net::SocketAddr;
use std::time::Instant;
use units::Bytes;

/// What a caller knows of a datagram besides quinn-proto's event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram {
    remote: SocketAddr,
    mark: Option<EcnCodepoint>,
    bytes: usize,
    head: Option<Head>,
}

impl Datagram {
    /// `contents` have arrived from `remote` with this ECN mark.
    pub(crate) fn new(remote: SocketAddr, mark: Option<EcnCodepoint>, contents: &[u8]) -> Self {
        Self {
            remote,
            mark,
            bytes: contents.len(),
            head: Head::of(contents),
        }
    }
}

/// A datagram for quinn-proto, whose event has the time at which it came.
#[derive(Debug)]
pub(super) struct Arrived {
    mark: Option<EcnCodepoint>,
    bytes: usize,
    event: ConnectionEvent,
}

impl ConnectionDriver {
    /// Hands in a datagram that has arrived.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: Datagram,
        event: ConnectionEvent,
    ) {
        let arrived = Arrived {
            mark: datagram.mark,
            bytes: datagram.bytes,
            event,
        };
        match self.reorder_buffer.take() {
            Some(buffer) => self.hand_on_in_order(now, &datagram, arrived, buffer),
            None => {
                self.hand_on(now, arrived);
                if self.congestion.tap().take_dropped() {
                    let buffer = ReorderBuffer::new(clock::timestamp(now));
                    self.reorder_buffer = Some(Box::new(buffer));
                }
            }
        }
    }

    /// Hands on what the arrival of `datagram` lets go, itself among it unless it is early.
    fn hand_on_in_order(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        arrived: Arrived,
        mut buffer: Box<ReorderBuffer<Arrived>>,
    ) {
        let at = clock::timestamp(now);
        let tap = self.congestion.tap();
        let newest = tap.newest_received();
        let header = datagram.head.and_then(|head| tap.read_header(head));
        match header {
            None => self.hand_on(now, arrived),
            Some(header) => {
                buffer.on_arrival(at, header.number, newest);
                let is_new = header.number > newest;
                let is_urgent = is_new && buffer.changes_key_phase(header.key_phase)
                    || datagram.remote != self.conn.remote_address();
                if is_urgent || !buffer.is_early(at, header.number, newest) {
                    if is_new {
                        while let Some(older) = buffer.pop_before(header.number) {
                            self.hand_on(now, older);
                        }
                    }
                    self.hand_on(now, arrived);
                } else {
                    self.held_back += 1;
                    buffer.push(header.number, arrived.bytes, arrived);
                }
            }
        }
        self.reorder_buffer = Some(buffer);
        self.hand_on_due(now);
    }

    /// Hands on what was held back and need not wait any longer.
    pub(super) fn hand_on_due(&mut self, now: Instant) {
        let Some(mut buffer) = self.reorder_buffer.take() else {
            return;
        };
        let at = clock::timestamp(now);
        while let Some(arrived) = buffer.pop(at, self.congestion.tap().newest_received()) {
            self.hand_on(now, arrived);
        }
        self.hand_on_at = buffer.deadline(at, self.congestion.tap().newest_received());
        if buffer.is_idle(at) {
            // What was dropped in the meantime was the end of it.
            self.congestion.tap().take_dropped();
        } else {
            self.reorder_buffer = Some(buffer);
        }
    }

    fn hand_on(&mut self, now: Instant, arrived: Arrived) {
        let Arrived { mark, bytes, event } = arrived;
        self.ecn.count_received(mark);
        self.receive_window.on_arrival(Bytes::new(bytes as u64));
        self.arrived += bytes as u64;
        self.has_received = true;
        #[cfg(feature = "qlog")]
        self.trace.iter_mut().for_each(Trace::on_received);
        self.handle_event(now, event);
    }
}
