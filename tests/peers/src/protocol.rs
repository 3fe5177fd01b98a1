//! What the program and its children tell each other, a line each.

use crate::machine::Usage;
use crate::settings::Settings;
use crate::stack::Name;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first line to a child: what it is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) stack: Name,
    pub(crate) settings: Settings,
    /// The server's, DER.
    pub(crate) certificate: Vec<u8>,
    pub(crate) role: Role,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    Server {
        /// PKCS #8, DER.
        key: Vec<u8>,
        welcome: Welcome,
    },
    Client {
        port: u16,
        job: Job,
    },
}

/// What the server does with a connection whose handshake is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// Answers the requests on its streams.
    Answer,
    /// Closes it, by which the client knows that both sides are done.
    Close,
}

/// The client's work.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Job {
    /// One stream. `is_checked`: every byte is compared, which costs time.
    Bulk {
        is_upload: bool,
        bytes: u64,
        is_checked: bool,
    },
    /// One byte there and back on one stream, one after the other.
    Ping { requests: u64 },
    /// Until `count` are done, so many at once.
    Handshakes { count: u64, at_once: u64 },
    /// A download on each for `time`, all at once, on one socket.
    Many { connections: u64, time: Duration },
    /// Opened, and left alone.
    Idle { connections: u64 },
}

/// A line from a child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The server's port.
    Listening(u16),
    /// The client is ready for [`GO`].
    Ready,
    /// The server's answer to [`SAMPLE`].
    Sample(Usage),
    /// The client has done its work.
    Done(Work),
    /// Why it ends.
    Failed(String),
}

/// What a client did between [`GO`] and its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) time: Duration,
    /// Bytes, requests, handshakes or connections.
    pub(crate) amount: u64,
    /// Of each connection, where there are many.
    pub(crate) shares: Vec<u64>,
    /// Of the requests.
    pub(crate) latency: Option<Latency>,
    /// The client's, before and after.
    pub(crate) usage: [Usage; 2],
}

/// Of requests, in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Latency {
    #[serde(rename = "p50_nanoseconds")]
    pub(crate) p50: u64,
    #[serde(rename = "p99_nanoseconds")]
    pub(crate) p99: u64,
}

/// Has the client begin.
pub(crate) const GO: &str = "go";
/// Asks the server what it has used.
pub(crate) const SAMPLE: &str = "sample";
