use super::delays::{DelayShare, RttMs};
use super::finite::Finite;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of a video's frames. Those of the last ten times `late_after_ms` before the end of
/// the measured part are not counted: they may still be on their way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Frames {
    /// What was sent: `video:4mbit,30fps,key=2s`.
    pub source: String,
    /// Frames that count.
    pub count: u64,
    /// Of these, those that the sender handed to the transport; `null` when it did not report.
    pub sent: Option<u64>,
    /// Those of which everything arrived within ten times `late_after_ms`.
    pub complete: u64,
    /// Of the complete ones, those that took longer than `late_after_ms`.
    pub late: u64,
    /// Those that are not complete.
    pub lost: u64,
    /// `late` and `lost` over `count`, 0 to 1; `null` when no frame counts.
    pub missed_share: Option<Finite>,
    /// When a frame is late, in milliseconds.
    pub late_after_ms: Finite,
    /// Time from making a frame to the arrival of its last datagram, of complete ones, in
    /// milliseconds.
    pub latency_ms: RttMs,
    /// The latencies behind it, in at most 64 points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_distribution: Vec<DelayShare>,
    /// The longest time without a complete frame, in milliseconds.
    pub longest_freeze_ms: Finite,
    /// How the clocks of both sides are related.
    pub clock: FrameClock,
}

/// Frames of a video in one interval. Each is counted when it is handed to the transport, and again
/// when it is found complete or lost: a lost one ten times `late_after_ms` after it was made. All
/// frames are in it, those of the warm-up and those that [`Frames`] leaves out at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Handed to the transport. Left out of the JSON in a receiver's rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Complete in time. Left out of the JSON, as the two that follow, where the receiver does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<u64>,
    /// Of the complete ones, those that took longer than `late_after_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

impl FrameCounts {
    /// The frames of two videos; what only one of them knows is that one's.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            sent: sum(self.sent, other.sent),
            complete: sum(self.complete, other.complete),
            late: sum(self.late, other.late),
            lost: sum(self.lost, other.lost),
        }
    }
}

/// How the times of making and arriving compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameClock {
    /// Both sides read one clock: latencies are exact.
    #[default]
    Shared,
    /// The fastest datagram is taken to have had half of the least round-trip time. Latencies are
    /// wrong by half of the difference between the two directions.
    HalfOfLeastRtt,
}

impl fmt::Display for FrameClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "both sides read one clock",
            Self::HalfOfLeastRtt => "one-way times estimated from half the minimum RTT",
        })
    }
}
