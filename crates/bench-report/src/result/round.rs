use super::delays::{DelayShare, RttMs};
use super::figures::{Figures, in_interval};
use super::finite::Finite;
use super::frames::{FrameCounts, Frames};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// One transfer by one controller: the sum over its streams and connections.
///
/// Figures of the sender are `null` when the sender was the other side and did not live to report
/// them. A round that failed keeps what was measured until then.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Round {
    /// The block of the schedule this round belongs to, from 0; rounds of one block form a pair.
    #[serde(default)]
    pub block: u32,
    /// The place of this round in the order in which all rounds ran, from 0.
    #[serde(default)]
    pub order: u32,
    /// The controller that sent, as the registry reads it.
    #[serde(default)]
    pub congestion: String,
    /// How many streams the figures are the sum of.
    #[serde(default)]
    pub streams: u32,
    /// Why the round failed, for a person; `null` when it did not.
    pub error: Option<String>,
    /// The time measured, without what was omitted at the start.
    pub seconds: Finite,
    /// The payload after which the round was to end: `seconds` is the time that this took, or the
    /// most that it was given. Left out of the JSON where time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_bytes: Option<u64>,
    /// Payload that the receiving application got.
    pub bytes: u64,
    /// `bytes` over `seconds`, in bits per second.
    pub goodput_bits_per_second: u64,
    /// QUIC packets sent, probes and copies included.
    pub packets_sent: Option<u64>,
    /// Of these, those that a duplicating sender put on the wire once more. Left out of the JSON
    /// where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_copied: Option<u64>,
    /// QUIC packets declared lost.
    pub packets_lost: Option<u64>,
    /// Of these, those that have arrived after all: they were late. `null` when it is not known.
    #[serde(default)]
    pub packets_spuriously_lost: Option<u64>,
    /// Payload sent more than once.
    pub bytes_retransmitted: Option<u64>,
    /// Packets that arrived with the mark Congestion Experienced.
    pub ecn_ce_packets: Option<u64>,
    /// Round-trip times as the sender's samples give them.
    pub rtt_ms: RttMs,
    /// Time that packets spent in queues.
    pub queue_delay_ms: QueueDelayMs,
    /// Where `queue_delay_ms` comes from; `null` when it is not known.
    pub queue_delay_source: Option<QueueDelaySource>,
    /// The samples behind `rtt_ms`: at most 64 points, most of them in the tail, the last the
    /// longest. Left out of the JSON when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rtt_distribution: Vec<DelayShare>,
    /// Those behind `queue_delay_ms`, where the emulated link timed them. Left out of the JSON
    /// when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_delay_distribution: Vec<DelayShare>,
    /// The share, 0 to 1, of the packets that the emulated link sent over 1 ms late, where these
    /// were more than one in a thousand: the machine was busy, and the link another one than was
    /// asked for. Left out of the JSON elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_late: Option<Finite>,
    /// What became of the frames, where the payload is a video. Left out of the JSON where it is
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// Processor time of the sending side, in seconds, user and system.
    pub cpu_seconds_sender: Option<Finite>,
    /// Processor time of the receiving side, in seconds, user and system.
    pub cpu_seconds_receiver: Option<Finite>,
    /// What held the sender back.
    pub limited_by: Option<LimitedBy>,
    /// The time series of the round.
    pub intervals: Vec<Interval>,
}

impl Round {
    /// Whether the round ended without an error, so that its figures count.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    /// Whether so many packets left the emulated link late that other figures than those of a quiet
    /// machine are to be expected.
    pub fn was_on_busy_machine(&self) -> bool {
        self.link_late.is_some_and(|share| share.get() >= BUSY_LINK)
    }

    /// Says that each packet of the sender was on the wire so many times: copies were made of all
    /// that it sent.
    pub fn count_copies(&mut self, times: u32) {
        if let (2.., Some(sent)) = (times, &mut self.packets_sent) {
            let copies = sent.saturating_mul(u64::from(times - 1));
            self.packets_copied = Some(copies);
            *sent += copies;
        }
    }
}

