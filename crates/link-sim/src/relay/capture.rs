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

mod block;
mod config;
mod frame;
mod sorter;
mod writer;

#[cfg(test)]
mod tests;

use block::Block;
pub(super) use block::{CapturedDatagram, Side};
pub use config::{CaptureConfig, CaptureStats};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;
use units::Timestamp;
use writer::{Progress, Writer};

#[derive(Debug)]
pub(super) struct Capture {
    /// `None` until there is something to hold, and while there is no room.
    block: Option<Block>,
    full: Option<SyncSender<Block>>,
    empty: Receiver<Block>,
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

    pub(super) fn record(&mut self, seen: &CapturedDatagram<'_>) {
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

/// 64 MiB and a little in all: a quarter of a second of 1 Gbit/s, seen on both sides.
const MAX_BLOCKS: usize = 64;
/// So that who reads the files while they are written is not far behind.
const MAX_WAIT: Duration = Duration::from_millis(100);
