//! Reassembly of a stream whose data was taken out of quinn-proto.

use crate::quinn_proto_habits::MAX_CHUNKS;
use bytes::{Buf, Bytes};
use quinn_proto::Chunk;
use std::collections::{BTreeMap, VecDeque};

/// What was taken out of quinn-proto and not read, by offset.
///
/// A part as large as a packet's is kept where it was received, as long as most of what was
/// received there is such parts. Others are copied, so that no byte holds the message that it came
/// in, and small neighbours become one. So what is held costs its bytes, a record for each piece,
/// and a few times as much for what was kept; [`Held`] bounds the pieces.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// Where nothing is missing: parts that were kept, each where the one before it ends.
    run: Run,
    /// The others, before and behind the run. None overlap, because quinn-proto has seen to that.
    by_offset: BTreeMap<u64, Bytes>,
    bytes: u64,
}

/// A queue: nothing has to be searched for in it.
#[derive(Debug, Default)]
struct Run {
    start: u64,
    end: u64,
    parts: VecDeque<Bytes>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) bytes: u64,
    pub(crate) pieces: u64,
}

impl Reassembly {
    pub(super) fn held(&self) -> Held {
        Held {
            bytes: self.bytes,
            pieces: (self.run.parts.len() + self.by_offset.len()) as u64,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.run.parts.is_empty() && self.by_offset.is_empty()
    }

    pub(super) fn start(&self) -> Option<u64> {
        let scattered = self.by_offset.first_key_value().map(|(&offset, _)| offset);
        scattered.into_iter().chain(self.run.start()).min()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds what has come together, on a connection on which so many bytes had `arrived` meanwhile.
    pub(super) fn extend(&mut self, chunks: Vec<Chunk>, arrived: u64) {
        let bytes: u64 = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
        let are_dense = bytes >= arrived / 2;
        for Chunk { offset, bytes } in chunks {
            self.bytes += bytes.len() as u64;
            if !are_dense || bytes.len() < SMALL {
                self.copy(offset, &bytes);
            } else if let Err(bytes) = self.run.push(offset, bytes) {
                self.by_offset.insert(offset, bytes);
            }
        }
    }

    /// Copies a part, and makes it one with what lies next to it as long as that is small.
    fn copy(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        let before = self.by_offset.range(..offset).next_back();
        let start = before
            .filter(|(at, before)| {
                **at + before.len() as u64 == offset && before.len() + bytes.len() <= SMALL
            })
            .map_or(offset, |(at, _)| *at);
        let before = self.by_offset.remove(&start).unwrap_or_default();
        let joined = before.len() + bytes.len();
        let after = self.by_offset.get(&end);
        let is_after_small = after.is_some_and(|after| joined + after.len() <= SMALL);
        let after = is_after_small.then(|| self.by_offset.remove(&end));
        let after = after.flatten().unwrap_or_default();
        let piece = [&before, bytes, &after].concat();
        self.by_offset.insert(start, piece.into());
    }

    /// Takes at most `max_length` bytes at the offset `at`, or anywhere.
    pub(super) fn next(&mut self, max_length: usize, at: Option<u64>) -> Option<Chunk> {
        loop {
            let start = self.start()?;
            if at.is_some_and(|at| at < start) {
                return None;
            }
            let is_of_run = self.run.start() == Some(start);
            let first = if is_of_run {
                self.run.pop()
            } else {
                self.by_offset.pop_first().map(|(_, bytes)| bytes)
            };
            let mut bytes = first.expect("it starts somewhere");
            // What was read in order before the rest was taken.
            let known = at.unwrap_or(start) - start;
            let known = bytes
                .len()
                .min(usize::try_from(known).unwrap_or(usize::MAX));
            bytes.advance(known);
            self.bytes -= known as u64;
            if bytes.is_empty() {
                continue;
            }
            let offset = start + known as u64;
            if bytes.len() > max_length {
                let rest = bytes.split_off(max_length);
                if is_of_run {
                    self.run.put_back(rest);
                } else {
                    self.by_offset.insert(offset + max_length as u64, rest);
                }
            }
            self.bytes -= bytes.len() as u64;
            return Some(Chunk { offset, bytes });
        }
    }
}

impl Run {
    fn start(&self) -> Option<u64> {
        (!self.parts.is_empty()).then_some(self.start)
    }

    /// Takes a part that goes on where the run ends, or begins one; gives back others.
    fn push(&mut self, offset: u64, bytes: Bytes) -> Result<(), Bytes> {
        if self.parts.is_empty() {
            (self.start, self.end) = (offset, offset);
        }
        if offset != self.end {
            return Err(bytes);
        }
        self.end += bytes.len() as u64;
        self.parts.push_back(bytes);
        Ok(())
    }

    fn pop(&mut self) -> Option<Bytes> {
        let first = self.parts.pop_front()?;
        self.start += first.len() as u64;
        if self.parts.is_empty() {
            // A reader that lagged once need not lag again.
            self.parts = VecDeque::new();
        }
        Some(first)
    }

    /// Puts back the end of what was popped last.
    fn put_back(&mut self, rest: Bytes) {
        self.start -= rest.len() as u64;
        self.parts.push_front(rest);
    }
}

impl Held {
    /// A stream that held `old` holds `new` now.
    pub(crate) fn replace(&mut self, old: Self, new: Self) {
        self.bytes = self.bytes - old.bytes + new.bytes;
        self.pieces = self.pieces - old.pieces + new.pieces;
    }

    /// Whether no loss explains how small the pieces are.
    pub(crate) fn has_too_many_pieces(self) -> bool {
        self.pieces > FREE_PIECES + self.bytes / MIN_PIECE
    }
}

/// Bytes that neighbours have together at most when they are made one, and that a part has at least
/// to be kept as it came: less than a packet, so that what comes in packets is copied once at most.
/// Where nothing is missing, pieces have half of it.
const SMALL: usize = 1_024;

/// Bytes that a piece has on average, if there are many: holes are packets that were lost, and what
/// stands between them is at least a packet of 1,200 bytes, less what other streams have of it.
const MIN_PIECE: u64 = 256;

/// Pieces of any size: packets that an application fills with a few bytes each may get lost, too.
/// Four times what quinn-proto bears, and half a megabyte of records.
const FREE_PIECES: u64 = 4 * MAX_CHUNKS as u64;

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(offset: u64, bytes: impl Into<Bytes>) -> Chunk {
        let bytes = bytes.into();
        Chunk { offset, bytes }
    }

    fn pieces(chunks: &[(u64, &'static [u8])]) -> Reassembly {
        let mut pieces = Reassembly::default();
        let chunks = chunks.iter().map(|(offset, bytes)| chunk(*offset, *bytes));
        pieces.extend(chunks.collect(), 0);
        pieces
    }

    fn read(pieces: &mut Reassembly, max_length: usize, at: u64) -> Option<Bytes> {
        pieces.next(max_length, Some(at)).map(|chunk| chunk.bytes)
    }

    #[test]
    fn chunks_come_in_order_and_stop_at_a_gap() {
        let mut pieces = pieces(&[(14, b"efgh"), (10, b"abcd"), (20, b"kl")]);
        assert_eq!(pieces.start(), Some(10));
        assert_eq!(read(&mut pieces, 3, 10), Some("abc".into()));
        assert_eq!(read(&mut pieces, 99, 13), Some("defgh".into()));
        assert_eq!(read(&mut pieces, 99, 18), None);
        assert_eq!(pieces.held().bytes, 2);
        assert_eq!(read(&mut pieces, 99, 20), Some("kl".into()));
        assert!(pieces.is_empty());
        assert_eq!(pieces.held(), Held::default());
    }

    #[test]
    fn what_was_read_before_is_not_read_again() {
        let mut pieces = pieces(&[(0, b"abcd"), (4, b"efgh")]);
        assert_eq!(read(&mut pieces, 99, 6), Some("gh".into()));
        assert_eq!(pieces.held(), Held::default());
    }

    #[test]
    fn small_neighbours_become_one_piece_in_any_order() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut pieces = Reassembly::default();
        for offset in (0..256).step_by(2).chain((1..256).step_by(2).rev()) {
            let part = Bytes::copy_from_slice(&bytes[offset..=offset]);
            pieces.extend(vec![chunk(offset as u64, part)], 0);
        }
        let whole = Held {
            bytes: 256,
            pieces: 1,
        };
        assert_eq!(pieces.held(), whole);
        assert_eq!(read(&mut pieces, 999, 0), Some(bytes.into()));
        assert_eq!(pieces.held(), Held::default());
    }

    #[test]
    fn what_comes_without_holes_is_never_too_many_pieces() {
        for len in [1, 7, 100, SMALL - 1, SMALL, 1_200] {
            let mut pieces = Reassembly::default();
            for index in 0..8 * FREE_PIECES / 7 {
                let part = chunk(index * len as u64, vec![0; len]);
                pieces.extend(vec![part], 0);
            }
            let Held { bytes, pieces } = pieces.held();
            assert!(pieces <= 2 * bytes / SMALL as u64 + 1, "{len}: {pieces}");
        }
    }

    #[test]
    fn pieces_are_too_many_when_they_are_small_on_average() {
        let held = |bytes, pieces| Held { bytes, pieces }.has_too_many_pieces();
        assert!(!held(FREE_PIECES, FREE_PIECES));
        assert!(held(FREE_PIECES, FREE_PIECES + 17));
        // Every second packet lost of as many as the largest window has.
        assert!(!held(64 << 20, (64 << 20) / 1_100));
        assert!(held(64 << 20, (64 << 20) / 128));
    }

    #[test]
    fn a_byte_does_not_hold_what_it_came_in() {
        let datagram = Bytes::from(vec![0; 1_200]);
        let mut pieces = Reassembly::default();
        pieces.extend(vec![chunk(3, datagram.slice(7..8))], 0);
        assert!(datagram.is_unique());
    }

    #[test]
    fn packets_stay_where_they_were_received_if_all_that_was_received_is_theirs() {
        let message = Bytes::from(vec![0; 65_500]);
        let packets = |len: usize| {
            let parts = (0..45).map(|index| index * 1_452..index * 1_452 + len);
            parts
                .map(|part| chunk(part.start as u64, message.slice(part)))
                .collect()
        };
        let mut pieces = Reassembly::default();
        pieces.extend(packets(1_400), 65_500);
        let first = read(&mut pieces, usize::MAX, 0).unwrap();
        assert_eq!(first.as_ptr(), message.as_ptr());
        drop((first, pieces));

        let mut pieces = Reassembly::default();
        pieces.extend(packets(1_400), 3 * 65_500);
        assert!(message.is_unique(), "copied among what others have sent");
        pieces.extend(packets(SMALL - 1), 65_500);
        assert!(message.is_unique(), "copied because it is small");
    }

    #[test]
    fn a_run_is_read_between_what_came_around_it() {
        let part = |offset: u64| {
            let bytes: Vec<u8> = (offset..offset + 2_000).map(|at| at as u8).collect();
            chunk(offset, bytes)
        };
        // The run is of the middle; one part is before it, one behind a gap, which is filled later.
        let mut pieces = Reassembly::default();
        for offset in [4_000, 6_000, 10_000, 2_000, 8_000] {
            pieces.extend(vec![part(offset)], 2_000);
        }
        let held = Held {
            bytes: 10_000,
            pieces: 5,
        };
        assert_eq!((pieces.held(), pieces.run.parts.len()), (held, 3));
        assert_eq!(read(&mut pieces, 700, 1_999), None);
        let mut at = 2_100;
        while let Some(bytes) = read(&mut pieces, 700, at) {
            let end = at + bytes.len() as u64;
            assert!((at..end).map(|at| at as u8).eq(bytes), "{at}");
            at = end;
        }
        assert_eq!((at, pieces.held()), (12_000, Held::default()));
    }

    #[test]
    fn without_order_any_piece_will_do() {
        let mut pieces = pieces(&[(7, b"h"), (3, b"de")]);
        let chunk = pieces.next(99, None).unwrap();
        assert_eq!((chunk.offset, &chunk.bytes[..]), (3, &b"de"[..]));
        pieces.clear();
        assert!(pieces.next(99, None).is_none());
        assert_eq!(pieces.held(), Held::default());
    }
}