/// Quantiles of the time spent in queues, in milliseconds; `null` without a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueDelayMs {
    /// The median.
    pub p50: Option<Finite>,
    /// 95 % of the samples are at most this.
    pub p95: Option<Finite>,
    /// 99 % of the samples are at most this.
    pub p99: Option<Finite>,
}

/// How time in queues was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueDelaySource {
    /// The emulated link timed each packet in the queue before its bottleneck.
    Link,
    /// The sender took the least round-trip time of the connection for that of the empty path, and
    /// what its samples had above it for the queues', jitter and the peer's delays included.
    RttAboveLeast,
}

impl fmt::Display for QueueDelaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "measured in the emulated link's queue",
            Self::RttAboveLeast => "RTT above the minimum RTT",
        })
    }
}

/// The share of the time, 0 to 1, that each limit was the one that held. The sum is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LimitedBy {
    /// The application had nothing to send.
    pub application: Finite,
    /// The congestion window was full.
    pub congestion_window: Finite,
    /// The pacer had no tokens.
    pub pacing: Finite,
    /// The peer's flow-control window was full.
    pub flow_control: Finite,
    /// The sender itself was busy or its socket was full.
    pub host: Finite,
}

impl LimitedBy {
    /// Shares of the sum of these times; `None` when all are zero.
    pub fn from_times(times: LimitedTimes) -> Option<Self> {
        let nanos = units::duration::nanos;
        let total = times
            .parts()
            .into_iter()
            .fold(0_u64, |sum, time| sum.saturating_add(nanos(time)));
        let share = |time| Finite::ratio(nanos(time), total);
        Some(Self {
            application: share(times.application)?,
            congestion_window: share(times.congestion_window)?,
            pacing: share(times.pacing)?,
            flow_control: share(times.flow_control)?,
            host: share(times.host)?,
        })
    }
}

/// How long each limit was the one that held; see [`LimitedBy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LimitedTimes {
    /// The application had nothing to send.
    pub application: Duration,
    /// The congestion window was full.
    pub congestion_window: Duration,
    /// The pacer had no tokens.
    pub pacing: Duration,
    /// The peer's flow-control window was full.
    pub flow_control: Duration,
    /// The sender itself was busy or its socket was full.
    pub host: Duration,
}

impl LimitedTimes {
    /// The five times.
    pub fn parts(self) -> [Duration; 5] {
        [
            self.application,
            self.congestion_window,
            self.pacing,
            self.flow_control,
            self.host,
        ]
    }

    /// The sum over two connections.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            application: self.application.saturating_add(other.application),
            congestion_window: self
                .congestion_window
                .saturating_add(other.congestion_window),
            pacing: self.pacing.saturating_add(other.pacing),
            flow_control: self.flow_control.saturating_add(other.flow_control),
            host: self.host.saturating_add(other.host),
        }
    }
}

/// One sample of a round's time series; sums over connections where there are several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The end of the interval, in seconds since the transfer began.
    pub t: Finite,
    /// The length of the interval.
    #[serde(default)]
    pub seconds: Finite,
    /// Whether the interval belongs to the warm-up that the figures leave out.
    #[serde(default)]
    pub omitted: bool,
    /// Payload that arrived in the interval, in bits per second.
    pub goodput_bits_per_second: u64,
    /// The sender's quantities, by their [names](super::Quantity::name).
    #[serde(flatten, with = "in_interval")]
    pub sender: Figures,
    /// The controller's state at the end, in its own words: `Startup`, `ProbeBW_CRUISE`; `null`
    /// where it has none or the connections differ.
    pub state: Option<String>,
    /// What became of datagrams in the interval. Left out of the JSON where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<IntervalDatagrams>,
    /// Frames of a video in the interval, by each side's own time. Left out of the JSON where there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameCounts>,
}

/// What became of the datagrams of one interval, as their receiver can tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct IntervalDatagrams {
    /// Those that should have arrived.
    pub packets: u64,
    /// Of these, those that did not.
    pub lost: u64,
    /// Jitter at the end, by RFC 3550 §6.4.1; the mean over streams.
    pub jitter_ms: Finite,
}

/// From this share of late packets on, the 99th percentile of a delay is that of the machine.
const BUSY_LINK: f64 = 0.01;
