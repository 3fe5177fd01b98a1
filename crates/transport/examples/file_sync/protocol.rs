//! The messages, one request to a stream.
//!
//! ```text
//!  client ── length, request ─────────────────────────▶ server
//!         ◀── length, reply [bytes from the offset on, SHA-256 of the whole file] ──
//! ```
//!
//! A length has four bytes, the most significant first; requests and replies are JSON. Every
//! length has a bound, whoever the peer is.

use super::causes::with_causes;
use paceline::{ConnectionError, ReadExactError, RecvStream, SendStream, WriteError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use thiserror::Error;

/// The application protocol: the handshake fails with any other.
pub(crate) const ALPN: &[u8] = b"file-sync/1";

/// All of them only read, or slow the client itself down, so that they may be sent with 0-RTT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The files at or below a path. The reply is [`Reply::Files`].
    List { path: String },
    /// A file from an offset on. The reply is [`Reply::File`].
    Get {
        path: String,
        offset: u64,
        /// What goes first: the greater.
        priority: i32,
    },
    /// The most that the server sends from now on, all streams together. The reply is
    /// [`Reply::Done`].
    MaxRate { bits_per_second: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    Files(Vec<Entry>),
    /// Behind it come `size` less the offset bytes, and 32 of the hash.
    File {
        size: u64,
    },
    Done,
    /// Why not, and what to do. To ask again will not help.
    Refused(String),
}

/// A file of the server's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// With `/` between names.
    pub(crate) path: String,
    /// In bytes.
    pub(crate) size: u64,
    /// When it was last changed, in whole seconds since 1970.
    pub(crate) modified: u64,
}

/// Why something did not come.
#[derive(Debug, Error)]
pub(crate) enum SyncError {
    /// It will not work the next time either.
    #[error("{0}")]
    Refused(String),
    /// On this machine.
    #[error("{0}")]
    Local(#[from] io::Error),
    /// The next attempt may have more luck.
    #[error("the transfer was interrupted: {0}")]
    Interrupted(String),
}

impl SyncError {
    /// Says where on this machine, and what to do, if that is where it is.
    pub(crate) fn at(self, path: &Path) -> Self {
        match self {
            Self::Local(error) => {
                let path = path.display();
                let text = format!("{path}: {error}; make room there, or change --into");
                Self::Local(io::Error::new(error.kind(), text))
            }
            other => other,
        }
    }
}

/// Both sides of the connection report what has happened to it in the same way.
macro_rules! interrupted_by {
    ($($error:ty),*) => {
        $(impl From<$error> for SyncError {
            fn from(error: $error) -> Self {
                Self::Interrupted(with_causes(&error))
            }
        })*
    };
}

interrupted_by!(
    ConnectionError,
    ReadExactError,
    WriteError,
    paceline::ReadError,
    paceline::ClosedStream
);

/// Sends a request or a reply.
pub(crate) async fn write(
    stream: &mut SendStream,
    message: &impl Serialize,
) -> Result<(), SyncError> {
    let json = serde_json::to_vec(message).map_err(io::Error::from)?;
    let length = u32::try_from(json.len()).ok();
    let length = length.filter(|length| *length <= MAX_REPLY);
    let length = length.ok_or_else(|| {
        SyncError::Refused(format!(
            "the answer has {} bytes, more than {MAX_REPLY}; ask for a smaller directory",
            json.len()
        ))
    })?;
    stream.write_all(&length.to_be_bytes()).await?;
    Ok(stream.write_all(&json).await?)
}

/// Receives a request or a reply of at most `limit` bytes.
pub(crate) async fn read<M: DeserializeOwned>(
    stream: &mut RecvStream,
    limit: u32,
) -> Result<M, SyncError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let length = u32::from_be_bytes(length);
    if length > limit {
        let text = format!("a message has {length} bytes; expected at most {limit}");
        return Err(SyncError::Refused(text));
    }
    let mut json = vec![0; length as usize];
    stream.read_exact(&mut json).await?;
    serde_json::from_slice(&json).map_err(|error| {
        SyncError::Refused(format!(
            "a message is not understood ({error}); use the same version on both sides"
        ))
    })
}

/// A path and a few numbers.
pub(crate) const MAX_REQUEST: u32 = 8 << 10;
/// A list of [`MAX_FILES`] files with usual names.
pub(crate) const MAX_REPLY: u32 = 16 << 20;
/// Of one list.
pub(crate) const MAX_FILES: usize = 100_000;
/// What is read, hashed and sent at a time.
pub(crate) const CHUNK: usize = 64 << 10;
