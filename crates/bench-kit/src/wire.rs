//! What the two programs say to each other: ALPN [`ALPN`], version 2.
//!
//! ```text
//! client                                            server
//!   │ opens a bidirectional stream: control           │
//!   │ ── Run(Plan) ─────────────────────────────────▶ │  checks it
//!   │ ◀──────────────── Waiting, Accepted or Refused ─│
//!   │ ══ unidirectional streams of payload, in either direction or both ══
//!   │ ◀────────────────────────── Samples, and so on ─│  its time series of the run
//!   │ ── Finished(SideReport) ──────────────────────▶ │
//!   │ ◀───────────────────────── Finished(SideReport) │
//!   │ closes the connection                           │
//! ```
//!
//! A message is its length in four bytes, big-endian, and that many bytes of JSON. Payload streams
//! hold nothing but payload; the n-th stream that a side opens is its stream n. A sender whose time
//! is over resets its streams with code 0; one whose bytes are sent finishes them.

use crate::plan::Plan;
use crate::sample::{Sample, SideReport};
use bench_report::text::line_of_peer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The protocol's name in the TLS handshake.
pub const ALPN: &[u8] = b"paceline-bench/2";

/// The code with which connections and streams are closed when nothing is wrong.
pub const DONE: u32 = 0;

/// The code with which a server closes a connection that broke the protocol.
pub const PROTOCOL_ERROR: u32 = 1;

/// The code with which a server closes its connections when it is stopped itself.
pub const SHUTDOWN: u32 = 2;

/// The code with which a server closes a connection that has not shown to know its token.
pub const UNAUTHORIZED: u32 = 3;

/// The most bytes of a message before the server knows what is wanted: the longest plan and more.
pub const MAX_FIRST_MESSAGE: u32 = 64 << 10;

/// From client to server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Shows that the client knows the server's token: before anything else, or not at all.
    Token(String),
    /// What to do; the first message but for the token.
    Run(Box<Plan>),
    /// The client's side is done; nothing follows.
    Finished(Box<SideReport>),
}

/// From server to client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Accepted,
    /// The run waits for its turn, and so many are ahead; to clients that ask for one.
    Waiting(u32),
    /// The plan will not be carried out; why, in a line for a person.
    Refused(String),
    /// How the run went at the server since the samples before.
    Samples(Vec<Sample>),
    /// The server's side is done; nothing follows.
    Finished(Box<SideReport>),
}

/// What the other side may say. Anybody may be the other side: what is read is checked first.
pub trait Message: DeserializeOwned {
    /// # Errors
    /// What is said cannot be true, in a line for a person.
    fn check(&self) -> Result<(), String>;
}

impl Message for Request {
    fn check(&self) -> Result<(), String> {
        match self {
            // The server's limits are those of the plan.
            Self::Token(_) | Self::Run(_) => Ok(()),
            Self::Finished(report) => report.check(),
        }
    }
}

impl Message for Reply {
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Accepted | Self::Waiting(_) | Self::Refused(_) => Ok(()),
            Self::Samples(samples) => samples.iter().try_for_each(Sample::check),
            Self::Finished(report) => report.check(),
        }
    }
}

