//! What a connection remembers of a stream that it reads from.

use bytes::{Buf, Bytes};
use quinn_proto::{Chunk, Chunks, ReadError, ReadableError, RecvStream, VarInt};
use std::collections::BTreeMap;

/// The receiving end of one stream, between quinn-proto and the reader.
///
/// quinn-proto 0.11.19 closes a connection when more than 1,024 gaps stand in one stream. Of
/// packets of 1,452 bytes, every second one lost, 3 MB have as many: no attack, but what a full
/// queue makes of a slow start on a path of that size. So before it comes to that, what has
/// arrived is taken out of quinn-proto and put in order here. Most streams never need it.
///
/// It is copied, lest a byte hold the datagram that it came in, and small neighbours become one.
/// So what is held costs its bytes and a record for each piece; [`Held`] bounds the pieces.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// Bytes read in order so far.
    read: u64,
    /// About how many chunks wait inside quinn-proto: frames that came, less chunks that were read.
    waiting: u32,
    /// What was taken out of it; once there, it stays.
    taken: Option<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// By offset. They do not overlap, because quinn-proto has seen to that.
    pieces: BTreeMap<u64, Bytes>,
    bytes: u64,
    /// What comes behind the last chunk.
    end: Option<End>,
    /// Whether chunks were read in any order, after which there is none.
    is_unordered: bool,
}

/// How much is held of one stream, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) pieces: u64,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Finished,
    Reset(VarInt),
}

impl Inbound {
    /// A frame has come for the stream. Whether it is time to [`take`](Self::take) what there is.
    pub(super) fn on_frame(&mut self) -> bool {
        self.waiting = self.waiting.saturating_add(1);
        self.taken.is_some() || self.waiting >= MOST_WAITING
    }

    /// Takes everything out of quinn-proto. Whether the reader has something to read.
    pub(super) fn take(&mut self, mut stream: RecvStream<'_>) -> bool {
        self.waiting = 0;
        let taken = self.taken.get_or_insert_default();
        // A stream that was finished or reset before is gone.
        let Ok(mut chunks) = stream.read(false) else {
            return true;
        };
        let stop = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => taken.insert(chunk),
                stop => break stop,
            }
        };
        let _ = chunks.finalize();
        match stop {
            Ok(_) => taken.end = Some(End::Finished),
            Err(ReadError::Reset(code)) => taken.reset(code),
            Err(ReadError::Blocked) => {}
        }
        taken.has_news(self.read)
    }

    /// What was taken out of quinn-proto and not read yet.
    pub(super) fn held(&self) -> Held {
        self.taken.as_ref().map_or_else(Held::default, Taken::held)
    }

    /// Whether the stream's end has come here already, and quinn-proto has forgotten it.
    pub(super) fn has_ended(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.end.is_some())
    }

    /// The code of the peer's reset, if that has come here.
    pub(super) fn reset_code(&self) -> Option<VarInt> {
        match self.taken.as_ref()?.end? {
            End::Reset(code) => Some(code),
            End::Finished => None,
        }
    }

    /// Begins to read, in order or not.
    pub(super) fn reader<'a>(
        &'a mut self,
        stream: &'a mut RecvStream<'_>,
        ordered: bool,
    ) -> Result<Reader<'a>, ReadableError> {
        let Self {
            read,
            waiting,
            taken,
        } = self;
        let source = match taken {
            None => Source::Proto {
                chunks: stream.read(ordered)?,
                waiting,
            },
            Some(taken) if ordered && taken.is_unordered => {
                return Err(ReadableError::IllegalOrderedRead);
            }
            Some(taken) => {
                taken.is_unordered |= !ordered;
                Source::Taken { taken, ordered }
            }
        };
        Ok(Reader { read, source })
    }
}

impl Held {
    /// A stream that held `old` holds `new` now.
    pub(super) fn replace(&mut self, old: Self, new: Self) {
        self.bytes = self.bytes - old.bytes + new.bytes;
        self.pieces = self.pieces - old.pieces + new.pieces;
    }

    /// Whether no loss explains how small the pieces are.
    pub(super) fn has_too_many_pieces(self) -> bool {
        self.pieces > FREE_PIECES + self.bytes / LEAST_PIECE
    }
}

