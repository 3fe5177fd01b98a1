//! iperf3's `start`, `intervals` and `end`, with iperf3's names and units: seconds, bytes, bits
//! per second, and round-trip times in **microseconds**.
//!
//! A figure that iperf3 leaves out when it has none is left out here too. Two words differ in
//! meaning. The congestion window and the round-trip time belong to the connection, so that all
//! streams of one connection show the same; and a `retransmits` counts QUIC packets declared lost,
//! for QUIC retransmits data and never packets.

use super::figures::{Figures, in_row};
use super::finite::Finite;
use super::frames::FrameCounts;
use serde::{Deserialize, Serialize};

/// Who talks to whom about what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Start {
    /// One entry per connection.
    pub connected: Vec<Connected>,
    /// The program and its version.
    pub version: String,
    /// The system, as `uname -a` says it.
    pub system_info: String,
    /// When the test began; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<StartTime>,
    /// What the client was asked to connect to.
    pub connecting_to: HostPort,
    /// The application's rate, in bits per second; 0 is unlimited.
    pub target_bitrate: u64,
    /// The plan.
    pub test_start: TestStart,
}

/// The two ends of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Connected {
    /// The number by which the rows name it.
    pub socket: u32,
    /// This side's address.
    pub local_host: String,
    /// This side's UDP port.
    pub local_port: u16,
    /// The other side's address.
    pub remote_host: String,
    /// The other side's UDP port.
    pub remote_port: u16,
}

/// When the test began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StartTime {
    /// The date and time in UTC, for a person.
    pub time: String,
    /// Whole seconds since 1970.
    pub timesecs: u64,
    /// Milliseconds since 1970.
    pub timemillisecs: u64,
}

/// A name or address, and a UDP port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostPort {
    /// As the user wrote it.
    pub host: String,
    /// The UDP port.
    pub port: u16,
}

/// The plan, with 0 or 1 for the switches as iperf3 has it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TestStart {
    /// `QUIC`.
    pub protocol: String,
    /// `-P`.
    pub num_streams: u32,
    /// `-l`: bytes of one write.
    pub blksize: u64,
    /// `-O`: seconds left out at the start.
    pub omit: Finite,
    /// `-t`: seconds; 0 when bytes limit the test.
    pub duration: Finite,
    /// `-n`: bytes; 0 when time limits the test.
    pub bytes: u64,
    /// `-k`: blocks; 0 when time or bytes limit the test.
    pub blocks: u64,
    /// `-R`: 1 when the server sends.
    pub reverse: u8,
    /// The type-of-service byte without its ECN bits.
    pub tos: u8,
    /// `-b`: bits per second; 0 is unlimited.
    pub target_bitrate: u64,
    /// `--bidir`: 1 when both sides send.
    pub bidir: u8,
    /// `-i`: seconds between rows.
    pub interval: Finite,
}

/// The rows of one interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// One row per stream, or per stream and direction with `--bidir`.
    pub streams: Vec<Row>,
    /// Their sum.
    pub sum: Row,
    /// The sum of the server's sending, with `--bidir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Row>,
    /// The requests that were answered in the interval, with `--ping` or `--rpm` (not in iperf3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestRow>,
}

/// What requests took that were answered in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestRow {
    /// How many there were.
    pub answered: u64,
    /// The fastest, in milliseconds.
    pub min_ms: Finite,
    /// The median, in milliseconds.
    pub median_ms: Finite,
    /// The slowest, in milliseconds.
    pub max_ms: Finite,
}

/// What one stream moved in one interval; the sum rows and the closing rows have the same form
/// without the figures that make no sense there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Row {
    /// The number of the stream; absent in a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<u32>,
    /// Seconds since the test began.
    pub start: Finite,
    /// Seconds since the test began.
    pub end: Finite,
    /// `end − start`, as measured.
    pub seconds: Finite,
    /// Payload moved.
    pub bytes: u64,
    /// `8 × bytes ÷ seconds`.
    pub bits_per_second: Finite,
    /// The sender's quantities; absent on a receiver, and those of the connection where it has
    /// several streams. iperf3 has `retransmits`, `snd_cwnd`, `rtt`, `rttvar` and `pmtu`.
    #[serde(flatten, with = "in_row")]
    pub figures: Figures,
    /// The largest congestion window of the test, in bytes; closing rows of a sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_snd_cwnd: Option<u64>,
    /// The largest smoothed round-trip time, in microseconds; closing rows of a sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<u64>,
    /// The smallest smoothed round-trip time, in microseconds; closing rows of a sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<u64>,
    /// The mean of the smoothed round-trip times, in microseconds; closing rows of a sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_rtt: Option<u64>,
    /// Whether the interval lies in the warm-up of `-O`; absent in closing rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// Whether the side that writes the result sent.
    pub sender: bool,
    /// Datagrams, with `-u`: a sender counts what it has sent, a receiver what it should have got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Jitter of the datagrams at the end, by RFC 3550 §6.4.1; the mean over streams in a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<Finite>,
    /// Datagrams that did not arrive, as the receiver can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<u64>,
    /// The same in percent of `packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<Finite>,
    /// Datagrams that arrived after one that was sent later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Frames of a video in an interval, in the row of its stream and in the sum (not in iperf3).
    /// Where the client sends, `complete`, `late` and `lost` are what the server had reported by
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameCounts>,
    /// The state of the controller at the end of an interval (not in iperf3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The closing rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct End {
    /// Each stream from both of its ends.
    pub streams: Vec<EndStream>,
    /// What became of the datagrams of `-u`, as iperf3 says it of UDP: the receiver's figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<Row>,
    /// What the sender counted.
    pub sum_sent: Row,
    /// What the receiver counted.
    pub sum_received: Row,
    /// What the server counted as sent, with `--bidir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Row>,
    /// What the client counted as received, with `--bidir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Row>,
    /// Processor time of both hosts, in percent of one core.
    pub cpu_utilization_percent: CpuUtilization,
    /// The controller of the side that sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_tcp_congestion: Option<String>,
    /// The controller of the side that received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_tcp_congestion: Option<String>,
}

/// One stream from both of its ends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EndStream {
    /// What its sender counted.
    pub sender: Row,
    /// What its receiver counted.
    pub receiver: Row,
}

/// Processor time in percent of one core; `null` when the other side did not report it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuUtilization {
    /// This side.
    pub host_total: Option<Finite>,
    /// This side's program.
    pub host_user: Option<Finite>,
    /// This side's kernel.
    pub host_system: Option<Finite>,
    /// The other side.
    pub remote_total: Option<Finite>,
    /// The other side's program.
    pub remote_user: Option<Finite>,
    /// The other side's kernel.
    pub remote_system: Option<Finite>,
}
