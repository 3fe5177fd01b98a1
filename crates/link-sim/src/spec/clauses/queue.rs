use crate::spec::error::SpecError;
use crate::spec::values::{RATE, RateText, SIZE, positive, rate, size};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// How much the queue before the bottleneck holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueLimit {
    /// Multiples of rate × base RTT.
    Bdp(Gain),
    Packets(u32),
    Bytes(Bytes),
}

impl QueueLimit {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        words.value(QUEUE, Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(multiple) = text.strip_suffix("bdp") {
            let multiple: Gain = multiple.parse().ok()?;
            let in_range = multiple > Gain::ZERO && multiple <= MAX_BDP && !text.contains('%');
            return in_range.then_some(Self::Bdp(multiple));
        }
        match text.strip_suffix('p') {
            Some(packets) => positive(packets).map(Self::Packets),
            None => size(text).map(Self::Bytes),
        }
    }

    /// What that is before a bottleneck of this rate on a path of this RTT.
    pub(crate) fn capacity(self, rate: Bandwidth, base_rtt: Duration) -> Capacity {
        match self {
            Self::Packets(packets) => Capacity::Packets(u64::from(packets)),
            Self::Bytes(bytes) => Capacity::Bytes(bytes),
            Self::Bdp(multiple) => Capacity::Bytes((rate * base_rtt * multiple).max(FULL_FRAME)),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(multiple) => write!(f, "{multiple}bdp"),
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capacity {
    Packets(u64),
    Bytes(Bytes),
}

/// `policer RATE burst SIZE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policer {
    pub(crate) rate: Bandwidth,
    /// What may pass at once.
    pub(crate) burst: Bytes,
}

impl Policer {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        Ok(Self {
            rate: words.value(RATE, rate)?,
            burst: words.named("burst", SIZE, size)?,
        })
    }
}

impl fmt::Display for Policer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} burst {}", RateText(self.rate), self.burst)
    }
}

/// What a queue in `bdp` holds at least: one full Ethernet frame, or nothing could ever wait.
pub(crate) const FULL_FRAME: Bytes = Bytes::new(1_514);
const QUEUE: &str = "a queue such as 1bdp, 0.5bdp, 100p (packets) or 250kb (bytes)";
const MAX_BDP: Gain = Gain::new(1_000, 1);
