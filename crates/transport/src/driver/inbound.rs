//! What a connection remembers of a stream that it reads from.

mod reassembly;

use crate::quinn_proto_habits::MAX_CHUNKS;
use quinn_proto::{Chunk, Chunks, ReadError, ReadableError, RecvStream, VarInt};
pub(super) use reassembly::Held;
use reassembly::Reassembly;

/// The receiving end of one stream, between quinn-proto and the reader.
///
/// quinn-proto 0.11.19 closes a connection when more than 1,024 gaps stand in one stream. Of
/// packets of 1,452 bytes, every second one lost, 3 MB have as many: no attack, but what a full
/// queue makes of a slow start on a path of that size. It does not report how many there are. So
/// before it can come to that, what stands in front of the first gap is taken out of quinn-proto,
/// and if much is left, the rest as well, to be put in order here. Once a reader that merely lagged
/// has read what was taken, it reads from quinn-proto again.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// Bytes read in order so far.
    read: u64,
    /// About how many chunks wait inside quinn-proto: frames that came, less chunks that have left.
    waiting: u32,
    /// How many bytes had arrived on the connection when there was last nothing more to read.
    arrived: u64,
    /// What was taken out of quinn-proto. Without order it may be anywhere, with order it comes
    /// before what is still inside.
    reassembly: Reassembly,
    /// What follows the last piece, where known.
    end: Option<End>,
    /// Whether quinn-proto gives chunks in any order, after which it never gives them in order.
    is_scattered: bool,
    /// Whether the reader has taken chunks in any order, after which it gets no others.
    is_unordered: bool,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Finished,
    Reset(VarInt),
}

impl Inbound {
    /// A frame has come for the stream. Whether it is time to [`take`](Self::take) what there is,
    /// once all frames of this turn have come.
    pub(super) fn on_frame(&mut self) -> bool {
        self.waiting = self.waiting.saturating_add(1);
        self.waiting >= MAX_WAITING || self.is_scattered && !self.is_unordered
    }

    /// Takes what stands in front of the first gap out of quinn-proto, and the rest if it is much.
    /// `arrived` are the connection's bytes so far. Whether the reader can go on.
    pub(super) fn take(&mut self, mut stream: RecvStream<'_>, arrived: u64) -> bool {
        let mut chunks = Vec::new();
        if !self.is_scattered {
            self.drain(&mut stream, true, &mut chunks);
            let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
            self.waiting = self.waiting.saturating_sub(count);
            self.is_scattered = self.waiting >= MAX_WAITING;
        }
        if self.is_scattered && self.end.is_none() {
            self.drain(&mut stream, false, &mut chunks);
            self.waiting = 0;
        }
        self.reassembly.extend(chunks, arrived - self.arrived);
        self.arrived = arrived;
        self.is_readable()
    }

    /// Moves all there is, or all in front of the first gap, from quinn-proto to `chunks`.
    fn drain(&mut self, stream: &mut RecvStream<'_>, ordered: bool, chunks: &mut Vec<Chunk>) {
        // A stream that was finished or reset before is gone.
        let Ok(mut source) = stream.read(ordered) else {
            return;
        };
        let stop = loop {
            match source.next(usize::MAX) {
                Ok(Some(chunk)) => chunks.push(chunk),
                stop => break stop,
            }
        };
        match stop {
            Ok(_) => self.end = Some(End::Finished),
            Err(ReadError::Reset(code)) => {
                // A stream that was reset has no data any more (RFC 9000 §3.2).
                self.end = Some(End::Reset(code));
                self.reassembly.clear();
                chunks.clear();
            }
            Err(ReadError::Blocked) => {}
        }
        let _ = source.finalize();
    }

    /// Whether a reader that waits can go on with what was taken.
    fn is_readable(&self) -> bool {
        let start = self.reassembly.start();
        self.end.is_some() || start.is_some_and(|start| self.is_unordered || start <= self.read)
    }

    /// How many bytes have been read so far.
    pub(super) fn position(&self) -> u64 {
        self.read
    }

    /// What was taken out of quinn-proto and not read yet.
    pub(super) fn held(&self) -> Held {
        self.reassembly.held()
    }

    /// How much of what was taken out lies behind a gap, and may be read once that is filled.
    pub(super) fn gapped(&self) -> u64 {
        match self.is_readable() {
            true => 0,
            false => self.held().bytes,
        }
    }

    /// Whether the stream's end has come here already, and quinn-proto has forgotten it.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The code of the peer's reset, if that has come here.
    pub(super) fn reset_code(&self) -> Option<VarInt> {
        match self.end? {
            End::Reset(code) => Some(code),
            End::Finished => None,
        }
    }

    /// Begins to read, in order or not. `arrived` are the connection's bytes so far.
    pub(super) fn reader<'a>(
        &'a mut self,
        stream: &'a mut RecvStream<'_>,
        ordered: bool,
        arrived: u64,
    ) -> Result<Reader<'a>, ReadableError> {
        if ordered && self.is_unordered {
            return Err(ReadableError::IllegalOrderedRead);
        }
        self.is_unordered |= !ordered;
        let is_all_taken = self.end.is_some() || ordered && self.is_scattered;
        self.is_scattered |= !ordered;
        let chunks = match is_all_taken {
            true => None,
            false => Some(stream.read(ordered)?),
        };
        Ok(Reader {
            inbound: self,
            chunks,
            arrived,
        })
    }
}

/// What there is to read of a stream, wherever it is.
pub(crate) struct Reader<'a> {
    inbound: &'a mut Inbound,
    /// What is inside quinn-proto and may be read from there.
    chunks: Option<Chunks<'a>>,
    arrived: u64,
}

impl Reader<'_> {
    /// The next chunk of at most `max_length` bytes; `None` at the stream's end.
    pub(crate) fn next(&mut self, max_length: usize) -> Result<Option<Chunk>, ReadError> {
        let at = (!self.inbound.is_unordered).then_some(self.inbound.read);
        let chunk = match self.inbound.reassembly.next(max_length, at) {
            None => self.next_from_quinn_proto(max_length)?,
            piece => piece,
        };
        let len = chunk.as_ref().map_or(0, |chunk| chunk.bytes.len());
        self.inbound.read += len as u64;
        Ok(chunk)
    }

    fn next_from_quinn_proto(&mut self, max_length: usize) -> Result<Option<Chunk>, ReadError> {
        let inbound = &mut *self.inbound;
        let Some(chunks) = &mut self.chunks else {
            return match inbound.end {
                Some(End::Reset(code)) => Err(ReadError::Reset(code)),
                Some(End::Finished) if inbound.reassembly.is_empty() => Ok(None),
                Some(End::Finished) | None => Err(ReadError::Blocked),
            };
        };
        let next = chunks.next(max_length);
        match next {
            Ok(Some(_)) => inbound.waiting = inbound.waiting.saturating_sub(1),
            Err(ReadError::Blocked) => inbound.arrived = self.arrived,
            Ok(None) | Err(ReadError::Reset(_)) => {}
        }
        next
    }

    /// Whether the peer is due credit now.
    pub(super) fn finalize(self) -> bool {
        let credit = self.chunks.map(Chunks::finalize);
        credit.is_some_and(|credit| credit.should_transmit())
    }
}

/// Half of what quinn-proto bears; frames that come within one turn of the task are on top of it.
const MAX_WAITING: u32 = MAX_CHUNKS / 2;
