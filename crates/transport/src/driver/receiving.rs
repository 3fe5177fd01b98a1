//! Datagrams on their way to quinn-proto.

use super::datagram::{Arrived, Datagram};
use super::reorder_buffer::ReorderBuffer;
use super::state::ConnectionDriver;
#[cfg(feature = "qlog")]
use super::trace::Trace;
use crate::clock;
use crate::quinn_proto_habits::MAX_CHUNKS;
use quinn_proto::ConnectionEvent;
use std::time::Instant;
use units::Bytes;

impl ConnectionDriver {
    /// Hands in a datagram that has arrived.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: Datagram,
        event: ConnectionEvent,
    ) {
        self.excuse_lateness(now);
        if let Some(buffer) = self.arrivals.reorder_buffer.take() {
            return self.reorder(now, &datagram, event, buffer);
        }
        let arrived = Arrived {
            mark: datagram.mark,
            bytes: datagram.bytes,
            event,
        };
        self.receive(now, datagram.came_at, arrived);
        if self.congestion.tap().take_dropped() {
            let buffer = ReorderBuffer::new(clock::timestamp(now));
            self.arrivals.reorder_buffer = Some(Box::new(buffer));
        }
    }

    /// Hands in a datagram where some come too late.
    fn reorder(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        event: ConnectionEvent,
        mut buffer: Box<ReorderBuffer<Arrived>>,
    ) {
        let arrived = Arrived {
            mark: datagram.mark,
            bytes: datagram.bytes,
            event,
        };
        self.hold_back(now, datagram, arrived, &mut buffer);
        self.arrivals.reorder_buffer = Some(buffer);
        self.hand_on_due(now);
    }

    /// Puts a datagram into `buffer` if it is early, and hands it on if not.
    ///
    /// What comes from another address or in another key phase waits for nothing, and nothing older
    /// for it.
    fn hold_back(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        arrived: Arrived,
        buffer: &mut ReorderBuffer<Arrived>,
    ) {
        let tap = self.congestion.tap();
        let newest = tap.newest_received();
        let Some(header) = datagram.head.and_then(|head| tap.read_header(head)) else {
            return self.receive(now, datagram.came_at, arrived);
        };
        let (at, number) = (clock::timestamp(now), header.number);
        buffer.on_arrival(at, number, newest);
        let changes_key_phase = number > newest && buffer.changes_key_phase(header.key_phase);
        let is_on_path = datagram.remote == self.conn.remote_address();
        if is_on_path && !changes_key_phase && buffer.is_early(at, number, newest) {
            self.arrivals.held_back += 1;
            return buffer.push(number, arrived.bytes, arrived);
        }
        while self.arrivals.unpolled < MAX_UNPOLLED
            && let Some(older) = buffer.pop_before(number)
        {
            self.hand_on(now, older);
        }
        if is_on_path && !changes_key_phase && buffer.has_before(number) {
            // What is older goes on before it, in the next turn.
            return buffer.push(number, arrived.bytes, arrived);
        }
        self.receive(now, datagram.came_at, arrived);
    }

    /// Hands on what was held back and need not wait any longer.
    ///
    /// Thousands may go on at once. What they bring has to be taken out of quinn-proto before it is
    /// too much for it ([`Inbound`](super::inbound)), so the rest goes on in the next turn.
    pub(super) fn hand_on_due(&mut self, now: Instant) {
        let Some(mut buffer) = self.arrivals.reorder_buffer.take() else {
            return;
        };
        let at = clock::timestamp(now);
        let is_over = loop {
            if self.arrivals.unpolled >= MAX_UNPOLLED {
                break false;
            }
            match buffer.pop(at, self.congestion.tap().newest_received()) {
                Some(arrived) => self.hand_on(now, arrived),
                None => break true,
            }
        };
        let tap = self.congestion.tap();
        self.arrivals.hand_on_at = match is_over {
            true => buffer.deadline(at, tap.newest_received()),
            false => Some(at),
        };
        if buffer.is_idle(at) {
            // What was dropped meanwhile did not come late enough to be waited for.
            tap.take_dropped();
        } else {
            self.arrivals.reorder_buffer = Some(buffer);
        }
    }

    /// The event has the time at which the datagram came, so that quinn-proto reports to the peer
    /// for how long it has been held. `now` is later where it has been.
    fn hand_on(&mut self, now: Instant, arrived: Arrived) {
        self.receive(now, now, arrived);
    }

    #[inline]
    fn receive(&mut self, now: Instant, came_at: Instant, arrived: Arrived) {
        let Arrived { mark, bytes, event } = arrived;
        self.ecn.count_received(mark);
        self.receive_window.on_arrival(Bytes::new(bytes as u64));
        self.arrivals.bytes += bytes as u64;
        self.arrivals.is_any = true;
        self.arrivals.unpolled += 1;
        #[cfg(feature = "qlog")]
        self.trace.iter_mut().for_each(Trace::on_received);
        let authenticated = self.congestion.tap().authenticated();
        self.handle_event_of(now, came_at, event);
        self.note_authenticated(clock::timestamp(now), authenticated);
        self.look_for_repeated_flight(now);
        self.raise_stream_limits();
    }
}

/// A quarter of what quinn-proto bears: half may wait inside it from before.
const MAX_UNPOLLED: u32 = MAX_CHUNKS / 4;
