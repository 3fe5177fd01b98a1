//! One file: what is there of it already, the rest, and whether it is right.

use super::paths::part_of;
use super::protocol::{CHUNK, Entry, Reply, Request, SyncError};
use super::session::Session;
use aws_lc_rs::digest::{Context, SHA256};
use indicatif::ProgressBar;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufWriter};

/// What a file took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// Bytes of it that the server has sent.
    pub(crate) received: u64,
    /// Bytes of it that were there already.
    pub(crate) resumed: u64,
}

/// Fetches what is missing of a file, and gives it its name once it is right.
///
/// What is in the partial file is kept when this fails, or is dropped, at any time, but for the
/// last [`BUFFER`] bytes where it is dropped.
pub(crate) async fn download(
    session: &Session,
    entry: &Entry,
    priority: i32,
    target: &Path,
    progress: &ProgressBar,
) -> Result<Fetched, SyncError> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).await?;
    }
    let mut part = Part::open(target).await?;
    if part.length > entry.size {
        part.start_over().await?;
    }
    let mut fetched = Fetched {
        resumed: part.length,
        received: 0,
    };
    progress.inc(part.length);
    loop {
        let offset = part.length;
        let right = receive(session, entry, priority, &mut part, progress).await;
        if !matches!(right, Ok(true)) {
            // Counted again when the next attempt finds it.
            progress.dec(part.length);
            part.file.flush().await?;
        }
        fetched.received += part.length - offset;
        if right? {
            part.finish(target, entry).await?;
            return Ok(fetched);
        }
        part.start_over().await?;
        // The server hashes what it sends: with no old bytes there is nobody else to blame.
        if offset == 0 {
            let text = format!("{:?} changed while it was sent; run this again", entry.path);
            return Err(SyncError::Refused(text));
        }
        fetched.resumed = 0;
    }
}

/// Adds what is missing; whether the whole has the server's hash.
async fn receive(
    session: &Session,
    entry: &Entry,
    priority: i32,
    part: &mut Part,
    progress: &ProgressBar,
) -> Result<bool, SyncError> {
    let request = Request::Get {
        path: entry.path.clone(),
        offset: part.length,
        priority,
    };
    let (reply, mut stream) = session.ask(&request).await?;
    let Reply::File { size } = reply else {
        let text = "the server's answer is of another kind; use the same version on both sides";
        return Err(SyncError::Refused(text.to_owned()));
    };
    // No more than was announced comes to the disk.
    if size != entry.size {
        let text = format!(
            "{:?} changed since it was listed; run this again",
            entry.path
        );
        return Err(SyncError::Refused(text));
    }
    while part.length < size {
        let most = CHUNK.min(usize::try_from(size - part.length).unwrap_or(CHUNK));
        let chunk = stream.read_chunk(most, true).await?;
        let chunk = chunk.ok_or_else(|| SyncError::Interrupted("it ended early".to_owned()))?;
        part.append(&chunk.bytes).await?;
        progress.inc(chunk.bytes.len() as u64);
        session.count(chunk.bytes.len());
    }
    let mut expected = [0; 32];
    stream.read_exact(&mut expected).await?;
    Ok(part.hash.clone().finish().as_ref() == expected)
}

/// What is there of a file, and its hash.
struct Part {
    /// Data comes packet by packet, and tokio passes each write of a file to another thread.
    file: BufWriter<File>,
    length: u64,
    hash: Context,
}

impl Part {
    /// Reads what is there.
    async fn open(target: &Path) -> Result<Self, SyncError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut part = Self {
            file: BufWriter::with_capacity(BUFFER, options.open(part_of(target)).await?),
            length: 0,
            hash: Context::new(&SHA256),
        };
        let mut chunk = vec![0; CHUNK];
        loop {
            match part.file.read(&mut chunk).await? {
                0 => return Ok(part),
                length => {
                    part.hash.update(&chunk[..length]);
                    part.length += length as u64;
                }
            }
        }
    }

    async fn append(&mut self, bytes: &[u8]) -> Result<(), SyncError> {
        self.file.write_all(bytes).await?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    async fn start_over(&mut self) -> Result<(), SyncError> {
        // Which writes what is in the buffer.
        self.file.rewind().await?;
        self.file.get_mut().set_len(0).await?;
        self.hash = Context::new(&SHA256);
        self.length = 0;
        Ok(())
    }

    /// Gives it its name and its time, after it has come to the disk: a crash in between leaves
    /// the partial file, never a broken one.
    async fn finish(mut self, target: &Path, entry: &Entry) -> Result<(), SyncError> {
        self.file.flush().await?;
        self.file.get_mut().sync_all().await?;
        let file = self.file.into_inner().into_std().await;
        let modified = UNIX_EPOCH.checked_add(Duration::from_secs(entry.modified));
        match modified.map_or(Ok(()), |modified| file.set_modified(modified)) {
            // Then it is fetched again the next time.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            set => set?,
        }
        Ok(fs::rename(part_of(target), target).await?)
    }
}

/// What a killed client loses at most, of each file.
const BUFFER: usize = 256 << 10;
