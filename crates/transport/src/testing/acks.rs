//! What the keys of a connection read of a payload, for tests that have no connection.

use crate::tap::{Ack, EcnCounts, Space, Tap};
use bytes::BytesMut;
use quinn_proto::EcnCodepoint;
use std::time::Duration;

/// An ACK frame in a packet of application data, as congestion control gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckRead {
    /// The largest number that it acknowledges.
    pub largest: u64,
    /// The peer's delay, in units of 8 µs and at most 25 ms (RFC 9000 §18.2).
    pub delay: Duration,
    /// Its counts of ECT(0), ECT(1) and CE, if it has any.
    pub ecn: Option<[u64; 3]>,
    /// The numbers that it acknowledges, smallest and largest of each range, from the largest down.
    pub ranges: Vec<(u64, u64)>,
}

/// What was read of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAcks {
    /// The ACK frames, as far as they could be read and there was room.
    pub acks: Vec<AckRead>,
    /// How many there were.
    pub frames: u64,
    /// The payload as quinn-proto gets it.
    pub shown: Vec<u8>,
}

/// Reads the payload of a packet of application data that arrives after a packet with the number
/// `newest` has left, and after so many with ECT(0) and with ECT(1).
pub fn read_acks(payload: &[u8], newest: u64, [ect0, ect1]: [u8; 2]) -> ReadAcks {
    let tap = Tap::default();
    for (packets, codepoint) in [(ect0, EcnCodepoint::Ect0), (ect1, EcnCodepoint::Ect1)] {
        for _ in 0..packets {
            tap.on_sent(Space::Data, newest, &[], &[]);
        }
        tap.take_sent(&mut Vec::new(), Some(codepoint));
    }
    tap.on_sent(Space::Data, newest, &[], &[]);
    let mut shown = BytesMut::from(payload);
    tap.on_decrypted(Space::Data, &mut shown);
    let received = tap.take_received(std::mem::take).unwrap_or_default();
    let mut ranges = received.ranges.into_iter();
    let read = |ack: Ack| AckRead {
        largest: ack.largest,
        delay: ack.delay,
        ecn: ack.ecn.map(|EcnCounts { ect0, ect1, ce }| [ect0, ect1, ce]),
        ranges: ranges.by_ref().take(ack.ranges).collect(),
    };
    ReadAcks {
        acks: received.acks.into_iter().map(read).collect(),
        frames: received.frames,
        shown: shown.into(),
    }
}
