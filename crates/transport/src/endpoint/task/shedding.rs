//! Newcomers: answered when the socket is empty and established connections have been served, and
//! shed when more of them wait than will be answered soon.

use super::receiving::Times;
use super::state::Task;
use crate::clock;
use crate::driver::Datagram;
use crate::endpoint::newcomers::{Class, Newcomer};
use crate::endpoint::table::Table;
use crate::socket::received_ecn;
use bytes::BytesMut;
use quinn_proto::DatagramEvent;
use quinn_udp::RecvMeta;
use std::sync::Arc;

impl Task {
    /// Has a newcomer's datagram wait, if there is room. One of a handshake that goes on, which
    /// only quinn-proto knows, goes to its connection.
    pub(super) fn put_off(
        &mut self,
        table: &mut Table,
        class: Class,
        times: Times,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        let Times { now, came_at } = times;
        let ecn = received_ecn(meta);
        let datagram = Datagram::new(came_at, meta.addr, ecn, &data);
        let answer = &mut self.scratch.answer;
        answer.clear();
        let copy = BytesMut::from(&data[..]);
        let event = table.handle_known(now, meta, copy, answer);
        if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event {
            return self.deliver(table, now, handle, datagram, event);
        }
        // One of several in a message of the kernel's would hold the memory of all.
        let data = match meta.len > data.len() {
            true => BytesMut::from(&data[..]),
            false => data,
        };
        let newcomer = Newcomer { meta: *meta, data };
        let has_room = self.newcomers.push(class, newcomer);
        if class != Class::Early {
            table.stats.initials_received += 1;
            table.stats.initials_shed += u64::from(!has_room);
        }
    }

    /// Answers newcomers while they are few, so that all they cause is done in this turn.
    pub(super) fn answer_few(&mut self) {
        if self.newcomers.len() <= FEW && !self.has_unread {
            self.answer(FEW);
        }
    }

    /// Answers as many newcomers as a turn has time for; whether there is more to do.
    pub(super) fn answer_newcomers(&mut self) -> bool {
        self.answer(match self.has_unread {
            true => MOST_BEHIND,
            false => MOST,
        });
        self.newcomers.len() > 0 || !self.ready.is_empty()
    }

    fn answer(&mut self, most: usize) {
        let inner = Arc::clone(&self.inner);
        for _ in 0..most {
            let Some(Newcomer { meta, data }) = self.newcomers.pop() else {
                return;
            };
            let mut table = inner.table();
            self.hand_in(&inner, &mut table, Times::of(clock::now()), &meta, data);
            drop(table);
            self.call_observers();
        }
    }
}

/// Newcomers that need not wait for established connections.
const FEW: usize = 8;

/// Newcomers that a turn answers after all else: each takes 15 µs until its Retry has left, so that
/// they hold up the others by a quarter of a millisecond.
const MOST: usize = 16;

/// The same while the socket has more than a turn can receive. Not none: a server that is always
/// busy shall still take clients.
const MOST_BEHIND: usize = 4;

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
