use super::delay::Distribution;
use crate::spec::error::SpecError;
use crate::spec::values::{
    PACKETS, POSITIVE_TIME, SIZE, TIME, positive, positive_time, size, time,
};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::{Bytes, duration};

/// `slot MIN [MAX] [packets N] [bytes SIZE]`, or `slot distribution NAME TIME JITTER …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) interval: SlotInterval,
    pub(crate) packets: Option<u32>,
    pub(crate) bytes: Option<Bytes>,
}

/// How far slots are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotInterval {
    Between(Duration, Duration),
    Distributed(Distribution, Duration, Duration),
}

impl Slot {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut slot = Self {
            interval: SlotInterval::read(words)?,
            packets: None,
            bytes: None,
        };
        while let Some(word) = words.next_of(&["packets", "bytes"]) {
            match word.text {
                "packets" => slot.packets = Some(words.value(PACKETS, positive)?),
                _ => slot.bytes = Some(words.value(SIZE, size)?),
            }
        }
        Ok(slot)
    }
}

impl SlotInterval {
    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        if words.next_of(&["distribution"]).is_some() {
            let distribution = Distribution::read(words)?;
            let mean = words.value(POSITIVE_TIME, positive_time)?;
            let jitter = words.value("a jitter such as 10ms", time)?;
            return Ok(Self::Distributed(distribution, mean, jitter));
        }
        let min = words.value(POSITIVE_TIME, positive_time)?;
        let max = words.value_if_any(TIME, time)?.unwrap_or(min);
        if max < min {
            return Err(words.error(
                words.last,
                "the maximum distance of slots is below the minimum",
            ));
        }
        Ok(Self::Between(min, max))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.interval.fmt(f)?;
        if let Some(packets) = self.packets {
            write!(f, " packets {packets}")?;
        }
        match self.bytes {
            Some(bytes) => write!(f, " bytes {bytes}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for SlotInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Between(min, max) if min == max => duration::display(min).fmt(f),
            Self::Between(min, max) => {
                write!(f, "{} {}", duration::display(min), duration::display(max))
            }
            Self::Distributed(distribution, mean, jitter) => {
                let (mean, jitter) = (duration::display(mean), duration::display(jitter));
                write!(f, "distribution {} {mean} {jitter}", distribution.name())
            }
        }
    }
}