/// What there is to read of a stream, wherever it is.
pub(crate) struct Reader<'a> {
    read: &'a mut u64,
    source: Source<'a>,
}

enum Source<'a> {
    Proto {
        chunks: Chunks<'a>,
        waiting: &'a mut u32,
    },
    Taken {
        taken: &'a mut Taken,
        ordered: bool,
    },
}

impl Reader<'_> {
    /// The next chunk of at most `max_length` bytes; `None` at the stream's end.
    pub(crate) fn next(&mut self, max_length: usize) -> Result<Option<Chunk>, ReadError> {
        let chunk = match &mut self.source {
            Source::Proto { chunks, .. } => chunks.next(max_length)?,
            Source::Taken { taken, ordered } => {
                taken.next(max_length, ordered.then_some(*self.read))?
            }
        };
        let Some(chunk) = chunk else {
            return Ok(None);
        };
        *self.read += chunk.bytes.len() as u64;
        if let Source::Proto { waiting, .. } = &mut self.source {
            **waiting = waiting.saturating_sub(1);
        }
        Ok(Some(chunk))
    }

    /// Whether the peer is due credit now.
    pub(super) fn finalize(self) -> bool {
        match self.source {
            Source::Proto { chunks, .. } => chunks.finalize().should_transmit(),
            Source::Taken { .. } => false,
        }
    }
}

impl Taken {
    fn held(&self) -> Held {
        Held {
            bytes: self.bytes,
            pieces: self.pieces.len() as u64,
        }
    }

    /// Copies what has come, and makes it one with what lies next to it as long as that is small.
    fn insert(&mut self, Chunk { offset, bytes }: Chunk) {
        self.bytes += bytes.len() as u64;
        let end = offset + bytes.len() as u64;
        let before = self.pieces.range(..offset).next_back();
        let start = before
            .filter(|(at, before)| {
                **at + before.len() as u64 == offset && before.len() + bytes.len() <= SMALL
            })
            .map_or(offset, |(at, _)| *at);
        let before = self.pieces.remove(&start).unwrap_or_default();
        let joined = before.len() + bytes.len();
        let after = self.pieces.get(&end);
        let is_after_small = after.is_some_and(|after| joined + after.len() <= SMALL);
        let after = is_after_small.then(|| self.pieces.remove(&end));
        let after = after.flatten().unwrap_or_default();
        let piece = [before, bytes, after].concat();
        self.pieces.insert(start, piece.into());
    }

    /// A stream that was reset has no data any more (RFC 9000 §3.2).
    fn reset(&mut self, code: VarInt) {
        self.pieces.clear();
        self.bytes = 0;
        self.end = Some(End::Reset(code));
    }

    /// Whether a reader who waits behind `read` bytes can go on.
    fn has_news(&self, read: u64) -> bool {
        let first = self.pieces.first_key_value();
        self.end.is_some() || first.is_some_and(|(&offset, _)| self.is_unordered || offset <= read)
    }

    /// The next chunk: that at the offset `at`, or any.
    fn next(&mut self, max_length: usize, at: Option<u64>) -> Result<Option<Chunk>, ReadError> {
        let first = self.pieces.first_entry();
        let Some(first) = first.filter(|first| at.is_none_or(|at| *first.key() <= at)) else {
            return match self.end {
                Some(End::Reset(code)) => Err(ReadError::Reset(code)),
                Some(End::Finished) if self.pieces.is_empty() => Ok(None),
                Some(End::Finished) | None => Err(ReadError::Blocked),
            };
        };
        let (mut offset, mut bytes) = first.remove_entry();
        // What was read in order before the rest was taken.
        let known = at.unwrap_or(offset) - offset;
        if known > 0 {
            let known = bytes
                .len()
                .min(usize::try_from(known).unwrap_or(usize::MAX));
            bytes.advance(known);
            (offset, self.bytes) = (offset + known as u64, self.bytes - known as u64);
            if bytes.is_empty() {
                return self.next(max_length, at);
            }
        }
        if bytes.len() > max_length {
            let rest = bytes.split_off(max_length);
            self.pieces.insert(offset + max_length as u64, rest);
        }
        self.bytes -= bytes.len() as u64;
        Ok(Some(Chunk { offset, bytes }))
    }
}

/// Half of what quinn-proto bears; frames that come within one turn of the task are on top of it.
const MOST_WAITING: u32 = 512;

