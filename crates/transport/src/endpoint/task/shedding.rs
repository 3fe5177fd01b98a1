//! Newcomers: answered when the socket is empty and established connections have been served, and
//! shed when more of them wait than will be answered soon.

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
    /// Has a datagram wait.
    pub(super) fn put_off(
        &mut self,
        table: &mut Table,
        class: Class,
        meta: &RecvMeta,
        data: BytesMut,
    ) {
        if class != Class::Early {
            table.stats.initials_received += 1;
        }
        // One of several in a message of the kernel's would hold the memory of all.
        let data = match meta.len > data.len() {
            true => BytesMut::from(&data[..]),
            false => data,
        };
        let newcomer = Newcomer { meta: *meta, data };
        if let Err(newcomer) = self.newcomers.push(class, newcomer) {
            self.shed(table, class, newcomer);
        }
    }

    /// Drops a newcomer's datagram before it has cost a key. What is for a connection whose
    /// handshake goes on, and is no newcomer's then, gets there.
    fn shed(&mut self, table: &mut Table, class: Class, newcomer: Newcomer) {
        let Newcomer { meta, data } = newcomer;
        let (now, ecn) = (clock::now(), received_ecn(&meta));
        let datagram = Datagram::new(meta.addr, ecn, &data);
        let answer = &mut self.scratch.answer;
        answer.clear();
        match table.handle_known(now, &meta, data, answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                self.deliver(table, now, handle, datagram, event);
            }
            _ => table.stats.initials_shed += u64::from(class != Class::Early),
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
            self.hand_in(&inner, &mut table, clock::now(), &meta, data);
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
