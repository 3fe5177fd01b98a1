//! What the simulated application sends and reads.

use super::engine::Engine;
use bytes::Bytes as Buffer;
use quinn_proto::{Dir, StreamEvent, StreamId, WriteError};
use std::collections::BTreeSet;
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// What an application puts on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// So many bytes, as fast as the connection takes them, and the end of the stream.
    Bytes(u64),
    /// As fast as the connection takes them, for ever.
    Endless,
    /// So many bytes every so often, whether or not the last ones have left.
    Every {
        /// Bytes each time.
        bytes: u64,
        /// Time between them.
        interval: Duration,
    },
}

/// Writes its loads and reads whatever comes, byte by byte what the other one has written.
#[derive(Debug, Default)]
pub(super) struct Application {
    sources: Vec<Source>,
    received: Bytes,
    /// Whether it takes what comes for what was written.
    is_credulous: bool,
    /// Whether it lets lie what comes, and on which streams something does.
    is_deaf: bool,
    unread: BTreeSet<StreamId>,
    /// How fast it reads, and when it reads on; as fast as it can without.
    rate: Option<(Bandwidth, Timestamp)>,
}

#[derive(Debug)]
struct Source {
    stream: StreamId,
    load: Load,
    offset: u64,
    due: u64,
    /// When more are.
    next: Option<Timestamp>,
    is_blocked: bool,
    is_finished: bool,
}

impl Application {
    pub(super) fn sent(&self) -> Bytes {
        let sent = self.sources.iter().map(|source| source.offset);
        Bytes::new(sent.sum())
    }

    /// The same by stream, in the order in which they were opened.
    pub(super) fn sent_by_stream(&self) -> Vec<Bytes> {
        let sent = self.sources.iter().map(|source| Bytes::new(source.offset));
        sent.collect()
    }

    pub(super) fn received(&self) -> Bytes {
        self.received
    }

    /// Counts what comes from now on without a check.
    pub(super) fn skip_verification(&mut self) {
        self.is_credulous = true;
    }

    /// Reads, or lets lie what comes from now on.
    pub(super) fn set_reading(&mut self, reads: bool, engine: &mut Engine) {
        self.is_deaf = !reads;
        if reads {
            for stream in std::mem::take(&mut self.unread) {
                self.read(stream, u64::MAX, engine);
            }
        }
    }

    /// Reads at `rate` from now on, a millisecond's worth at a time.
    pub(super) fn read_slowly(&mut self, now: Timestamp, rate: Bandwidth) {
        self.rate = Some((rate, now));
    }

    pub(super) fn read_due(&mut self, now: Timestamp, engine: &mut Engine) {
        let Some((rate, due)) = &mut self.rate else {
            return;
        };
        if *due > now {
            return;
        }
        let mut bytes = (*rate * (now.since(*due) + TICK)).get();
        *due = now + TICK;
        for stream in std::mem::take(&mut self.unread) {
            bytes -= self.read(stream, bytes, engine);
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.unread.is_empty()
    }

    pub(super) fn start(&mut self, now: Timestamp, load: Load, engine: &mut Engine) {
        let stream = engine.conn().streams().open(Dir::Uni);
        let (due, next) = match load {
            Load::Bytes(bytes) => (bytes, None),
            Load::Endless => (u64::MAX, None),
            Load::Every { .. } => (0, Some(now)),
        };
        self.sources.push(Source {
            stream: stream.expect("the peer allows another stream"),
            load,
            offset: 0,
            due,
            next,
            is_blocked: false,
            is_finished: false,
        });
    }

    pub(super) fn write(&mut self, now: Timestamp, engine: &mut Engine) {
        for source in &mut self.sources {
            source.become_due(now);
            source.write(engine);
        }
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let writes = self.sources.iter().filter_map(|source| source.next);
        writes.chain(self.rate.map(|(_, due)| due)).min()
    }

    pub(super) fn on_stream_event(&mut self, event: &StreamEvent, engine: &mut Engine) {
        match *event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(stream) = engine.conn().streams().accept(Dir::Uni) {
                    self.on_readable(stream, engine);
                }
            }
            StreamEvent::Readable { id } => self.on_readable(id, engine),
            StreamEvent::Writable { id } => {
                let source = self.sources.iter_mut().find(|source| source.stream == id);
                if let Some(source) = source {
                    source.is_blocked = false;
                }
            }
            _ => {}
        }
    }

    fn on_readable(&mut self, id: StreamId, engine: &mut Engine) {
        if self.is_deaf || self.rate.is_some() {
            self.unread.insert(id);
        } else {
            self.read(id, u64::MAX, engine);
        }
    }

    /// Reads at most `most` bytes of a stream. How many there were.
    fn read(&mut self, id: StreamId, most: u64, engine: &mut Engine) -> u64 {
        let mut count = 0;
        engine.read(id, |next| {
            while count < most {
                let Some(chunk) = next(BLOCK.min(usize::try_from(most - count).unwrap_or(BLOCK)))
                else {
                    return;
                };
                let written = contents(id, chunk.offset, chunk.bytes.len());
                assert!(
                    self.is_credulous || chunk.bytes == written,
                    "stream {id}, {} bytes from {}: not what was written",
                    written.len(),
                    chunk.offset
                );
                count += chunk.bytes.len() as u64;
            }
            self.unread.insert(id);
        });
        self.received += Bytes::new(count);
        count
    }
}

impl Source {
    fn become_due(&mut self, now: Timestamp) {
        let Load::Every { bytes, interval } = self.load else {
            return;
        };
        while let Some(next) = self.next.filter(|next| *next <= now) {
            self.due = self.due.saturating_add(bytes);
            // A zero interval would be due for ever.
            self.next = Some(next + interval.max(Duration::from_nanos(1)));
        }
    }

    fn write(&mut self, engine: &mut Engine) {
        while self.due > 0 && !self.is_blocked {
            let len = self.due.min(BLOCK as u64) as usize;
            let mut block = [Buffer::from_static(contents(self.stream, self.offset, len))];
            match engine.write(self.stream, &mut block) {
                Ok(written) => {
                    debug_assert!(written.bytes > 0);
                    self.offset += written.bytes as u64;
                    if self.load != Load::Endless {
                        self.due -= written.bytes as u64;
                    }
                }
                Err(WriteError::Blocked) => self.is_blocked = true,
                Err(_) => self.due = 0,
            }
        }
        if matches!(self.load, Load::Bytes(_)) && self.due == 0 && !self.is_finished {
            self.is_finished = true;
            // It may have been stopped by the peer, which ends it as well.
            let _ = engine.conn().send_stream(self.stream).finish();
        }
    }
}

/// What is written on a stream from `offset` on, different for every stream. At most [`BLOCK`]
/// bytes.
fn contents(stream: StreamId, offset: u64, len: usize) -> &'static [u8] {
    let start = (offset + stream.index() * 1_009) % PERIOD as u64;
    &CONTENTS[start as usize..][..len]
}

static CONTENTS: [u8; PERIOD + BLOCK] = {
    let mut contents = [0; PERIOD + BLOCK];
    let mut at = 0;
    let mut state = 1_u32;
    while at < contents.len() {
        if at < PERIOD {
            // Numerical Recipes' generator; its upper bits have long periods.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            contents[at] = (state >> 24) as u8;
        } else {
            contents[at] = contents[at - PERIOD];
        }
        at += 1;
    }
    contents
};

/// Contents repeat after so many bytes: a prime, so that no packet is like another by its size.
const PERIOD: usize = 65_521;

const TICK: Duration = Duration::from_millis(1);

/// Most bytes written or read in one call.
const BLOCK: usize = 65_536;
