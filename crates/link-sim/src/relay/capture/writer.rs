//! The thread that writes the files.

use super::block::{Block, Side};
use super::config::{CaptureConfig, CaptureStats};
use super::frame;
use super::sorter::{PendingPacket, Sorter};
use core::time::Duration;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

/// How far the writer has come, for others to see.
#[derive(Debug, Default)]
pub(super) struct Progress {
    stats: Mutex<CaptureStats>,
}

impl Progress {
    pub(super) fn stats(&self) -> CaptureStats {
        self.with(|stats| stats.clone())
    }

    fn with<R>(&self, change: impl FnOnce(&mut CaptureStats) -> R) -> R {
        // Whatever panicked, the figures are plain numbers.
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut stats)
    }
}

/// Both files, and what is not yet in them.
#[derive(Debug)]
pub(super) struct Writer {
    client_side: PcapFile,
    server_side: PcapFile,
    snap_length: usize,
    /// The wall clock at time zero.
    epoch: Duration,
    sorter: Sorter,
    progress: Arc<Progress>,
}

impl Writer {
    pub(super) fn create(
        config: &CaptureConfig,
        epoch: Duration,
        progress: Arc<Progress>,
    ) -> io::Result<Self> {
        let create = |path: &Path| PcapFile::create(path, config.snap_length);
        Ok(Self {
            client_side: create(&config.client_side)?,
            server_side: create(&config.server_side)?,
            snap_length: config.snap_length as usize,
            epoch,
            sorter: Sorter::new(),
            progress,
        })
    }

    /// Writes what comes in `full` until its other end is gone, or a file fails.
    pub(super) fn run(&mut self, full: &Receiver<Block>, emptied: &SyncSender<Block>) {
        if let Err(error) = self.write_all(full, emptied) {
            self.progress
                .with(|stats| stats.error = Some(error.to_string()));
        }
    }

    fn write_all(&mut self, full: &Receiver<Block>, emptied: &SyncSender<Block>) -> io::Result<()> {
        loop {
            match full.recv_timeout(IDLE) {
                Ok(block) => {
                    self.hold(&block);
                    // There is room for all blocks; at the end nobody wants one.
                    let _ = emptied.try_send(block.cleared());
                    self.write(Sorter::pop)?;
                }
                Err(RecvTimeoutError::Timeout) => self.write(Sorter::pop_any)?,
                Err(RecvTimeoutError::Disconnected) => return self.write(Sorter::pop_any),
            }
        }
    }

    fn hold(&mut self, block: &Block) {
        for seen in block.iter() {
            let mut packet = Vec::with_capacity(seen.data.len() + MAX_HEADERS);
            frame::append(&mut packet, &seen);
            self.sorter.push(seen.side, seen.at, packet);
        }
    }

    /// Writes what `next` gives.
    fn write(&mut self, next: impl Fn(&mut Sorter) -> Option<PendingPacket>) -> io::Result<()> {
        while let Some(held) = next(&mut self.sorter) {
            let wall = self.epoch + Duration::from_nanos(held.at.as_nanos());
            let file = match held.side {
                Side::Client => &mut self.client_side,
                Side::Server => &mut self.server_side,
            };
            file.append(wall, &held.packet, self.snap_length);
            if file.is_large() {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let client_side = self.client_side.flush();
        let server_side = self.server_side.flush();
        self.progress.with(|stats| {
            stats.client_side = self.client_side.written;
            stats.server_side = self.server_side.written;
        });
        client_side.and(server_side)
    }
}

/// A file in the format of draft-ietf-opsawg-pcap, with nanoseconds, little endian.
#[derive(Debug)]
struct PcapFile {
    path: PathBuf,
    file: File,
    /// Bytes in the file, all of them whole records.
    length: u64,
    written: u64,
    pending: Vec<u8>,
    pending_packets: u64,
}

impl PcapFile {
    fn create(path: &Path, snap_length: u32) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| named(path, &error))?;
        let mut pending = Vec::new();
        pending.extend(MAGIC_NANOSECONDS.to_le_bytes());
        pending.extend(VERSION.map(u16::to_le_bytes).concat());
        // Neither a time zone nor an accuracy: both are always zero.
        pending.extend([0; 8]);
        pending.extend(snap_length.to_le_bytes());
        pending.extend(LINKTYPE_RAW.to_le_bytes());
        let mut this = Self {
            path: path.to_owned(),
            file,
            length: 0,
            written: 0,
            pending,
            pending_packets: 0,
        };
        this.flush()?;
        Ok(this)
    }

    fn append(&mut self, wall: Duration, packet: &[u8], snap_length: usize) {
        let kept = &packet[..packet.len().min(snap_length)];
        // Seconds wrap in 2106; lengths are those of IP packets.
        let fields = [wall.as_secs() as u32, wall.subsec_nanos()];
        let lengths = [kept.len() as u32, packet.len() as u32];
        for field in [fields, lengths].as_flattened() {
            self.pending.extend(field.to_le_bytes());
        }
        self.pending.extend_from_slice(kept);
        self.pending_packets += 1;
    }

    fn is_large(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    /// # Errors
    /// When the disk takes no more. The file then ends with a whole record.
    fn flush(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&self.pending) {
            // What is half there would make readers complain; if it stays, they do.
            let _ = self.file.set_len(self.length);
            return Err(named(&self.path, &error));
        }
        self.length += self.pending.len() as u64;
        self.written += self.pending_packets;
        self.pending.clear();
        self.pending_packets = 0;
        Ok(())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Without packets for so long, what is held back can be written.
const IDLE: Duration = Duration::from_millis(50);
const MAX_PENDING: usize = 1 << 18;
/// IPv6 and UDP.
const MAX_HEADERS: usize = 48;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// Begins with an IPv4 or IPv6 header, whose version tells which.
const LINKTYPE_RAW: u32 = 101;
