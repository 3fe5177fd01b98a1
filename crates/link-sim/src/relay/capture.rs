//! What the relay carries, written down as tcpdump would on both sides of it.
//!
//! ```text
//!  clients ──▶ client side ─▶ link ───────▶ server side ──▶ server
//!          ◀──             ◀─ return link ◀─            ◀──
//! ```
//!
//! The relay's thread copies datagrams into blocks of memory and a thread of its own writes them
//! into the files. When the disk does not keep up there is no free block, and datagrams are left
//! out of the files; they are never held up.

mod frame;
mod sorter;
mod writer;

#[cfg(test)]
mod tests;

use crate::Ecn;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;
use units::Timestamp;
use writer::{Progress, Writer};

/// Files for what a relay carries: pcap with nanoseconds, raw IP packets whose headers are those
/// that the datagrams have outside of the relay. Their times are those of arrival and departure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureConfig {
    /// What clients send before the link, and what they get behind the return link.
    pub client_side: PathBuf,
    /// What the server gets behind the link, and what it sends before the return link.
    pub server_side: PathBuf,
    /// Bytes kept of each IP packet, its headers included.
    pub snap_length: u32,
}

impl CaptureConfig {
    /// Whole packets, in `PREFIX-client.pcap` and `PREFIX-server.pcap`. Files that are there are
    /// overwritten.
    pub fn with_prefix(prefix: &Path) -> Self {
        let file = |side: &str| {
            let mut name = OsString::from(prefix);
            name.push(side);
            PathBuf::from(name)
        };
        Self {
            client_side: file("-client.pcap"),
            server_side: file("-server.pcap"),
            snap_length: Self::WHOLE,
        }
    }

    /// A [`snap_length`](Self::snap_length) that cuts nothing off: tcpdump's.
    pub const WHOLE: u32 = 262_144;
}

/// How far a capture has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureStats {
    /// Packets in the file of the clients' side.
    pub client_side: u64,
    /// Packets in the file of the server's side.
    pub server_side: u64,
    /// Packets that are in neither, because the disk did not keep up or failed.
    pub dropped: u64,
    /// Why nothing is written any more.
    pub error: Option<String>,
}

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// A datagram as one side sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) side: Side,
    pub(super) at: Timestamp,
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) ecn: Ecn,
    pub(super) data: &'a [u8],
}

/// The relay's end of a capture.
#[derive(Debug)]
pub(super) struct Capture {
    /// `None` until there is something to hold, and while there is no room.
    block: Option<Block>,
    full: Option<SyncSender<Block>>,
    empty: Receiver<Block>,
    /// Blocks made until now.
    made: usize,
    recorded: u64,
    /// For want of a block.
    dropped: u64,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

impl Capture {
    /// Creates the files and starts the thread that writes them. `epoch` is the wall clock at
    /// time zero.
    ///
    /// # Errors
    /// When one of the files, named in the error, cannot be written.
    pub(super) fn start(config: &CaptureConfig, epoch: Duration) -> io::Result<Self> {
        let progress = Arc::new(Progress::default());
        let mut writer = Writer::create(config, epoch, Arc::clone(&progress))?;
        let (full, filled) = mpsc::sync_channel(MAX_BLOCKS);
        let (emptied, empty) = mpsc::sync_channel(MAX_BLOCKS);
        let thread = std::thread::Builder::new()
            .name("link-pcap".into())
            .spawn(move || writer.run(&filled, &emptied))?;
        Ok(Self {
            block: None,
            full: Some(full),
            empty,
            made: 0,
            recorded: 0,
            dropped: 0,
            progress,
            thread: Some(thread),
        })
    }

    /// Writes one datagram down.
    pub(super) fn record(&mut self, seen: &Seen<'_>) {
        self.recorded += 1;
        if self.block.is_none() {
            self.block = self.new_block();
        }
        match &mut self.block {
            Some(block) => block.push(seen),
            None => self.dropped += 1,
        }
        if self.block.as_ref().is_some_and(Block::is_full) {
            self.hand_over();
        }
    }

    /// Hands over what is older than a moment; answers when there will be something to hand over.
    pub(super) fn flush(&mut self, now: Timestamp) -> Option<Timestamp> {
        let due = self.block.as_ref().and_then(Block::since)? + MAX_WAIT;
        if due > now {
            return Some(due);
        }
        self.hand_over();
        None
    }

    pub(super) fn stats(&self) -> CaptureStats {
        let progress = self.progress.stats();
        let has_ended = progress.error.is_some() || self.thread.is_none();
        let missing = self.recorded - progress.client_side - progress.server_side;
        CaptureStats {
            // Until the end, what is not in the files may be on its way there.
            dropped: if has_ended { missing } else { self.dropped },
            ..progress
        }
    }

    /// Writes everything, and ends the thread.
    pub(super) fn finish(&mut self) {
        self.hand_over();
        self.full = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }

    fn new_block(&mut self) -> Option<Block> {
        if let Ok(block) = self.empty.try_recv() {
            return Some(block);
        }
        let may_make = self.made < MAX_BLOCKS;
        self.made += usize::from(may_make);
        may_make.then(Block::default)
    }

    /// There is room in the channel for all blocks that exist, so that only a writer that has
    /// given up refuses one.
    fn hand_over(&mut self) {
        let (Some(block), Some(full)) = (self.block.take(), &self.full) else {
            return;
        };
        if let Err(mpsc::TrySendError::Full(block) | mpsc::TrySendError::Disconnected(block)) =
            full.try_send(block)
        {
            // Nothing is written any more: one block is filled in vain, over and over.
            self.block = Some(block.cleared());
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Datagrams on their way to the writer.
#[derive(Debug, Default)]
struct Block {
    records: Vec<Record>,
    /// Their contents, one behind the other.
    contents: Vec<u8>,
}

impl Block {
    fn push(&mut self, seen: &Seen<'_>) {
        self.contents.extend_from_slice(seen.data);
        self.records.push(Record {
            side: seen.side,
            at: seen.at,
            from: seen.from,
            to: seen.to,
            ecn: seen.ecn,
            length: seen.data.len(),
        });
    }

    fn is_full(&self) -> bool {
        self.contents.len() >= BLOCK_BYTES || self.records.len() >= BLOCK_RECORDS
    }

    /// When the first of its datagrams was seen.
    fn since(&self) -> Option<Timestamp> {
        self.records.first().map(|record| record.at)
    }

    fn cleared(mut self) -> Self {
        self.records.clear();
        self.contents.clear();
        self
    }

    /// Its datagrams, in the order in which they were written down.
    fn iter(&self) -> impl Iterator<Item = Seen<'_>> {
        let mut rest = &self.contents[..];
        self.records.iter().map(move |record| {
            let (data, behind) = rest.split_at(record.length);
            rest = behind;
            Seen {
                side: record.side,
                at: record.at,
                from: record.from,
                to: record.to,
                ecn: record.ecn,
                data,
            }
        })
    }
}

#[derive(Debug)]
struct Record {
    side: Side,
    at: Timestamp,
    from: SocketAddr,
    to: SocketAddr,
    ecn: Ecn,
    length: usize,
}

/// 64 MiB and a little in all: a quarter of a second of 1 Gbit/s, seen on both sides.
const MAX_BLOCKS: usize = 64;
const BLOCK_BYTES: usize = 1 << 20;
/// For small datagrams, whose records are longer than they.
const BLOCK_RECORDS: usize = 8_192;
/// So that who reads the files while they are written is not far behind.
const MAX_WAIT: Duration = Duration::from_millis(100);
