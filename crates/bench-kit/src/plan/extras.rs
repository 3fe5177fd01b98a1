//! What a run does beside sending noise on streams.

use super::media::Media;
use paceline::Dscp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a run does beside sending noise on streams; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extras {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zeros: bool,
    /// Both sides hash the one stream of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub digest: bool,
    /// Bytes of the server's content that the client has already: it is sent from there on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub continued: u64,
    /// The server reports its rows, of this interval; zero is none but the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Datagrams carry the frames of a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Media>,
    /// The client times requests on a stream of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Where the server has as many runs as it takes, this one waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// The Differentiated Services codepoint of both sides' packets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dscp: u8,
    /// When a run that bytes limit ends without them, not counting what is omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Duration>,
    /// The windows begin as small as the transport's own, and follow the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub window_follows: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Time from one to the next, whether or not the first has its answer.
    pub interval: Duration,
    /// Whether the rest of the plan is carried out meanwhile.
    pub under_load: bool,
}

/// How long a run waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What its connections have in common: their turn is the same.
    pub run: u64,
    /// The longest wait.
    pub patience: Duration,
}

impl Extras {
    /// Whether nothing is sent but requests.
    pub fn is_idle(&self) -> bool {
        self.requests.is_some_and(|requests| !requests.under_load)
    }

    /// The Differentiated Services codepoint; none where the plan has none that is one.
    pub fn dscp(&self) -> Dscp {
        Dscp::new(self.dscp).unwrap_or_default()
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Bytes of each; `None` is as many as the path takes at the time.
    pub size: Option<u16>,
}
