//! Bytes as the payload of a packet, read by the keys of a connection and by a reader that is slow
//! and plain.

use paceline::testing::{AckRead, read_acks};
use std::time::Duration;

/// Reads the payload that `data` encodes: the newest packet number, the packets sent with ECT(0)
/// and with ECT(1), a byte each, and the frames. How many ACK frames there were. Panics if the two
/// readers differ, or if quinn-proto would be shown anything else but other ECN counts.
pub(crate) fn payload(data: &[u8]) -> usize {
    let (head, payload) = data.split_at(data.len().min(3));
    let byte = |index: usize| head.get(index).copied().unwrap_or(0);
    // From 0 to the greatest number that there can be.
    let newest = (1 << (byte(0) % 63)) - 1;
    let sent = [byte(1), byte(2)];
    // All ranges of such a payload have room.
    let payload = &payload[..payload.len().min(MAX_PAYLOAD)];

    let read = read_acks(payload, newest, sent);
    let expected = Reader::new(payload, newest).acks();
    let frames = expected.len();
    assert_eq!(read.frames, frames as u64);
    let kept: Vec<AckRead> = kept(&expected).into_iter().map(Found::read).collect();
    assert_eq!(read.acks, kept);

    // The last counts are the ones that may be others.
    let counts = expected.iter().rposition(|ack| ack.ecn.is_some());
    let Some(index) = counts.filter(|_| sent[1] > 0) else {
        assert_eq!(read.shown, payload);
        return frames;
    };
    let shown = Reader::new(&read.shown, newest).acks();
    let (before, after) = (&expected[index], &shown[index]);
    check_counts(
        before.ecn.expect("it has some"),
        after.ecn.expect("it still has"),
        sent.map(u64::from),
    );
    assert_eq!(read.shown[..after.counts.0], payload[..before.counts.0]);
    assert_eq!(read.shown[after.counts.1..], payload[before.counts.1..]);
    assert!(read.shown.len() <= payload.len() + 3);
    frames
}

/// ECT(0) and ECT(1) are shown as one; counts of what was never sent stay wrong.
fn check_counts(before: [u64; 3], after: [u64; 3], sent: [u64; 2]) {
    let [ect0, ect1, ce] = before;
    if ect0 <= sent[0] && ect1 <= sent[1] {
        assert_eq!(after, [ect0 + ect1, 0, ce]);
    } else {
        assert!(
            after[1] > 0,
            "{before:?} of {sent:?} are shown as {after:?}"
        );
    }
}

/// Of more frames than there is room for, each that acknowledges more than the last takes its
/// place.
fn kept(acks: &[Found]) -> Vec<Found> {
    let mut kept: Vec<Found> = acks.iter().take(MAX_ACKS).cloned().collect();
    for ack in acks.iter().skip(MAX_ACKS) {
        if ack.ranges[0].1 > kept[MAX_ACKS - 1].ranges[0].1 {
            kept[MAX_ACKS - 1] = ack.clone();
        }
    }
    kept
}

/// An ACK frame, and where its counts begin and end.
#[derive(Debug, Clone)]
struct Found {
    delay: u64,
    ranges: Vec<(u64, u64)>,
    ecn: Option<[u64; 3]>,
    counts: (usize, usize),
}

impl Found {
    fn read(self) -> AckRead {
        let micros = u128::from(self.delay) * 8;
        AckRead {
            largest: self.ranges[0].1,
            delay: Duration::from_micros(u64::try_from(micros.min(25_000)).expect("it is small")),
            ecn: self.ecn,
            ranges: self.ranges,
        }
    }
}

/// Reads frames by RFC 9000 §19, one integer after another.
struct Reader<'a> {
    payload: &'a [u8],
    at: usize,
    newest: u64,
}

/// What stands in a frame behind its type.
enum Part {
    Integer,
    Bytes(usize),
    /// An integer, and as many bytes.
    Prefixed,
    /// A byte, and as many bytes.
    ConnectionId,
    Rest,
}

impl<'a> Reader<'a> {
    fn new(payload: &'a [u8], newest: u64) -> Self {
        Self {
            payload,
            at: 0,
            newest,
        }
    }

