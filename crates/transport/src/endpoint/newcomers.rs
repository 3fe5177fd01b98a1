//! Clients' first packets that wait for their turn: behind established connections, and shed when
//! there are too many.
//!
//! A first packet costs key derivation and a connection attempt, then a Retry with a sealed token
//! or a handshake: a hundred times what it takes to see that it is one. So it is recognized by its
//! header alone, and answered when the socket has been emptied.

use bytes::{Buf, BytesMut};
use quinn_udp::RecvMeta;
use std::collections::VecDeque;

/// What a datagram without a connection of its own may be, by the long header in front
/// (RFC 9000 §17.2, RFC 8999 §5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// An Initial packet that brings a token, which a Retry or an earlier connection gave.
    Returning,
    /// An Initial packet without one.
    First,
    /// 0-RTT data, of no use before the Initial packet in front of it.
    Early,
    /// Whatever calls for a Version Negotiation, as half of all noise does.
    Unknown,
}

impl Class {
    /// That of a datagram, if it is not for an established connection.
    pub(super) fn of(mut datagram: &[u8]) -> Option<Self> {
        let form = *datagram.first()?;
        if form & LONG_HEADER == 0 || datagram.len() < 5 {
            return None;
        }
        datagram.advance(1);
        match (datagram.get_u32(), form & PACKET_TYPE) {
            // Version Negotiation, which clients alone have a use for.
            (0, _) => None,
            (VERSION_1 | DRAFT_29..=DRAFT_34, packet_type) => match packet_type {
                INITIAL => Some(match has_token(datagram) {
                    Some(true) => Self::Returning,
                    _ => Self::First,
                }),
                ZERO_RTT => Some(Self::Early),
                _ => None,
            },
            _ => Some(Self::Unknown),
        }
    }
}

/// Whether an Initial packet has a token: `None` if it ends before it says so. `rest` is behind
/// the version.
fn has_token(rest: &[u8]) -> Option<bool> {
    let destination = usize::from(*rest.first()?);
    let rest = rest.get(1 + destination..)?;
    let source = usize::from(*rest.first()?);
    // A length of zero is one octet of zero, or a longer form of it that nobody writes.
    rest.get(1 + source).map(|length| *length != 0)
}

const LONG_HEADER: u8 = 0x80;
const PACKET_TYPE: u8 = 0x30;
const INITIAL: u8 = 0x00;
const ZERO_RTT: u8 = 0x10;
const VERSION_1: u32 = 1;
const DRAFT_29: u32 = 0xff00_001d;
const DRAFT_34: u32 = 0xff00_0022;

/// A datagram that waits.
#[derive(Debug)]
pub(super) struct Newcomer {
    pub(super) meta: RecvMeta,
    pub(super) data: BytesMut,
}

/// Datagrams that wait, class by class in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    returning: Queue,
    first: Queue,
    early: Queue,
    unknown: Queue,
    /// Datagrams taken, for the shares of the classes.
    taken: u64,
}

impl Newcomers {
    /// Adds a datagram; `false` if it is dropped, because its class has no room.
    pub(super) fn push(&mut self, class: Class, newcomer: Newcomer) -> bool {
        match class {
            Class::Returning => &mut self.returning,
            Class::First => &mut self.first,
            Class::Early => &mut self.early,
            Class::Unknown => &mut self.unknown,
        }
        .push(newcomer)
    }

    /// The next one. Those that return with a token get three of four turns, because a flood from
    /// forged addresses has no tokens of ours; one of four is left to the others, because nobody
    /// has checked the tokens yet. Who does not know our version cannot become a client, and
    /// waits behind all others.
    pub(super) fn pop(&mut self) -> Option<Newcomer> {
        self.taken += 1;
        let is_first_turn = self.taken.is_multiple_of(FIRST_TURN);
        let (ahead, behind) = match is_first_turn {
            true => (&mut self.first, &mut self.returning),
            false => (&mut self.returning, &mut self.first),
        };
        let next = ahead.pop().or_else(|| behind.pop());
        next.or_else(|| self.early.pop())
            .or_else(|| self.unknown.pop())
    }

    pub(super) fn len(&self) -> usize {
        let queues = [&self.returning, &self.first, &self.early, &self.unknown];
        queues.map(|queue| queue.datagrams.len()).iter().sum()
    }
}

#[derive(Debug, Default)]
struct Queue {
    datagrams: VecDeque<Newcomer>,
    bytes: usize,
}

impl Queue {
    fn push(&mut self, newcomer: Newcomer) -> bool {
        let bytes = self.bytes + newcomer.data.len();
        if self.datagrams.len() == MAX_DATAGRAMS || bytes > MAX_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.datagrams.push_back(newcomer);
        true
    }

    fn pop(&mut self) -> Option<Newcomer> {
        let newcomer = self.datagrams.pop_front()?;
        self.bytes -= newcomer.data.len();
        Some(newcomer)
    }
}

/// One of so many turns goes to those without a token.
const FIRST_TURN: u64 = 4;

/// Most datagrams of a class that wait: a burst of as many clients at once is answered, and at
/// 50,000 per second the last of them waits for 41 ms.
pub(super) const MAX_DATAGRAMS: usize = 2_048;

/// Most bytes of a class that wait: as many datagrams of 1,500 bytes.
const MAX_BYTES: usize = MAX_DATAGRAMS * 1_500;

#[cfg(test)]
mod tests;
