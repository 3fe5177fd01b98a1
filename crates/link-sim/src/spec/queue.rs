use super::SpecError;
use super::values::{RATE, RateText, SIZE, positive, rate, size};
use super::words::Words;
use core::fmt;
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
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
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

/// `policer RATE burst SIZE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policer {
    pub(crate) rate: Bandwidth,
    /// What may pass at once.
    pub(crate) burst: Bytes,
}

impl Policer {
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
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

const QUEUE: &str = "a queue such as 1bdp, 0.5bdp, 100p (packets) or 250kb (bytes)";
const MAX_BDP: Gain = Gain::new(1_000, 1);
