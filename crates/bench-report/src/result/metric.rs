use super::{Finite, Round};
use serde::{Deserialize, Serialize};

/// What an A/B test compares; the name in JSON carries the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Payload received per second, in bits per second.
    GoodputBitsPerSecond,
    /// The time that a transfer of a set size took, in seconds; other rounds have none.
    Seconds,
    /// Median round-trip time, in milliseconds.
    RttMsP50,
    /// 95th percentile of the round-trip time, in milliseconds.
    RttMsP95,
    /// 99th percentile of the round-trip time, in milliseconds.
    RttMsP99,
    /// Median time in queues, in milliseconds.
    QueueDelayMsP50,
    /// 95th percentile of the time in queues, in milliseconds.
    QueueDelayMsP95,
    /// 99th percentile of the time in queues, in milliseconds.
    QueueDelayMsP99,
    /// Packets declared lost over packets sent, copies apart, 0 to 1.
    LossRate,
    /// Payload sent more than once, in bytes.
    BytesRetransmitted,
    /// The sender's processor seconds per 10^9 bytes of payload received.
    CpuSecondsPerGigabyteSender,
    /// The receiver's processor seconds per 10^9 bytes of payload received.
    CpuSecondsPerGigabyteReceiver,
    /// Frames of a video that came late or not at all, over all that count, 0 to 1; rounds without
    /// a video have none.
    FramesMissed,
    /// Median time from making a frame to having all of it, in milliseconds.
    FrameLatencyMsP50,
    /// 95th percentile of this time, in milliseconds.
    FrameLatencyMsP95,
    /// 99th percentile of this time, in milliseconds.
    FrameLatencyMsP99,
    /// The longest time without a complete frame, in milliseconds.
    LongestFreezeMs,
}

impl Metric {
    /// Every metric, in the order of the tables.
    pub const ALL: [Self; 17] = [
        Self::GoodputBitsPerSecond,
        Self::Seconds,
        Self::RttMsP50,
        Self::RttMsP95,
        Self::RttMsP99,
        Self::QueueDelayMsP50,
        Self::QueueDelayMsP95,
        Self::QueueDelayMsP99,
        Self::LossRate,
        Self::BytesRetransmitted,
        Self::CpuSecondsPerGigabyteSender,
        Self::CpuSecondsPerGigabyteReceiver,
        Self::FramesMissed,
        Self::FrameLatencyMsP50,
        Self::FrameLatencyMsP95,
        Self::FrameLatencyMsP99,
        Self::LongestFreezeMs,
    ];

    /// This metric of `round`, in the metric's unit; `None` when the round does not have it.
    pub fn of(self, round: &Round) -> Option<Finite> {
        let (rtt, queue) = (&round.rtt_ms, &round.queue_delay_ms);
        match self {
            Self::GoodputBitsPerSecond => Finite::new(round.goodput_bits_per_second as f64),
            Self::Seconds => round.planned_bytes.map(|_| round.seconds),
            Self::RttMsP50 => rtt.p50,
            Self::RttMsP95 => rtt.p95,
            Self::RttMsP99 => rtt.p99,
            Self::QueueDelayMsP50 => queue.p50,
            Self::QueueDelayMsP95 => queue.p95,
            Self::QueueDelayMsP99 => queue.p99,
            Self::LossRate => {
                let copies = round.packets_copied.unwrap_or_default();
                Finite::ratio(
                    round.packets_lost?,
                    round.packets_sent?.saturating_sub(copies),
                )
            }
            Self::BytesRetransmitted => Finite::new(round.bytes_retransmitted? as f64),
            Self::CpuSecondsPerGigabyteSender => per_gigabyte(round.cpu_seconds_sender?, round),
            Self::CpuSecondsPerGigabyteReceiver => per_gigabyte(round.cpu_seconds_receiver?, round),
            Self::FramesMissed => round.frames.as_ref()?.missed_share,
            Self::FrameLatencyMsP50 => round.frames.as_ref()?.latency_ms.p50,
            Self::FrameLatencyMsP95 => round.frames.as_ref()?.latency_ms.p95,
            Self::FrameLatencyMsP99 => round.frames.as_ref()?.latency_ms.p99,
            Self::LongestFreezeMs => Some(round.frames.as_ref()?.longest_freeze_ms),
        }
    }

    /// Whether more of it is better.
    pub fn higher_is_better(self) -> bool {
        self == Self::GoodputBitsPerSecond
    }

    /// Its name in JSON, which carries the unit: `goodput_bits_per_second`.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a variant without fields is a name");
        name.as_str()
            .expect("a variant without fields is a name")
            .to_owned()
    }

    /// A name for people, at most 14 characters wide.
    pub fn label(self) -> &'static str {
        match self {
            Self::GoodputBitsPerSecond => "Goodput",
            Self::Seconds => "Time",
            Self::RttMsP50 => "RTT p50",
            Self::RttMsP95 => "RTT p95",
            Self::RttMsP99 => "RTT p99",
            Self::QueueDelayMsP50 => "Queue p50",
            Self::QueueDelayMsP95 => "Queue p95",
            Self::QueueDelayMsP99 => "Queue p99",
            Self::LossRate => "Loss",
            Self::BytesRetransmitted => "Retransmitted",
            Self::CpuSecondsPerGigabyteSender => "CPU sender",
            Self::CpuSecondsPerGigabyteReceiver => "CPU receiver",
            Self::FramesMissed => "Frames missed",
            Self::FrameLatencyMsP50 => "Frame p50",
            Self::FrameLatencyMsP95 => "Frame p95",
            Self::FrameLatencyMsP99 => "Frame p99",
            Self::LongestFreezeMs => "Freeze",
        }
    }
}

fn per_gigabyte(seconds: Finite, round: &Round) -> Option<Finite> {
    Finite::new(seconds.get() / (round.bytes as f64 / 1e9))
}