    /// All ACK frames up to the first frame that cannot be read, or acknowledges what was not sent.
    fn acks(mut self) -> Vec<Found> {
        let mut acks = Vec::new();
        while let Some(kind) = self.integer() {
            let is_read = match kind {
                2 | 3 => {
                    let ack = self.ack(kind == 3);
                    let ack = ack.filter(|ack| ack.ranges[0].1 <= self.newest);
                    let is_read = ack.is_some();
                    acks.extend(ack);
                    is_read
                }
                kind => parts(kind).is_some_and(|parts| self.skip(&parts)),
            };
            if !is_read {
                break;
            }
        }
        acks
    }

    fn ack(&mut self, has_counts: bool) -> Option<Found> {
        let largest = i128::from(self.integer()?);
        let delay = self.integer()?;
        let others = self.integer()?;
        let mut end = largest;
        let mut ranges = Vec::new();
        for index in 0..=others {
            if index > 0 {
                // RFC 9000 §19.3.1.
                let gap = i128::from(self.integer()?);
                end = end - gap - 2;
            }
            let start = end - i128::from(self.integer()?);
            ranges.push((u64::try_from(start).ok()?, u64::try_from(end).ok()?));
            end = start;
        }
        let start = self.at;
        let mut ecn = None;
        if has_counts {
            ecn = Some([self.integer()?, self.integer()?, self.integer()?]);
        }
        Some(Found {
            delay,
            ranges,
            ecn,
            counts: (start, self.at),
        })
    }

    fn skip(&mut self, parts: &[Part]) -> bool {
        let skipped = parts.iter().map(|part| match part {
            Part::Integer => self.integer().map(drop),
            Part::Bytes(count) => self.bytes(*count as u64),
            Part::Prefixed => self.integer().and_then(|length| self.bytes(length)),
            Part::ConnectionId => {
                let length = self.payload.get(self.at).copied();
                length.and_then(|length| self.bytes(1 + u64::from(length)))
            }
            Part::Rest => self.bytes((self.payload.len() - self.at) as u64),
        });
        skipped.into_iter().all(|part| part.is_some())
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
        let left = (self.payload.len() - self.at) as u64;
        if count > left {
            return None;
        }
        self.at += usize::try_from(count).expect("no more than there are");
        Some(())
    }

    fn integer(&mut self) -> Option<u64> {
        let first = *self.payload.get(self.at)?;
        let length = [1, 2, 4, 8][usize::from(first >> 6)];
        let mut value = u64::from(first % 64);
        for index in 1..length {
            value = value * 256 + u64::from(*self.payload.get(self.at + index)?);
        }
        self.at += length;
        Some(value)
    }
}

/// The parts of each frame but ACK.
fn parts(kind: u64) -> Option<Vec<Part>> {
    use Part::{Bytes, ConnectionId, Integer, Prefixed, Rest};
    let integers = |count| (0..count).map(|_| Integer).collect();
    Some(match kind {
        0x00 | 0x01 | 0x1e | 0x1f => vec![],
        0x04 => integers(3),
        0x05 | 0x11 | 0x15 => integers(2),
        0x06 => vec![Integer, Prefixed],
        0x07 | 0x31 => vec![Prefixed],
        0x08 | 0x09 => vec![Integer, Rest],
        0x0a | 0x0b => vec![Integer, Prefixed],
        0x0c | 0x0d => vec![Integer, Integer, Rest],
        0x0e | 0x0f => vec![Integer, Integer, Prefixed],
        0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => integers(1),
        0x18 => vec![Integer, Integer, ConnectionId, Bytes(16)],
        0x1a | 0x1b => vec![Bytes(8)],
        0x1c => vec![Integer, Integer, Prefixed],
        0x1d => vec![Integer, Prefixed],
        0x30 => vec![Rest],
        0xaf => integers(4),
        _ => return None,
    })
}

/// As long as a UDP payload on most paths.
const MAX_PAYLOAD: usize = 1_500;
/// The frames for which there is room.
const MAX_ACKS: usize = 64;