/// Bytes that neighbours have together at most when they are made one: less than a packet, so that
/// what comes in packets is copied once. Where nothing is missing, pieces have half of it.
const SMALL: usize = 1_024;

/// Bytes that a piece has on average, if there are many: holes are packets that were lost, and what
/// stands between them is at least a packet of 1,200 bytes, less what other streams have of it.
const LEAST_PIECE: u64 = 256;

/// Pieces of any size: packets that an application fills with a few bytes each may get lost, too.
/// Four times what quinn-proto bears, and half a megabyte of records.
const FREE_PIECES: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(chunks: &[(u64, &'static [u8])]) -> Taken {
        let mut taken = Taken::default();
        for (offset, bytes) in chunks {
            let bytes = Bytes::from_static(bytes);
            taken.insert(Chunk {
                offset: *offset,
                bytes,
            });
        }
        taken
    }

    fn read(taken: &mut Taken, max_length: usize, at: u64) -> Result<Option<Bytes>, ReadError> {
        let chunk = taken.next(max_length, Some(at))?;
        Ok(chunk.map(|chunk| chunk.bytes))
    }

    #[test]
    fn chunks_come_in_order_and_stop_at_a_gap() {
        let mut taken = taken(&[(14, b"efgh"), (10, b"abcd"), (20, b"kl")]);
        assert!(taken.has_news(10) && !taken.has_news(9));
        assert_eq!(
            read(&mut taken, 3, 10),
            Ok(Some(Bytes::from_static(b"abc")))
        );
        assert_eq!(
            read(&mut taken, 99, 13),
            Ok(Some(Bytes::from_static(b"defgh")))
        );
        assert_eq!(read(&mut taken, 99, 18), Err(ReadError::Blocked));
        assert_eq!(taken.bytes, 2);
        taken.end = Some(End::Finished);
        assert_eq!(read(&mut taken, 99, 18), Err(ReadError::Blocked));
        assert_eq!(
            read(&mut taken, 99, 20),
            Ok(Some(Bytes::from_static(b"kl")))
        );
        assert_eq!(read(&mut taken, 99, 22), Ok(None));
        assert_eq!(taken.bytes, 0);
    }

    #[test]
    fn what_was_read_before_is_not_read_again() {
        let mut taken = taken(&[(0, b"abcd"), (4, b"efgh")]);
        assert_eq!(read(&mut taken, 99, 6), Ok(Some(Bytes::from_static(b"gh"))));
        assert_eq!(taken.bytes, 0);
    }

    #[test]
    fn small_neighbours_become_one_piece_in_any_order() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut taken = Taken::default();
        for offset in (0..256).step_by(2).chain((1..256).step_by(2).rev()) {
            taken.insert(Chunk {
                offset: offset as u64,
                bytes: Bytes::copy_from_slice(&bytes[offset..=offset]),
            });
        }
        let whole = Held {
            bytes: 256,
            pieces: 1,
        };
        assert_eq!(taken.held(), whole);
        assert_eq!(read(&mut taken, 999, 0), Ok(Some(bytes.into())));
        assert_eq!(taken.held(), Held::default());
    }

    #[test]
    fn what_comes_without_holes_is_never_too_many_pieces() {
        for len in [1, 7, 100, SMALL - 1, SMALL, 1_200] {
            let mut taken = Taken::default();
            for index in 0..8 * FREE_PIECES / 7 {
                taken.insert(Chunk {
                    offset: index * len as u64,
                    bytes: vec![0; len].into(),
                });
            }
            let Held { bytes, pieces } = taken.held();
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
        let mut taken = Taken::default();
        taken.insert(Chunk {
            offset: 3,
            bytes: datagram.slice(7..8),
        });
        assert!(datagram.is_unique());
    }

    #[test]
    fn without_order_any_chunk_will_do() {
        let mut taken = taken(&[(7, b"h"), (3, b"de")]);
        let chunk = taken.next(99, None).unwrap().unwrap();
        assert_eq!((chunk.offset, &chunk.bytes[..]), (3, &b"de"[..]));
        taken.reset(VarInt::from_u32(5));
        let reset = ReadError::Reset(VarInt::from_u32(5));
        assert_eq!(taken.next(99, None), Err(reset));
        assert_eq!(taken.bytes, 0);
    }
}
