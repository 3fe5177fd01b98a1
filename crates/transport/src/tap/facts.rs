//! What a tap tells of packets that leave and of packets that come.

use super::frames::{Content, EcnCounts};
use std::time::Duration;

/// A packet number space (RFC 9002 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Initial,
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

/// A packet that has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) space: Space,
    pub(crate) number: u64,
    /// Its length as quinn-proto counts it in flight: header, payload and tag.
    pub(crate) bytes: u16,
    pub(crate) content: Content,
    /// DATAGRAM frames in it, where they are [counted](super::Tap::count_datagrams).
    pub(crate) datagrams: u16,
}

/// How datagrams begin that are padding: a random value, which no other datagram begins with but by
/// a chance of 1 in 2¹²⁸.
pub(crate) type PaddingMark = [u8; 16];

/// An ACK frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) space: Space,
    pub(crate) largest: u64,
    /// How long the peer says that it has held the ACK back, at most its `max_ack_delay`; zero
    /// outside the space of application data (RFC 9002 §5.3).
    pub(crate) delay: Duration,
    pub(crate) ecn: Option<EcnCounts>,
    /// How many of the [ranges](Received::ranges) that follow those of the ACK before are its own.
    pub(crate) ranges: usize,
}

/// What has arrived since it was last taken.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Of which spaces quinn-proto has forgotten the packets in flight: their keys are gone, or
    /// 0-RTT was not accepted. ACKs of the Initial and Handshake spaces came before that, for
    /// nothing can be read without keys, and those of application data after it, for 0-RTT packets
    /// that were not accepted are never acknowledged.
    pub(crate) discarded: [bool; 3],
    pub(crate) acks: Vec<Ack>,
    /// Packet numbers acknowledged, smallest and largest, in the order of their frames.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// How many ACK frames there were, those included that no room was left for.
    pub(crate) frames: u64,
    /// The peer's `max_ack_delay`, if there were ACKs.
    pub(crate) max_ack_delay: Duration,
}

impl Received {
    /// Adds an ACK, whose ranges are the last ones.
    ///
    /// Where there is no room, it takes the place of the last one if it acknowledges more, or its
    /// ranges go. So what is newest is known, and packets before it do not stay in flight for ever.
    pub(super) fn push(&mut self, ack: Ack) {
        self.frames += 1;
        if self.acks.len() < MAX_ACKS {
            return self.acks.push(ack);
        }
        let start = self.ranges.len() - ack.ranges;
        let last = self.acks.last_mut().expect("it is full");
        if last.space == ack.space && last.largest < ack.largest {
            self.ranges.drain(start - last.ranges..start);
            *last = ack;
        } else {
            self.ranges.truncate(start);
        }
    }

    /// Forgets what was acknowledged in packets that were not processed.
    pub(crate) fn forget_acks(&mut self) {
        self.acks.clear();
        self.ranges.clear();
    }

    /// Gives back the memory of what was cleared.
    pub(super) fn release(&mut self) {
        self.acks.shrink_to_fit();
        self.ranges.shrink_to_fit();
    }

    pub(super) fn clear(&mut self) {
        self.discarded = [false; 3];
        self.frames = 0;
        self.forget_acks();
    }
}

/// ACK frames and ranges read between two calls of a driver, which takes them after each datagram.
/// A datagram of 1,452 bytes holds some 700 ranges. Those beyond are the oldest of their frame:
/// they have been acknowledged before, or are lost to congestion control alone.
pub(super) const MAX_ACKS: usize = 64;
pub(super) const MAX_RANGES: usize = 1_024;