pub async fn write_message(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<(), WireError> {
    let json = serde_json::to_vec(message).expect("keys are strings and every figure is finite");
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    if length > MAX_MESSAGE {
        return Err(WireError::TooLong {
            length,
            max: MAX_MESSAGE,
        });
    }
    to.write_all(&length.to_be_bytes()).await?;
    to.write_all(&json).await?;
    Ok(to.flush().await?)
}

/// Reads one message; `None` when the stream ends before it.
///
/// Memory is taken as bytes arrive, not as the length promises. Not cancellation-safe.
pub async fn read_message<T: Message>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<T>, WireError> {
    read_message_up_to(MAX_MESSAGE, from).await
}

/// The same for a message of at most `max` bytes, from a peer of whom nothing is known yet.
pub async fn read_message_up_to<T: Message>(
    max: u32,
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<T>, WireError> {
    let mut length = [0; 4];
    if from.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..]).await?;
    let length = u32::from_be_bytes(length);
    if length > max {
        return Err(WireError::TooLong { length, max });
    }
    let mut json = Vec::new();
    from.take(length.into()).read_to_end(&mut json).await?;
    if json.len() < length as usize {
        return Err(WireError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    let message: T = serde_json::from_slice(&json).map_err(WireError::NotAMessage)?;
    message.check().map_err(WireError::Impossible)?;
    Ok(Some(message))
}

/// The field that a peer did not know, if that is why it refused a message: servers of all versions
/// say so in these words.
pub fn unknown_field(reason: &str) -> Option<&str> {
    let (_, rest) = reason.split_once("unknown field `")?;
    let (field, _) = rest.split_once('`')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    (!field.is_empty() && field.len() <= LONGEST_NAME && field.chars().all(is_name))
        .then_some(field)
}

/// Why a message was not read or written.
#[derive(Debug)]
pub enum WireError {
    TooLong {
        length: u32,
        max: u32,
    },
    /// The bytes are not JSON, or not of a message.
    NotAMessage(serde_json::Error),
    /// The message says what cannot be.
    Impossible(String),
    Io(io::Error),
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length, max } => write!(
                f,
                "control message of {length} bytes too long: at most {max} allowed"
            ),
            Self::NotAMessage(error) => match unknown_field(&error.to_string()) {
                Some(field) => write!(
                    f,
                    "message of a newer version: unknown field `{field}`; use the same version on \
                     both sides"
                ),
                None => {
                    let error = line_of_peer(&error.to_string());
                    write!(f, "malformed control message: {error}")
                }
            },
            Self::Impossible(what) => write!(f, "impossible value in a control message: {what}"),
            Self::Io(error) => write!(f, "control stream failed: {error}"),
        }
    }
}

/// Longer than the name of any field.
const LONGEST_NAME: usize = 40;

/// The samples of a minute for the most streams fit in.
const MAX_MESSAGE: u32 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut bytes: &[u8]) -> Result<Option<Reply>, String> {
        read_message(&mut bytes)
            .await
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn messages_come_out_as_they_went_in() {
        let mut stream = Vec::new();
        let messages = [
            Reply::Accepted,
            Reply::Refused("too many clients".to_owned()),
            Reply::Finished(Box::default()),
        ];
        for message in &messages {
            write_message(&mut stream, message).await.unwrap();
        }
        let mut stream = stream.as_slice();
        for message in &messages {
            let read: Reply = read_message(&mut stream).await.unwrap().unwrap();
            assert_eq!(read, *message);
        }
        assert!(read_message::<Reply>(&mut stream).await.unwrap().is_none());
    }

    #[test]
    fn a_field_of_a_newer_version_is_named() {
        let run = br#"{"run":{"direction":"forward","a_later_part":1}}"#;
        let error = serde_json::from_slice::<Request>(run).unwrap_err();
        let error = WireError::NotAMessage(error).to_string();
        assert_eq!(
            error,
            "message of a newer version: unknown field `a_later_part`; use the same version on \
             both sides"
        );
        // Of servers before this wording, and of this one.
        let old = "malformed control message: unknown field `media`, expected one of `zeros`";
        assert_eq!(unknown_field(old), Some("media"));
        assert_eq!(unknown_field(&error), Some("a_later_part"));
        for other in [
            "",
            "unknown field `",
            "unknown field ``",
            "unknown field `\n`",
        ] {
            assert_eq!(unknown_field(other), None);
        }
    }

    #[tokio::test]
    async fn malformed_messages_are_refused_with_their_fault() {
        assert_eq!(
            read(&[0xff; 8]).await.unwrap_err(),
            "control message of 4294967295 bytes too long: at most 4194304 allowed"
        );
        let garbage = read(b"\0\0\0\x03{x}").await.unwrap_err();
        assert!(
            garbage.starts_with("malformed control message: "),
            "{garbage}"
        );
        let late = SideReport {
            measured: std::time::Duration::MAX,
            ..SideReport::default()
        };
        let mut stream = Vec::new();
        let finished = Reply::Finished(Box::new(late));
        write_message(&mut stream, &finished).await.unwrap();
        assert_eq!(
            read(&stream).await.unwrap_err(),
            "impossible value in a control message: a length of 18446744073709551615 s"
        );
        let other = read(b"\0\0\0\x0b{\"run\":null}").await.unwrap_err();
        assert!(other.contains("unknown variant `run`"), "{other}");
        for cut in [&b"\0"[..], b"\0\0\0", b"\0\0\0\x09{\"ref"] {
            let error = read(cut).await.unwrap_err();
            assert!(error.starts_with("control stream failed: "), "{error}");
        }
        assert_eq!(read(b"").await, Ok(None));
    }
}
