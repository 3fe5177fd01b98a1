use super::schema::to_json;
use super::{DelayShare, Finite, Frames, Round, iperf};
use serde::{Deserialize, Serialize};

/// One run of one controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Always `"run"`.
    pub kind: RunKind,
    /// Whether the run ended as planned.
    pub complete: bool,
    /// Why it did not; iperf3's top-level `error`. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// iperf3's `-T`. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the user has to say about it. Left out of the JSON when that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The command that measured it, without its options for output. Left out of the JSON when
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What random numbers were drawn from.
    pub seed: u64,
    /// Whether time was virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// The link in the data's direction, in netem's words; empty when nothing was shaped.
    pub link: String,
    /// The link in the other direction; empty when nothing was shaped.
    pub return_link: String,
    /// Who talked to whom about what, as iperf3 says it.
    pub start: iperf::Start,
    /// The interval rows, as iperf3 says them.
    pub intervals: Vec<iperf::Interval>,
    /// The closing rows, as iperf3 says them.
    pub end: iperf::End,
    /// The hashes of a file's transfer. Left out of the JSON when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// What the server has logged of the run, as iperf3's `--get-server-output` has it. Left out of
    /// the JSON when it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// UDP datagrams that the receiving machine's kernel dropped at the socket meanwhile. Left out
    /// of the JSON where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_socket_drops: Option<u64>,
    /// The largest buffer that the receiving machine gives a socket, in bytes (Linux's
    /// `net.core.rmem_max`). Left out of the JSON where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_socket_buffer_limit: Option<u64>,
    /// What requests took, with `--ping` or `--rpm`. Left out of the JSON when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RunRequests>,
    /// What became of the frames that the server sent, with `--bidir`; the others are in `result`.
    /// Left out of the JSON when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_bidir_reverse: Option<Frames>,
    /// The same run with everything that the A/B test compares.
    pub result: Round,
}

/// What requests and their answers took, on a stream of their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRequests {
    /// Whether payload was sent meanwhile, on the same connection.
    pub under_load: bool,
    /// From one request to the next.
    pub interval_ms: Finite,
    /// From a request to its answer.
    pub rtt_ms: RequestTimes,
    /// The same as a distribution.
    pub rtt_distribution: Vec<DelayShare>,
    /// Round trips per minute, after draft-ietf-ippm-responsiveness; `null` without an answer.
    pub responsiveness_rpm: Option<Finite>,
    /// What new connections took meanwhile, with `--rpm`; `null` elsewhere.
    pub foreign: Option<ForeignProbes>,
}

/// Connections that were made while another had the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ForeignProbes {
    /// How many came to nothing.
    pub failed: u32,
    /// Why the first of these did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// From the first packet to the end of the handshake.
    pub handshake_ms: RequestTimes,
    /// The first request on each.
    pub request_ms: RequestTimes,
}

/// Times in milliseconds; `null` of none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestTimes {
    /// How many there were.
    pub count: u64,
    /// The shortest.
    pub min: Option<Finite>,
    /// The median.
    pub p50: Option<Finite>,
    /// 95 % are at most this.
    pub p95: Option<Finite>,
    /// 99 % are at most this.
    pub p99: Option<Finite>,
    /// The longest.
    pub max: Option<Finite>,
    /// The mean of all but the slowest 5 %.
    pub trimmed_mean: Option<Finite>,
}

/// SHA-256 in hexadecimal of the payload at both ends; `null` at an end that did not come to its
/// last byte.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sha256 {
    /// Of what was sent.
    pub sender: Option<String>,
    /// Of what arrived.
    pub receiver: Option<String>,
}

impl RunResult {
    /// Whether the run was to send more than requests.
    pub fn has_payload(&self) -> bool {
        let requests = self.requests.as_ref();
        requests.is_none_or(|requests| requests.under_load) || self.result.bytes > 0
    }

    /// The JSON text, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The kind of a [`RunResult`]; a file of another kind is refused when it is read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RunKind {
    /// `"run"`.
    #[default]
    #[serde(rename = "run")]
    Run,
}
