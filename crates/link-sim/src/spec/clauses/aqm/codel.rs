use super::parameters::write_changed;
use crate::spec::clauses::queue::Capacity;
use crate::spec::clauses::unsupported::{Unsupported, in_packets};
use crate::spec::error::SpecError;
use crate::spec::values::{POSITIVE_TIME, TIME, positive_time, time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::duration;

/// `aqm codel [target TIME] [interval TIME] [ecn|noecn] [ce_threshold TIME]` (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codel {
    /// The delay that a standing queue may have.
    pub(crate) target: Duration,
    /// How long it may be exceeded: an RTT of the slowest usual path.
    pub(crate) interval: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub(crate) ecn: bool,
    /// ECN-capable packets that waited longer are marked, whatever the control law says.
    pub(crate) ce_threshold: Option<Duration>,
}

impl Codel {
    /// RFC 8289, sections 4.2 and 4.3.
    pub(crate) const DEFAULT: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
        ce_threshold: None,
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut codel = Self::DEFAULT;
        while let Some(word) = words.next_of(&Self::WORDS) {
            codel.read_parameter(word.text, words)?;
        }
        Ok(codel)
    }

    /// Reads what follows `name`, one of [`WORDS`](Self::WORDS).
    pub(super) fn read_parameter(
        &mut self,
        name: &str,
        words: &mut Words<'_>,
    ) -> Result<(), SpecError> {
        match name {
            "target" => self.target = words.value(POSITIVE_TIME, positive_time)?,
            "interval" => self.interval = words.value(POSITIVE_TIME, positive_time)?,
            "ce_threshold" => self.ce_threshold = Some(words.value(TIME, time)?),
            flag => self.ecn = flag == "ecn",
        }
        Ok(())
    }

    /// Writes what differs from `default`.
    pub(super) fn write_over(&self, default: &Self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = [
            ("target", self.target, default.target),
            ("interval", self.interval, default.interval),
        ];
        write_changed(f, duration::display, &times)?;
        if self.ecn != default.ecn {
            f.write_str(if self.ecn { " ecn" } else { " noecn" })?;
        }
        match self.ce_threshold {
            Some(threshold) => write!(f, " ce_threshold {}", duration::display(threshold)),
            None => Ok(()),
        }
    }

    pub(super) const WORDS: [&str; 5] = ["target", "interval", "ecn", "noecn", "ce_threshold"];

    /// What tc calls it; its defaults are these.
    pub(super) fn tc_words(&self, capacity: Capacity) -> Result<String, Unsupported> {
        let limit = in_packets(capacity, "codel")?;
        Ok(format!("codel limit {limit}{self}"))
    }
}

impl fmt::Display for Codel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_over(&Self::DEFAULT, f)
    }
}
