use crate::spec::SpecError;
use crate::spec::values::{POSITIVE_TIME, positive_time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::duration;

/// `aqm codel [target TIME] [interval TIME] [ecn]` (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codel {
    /// The delay that a standing queue may have.
    pub(crate) target: Duration,
    /// How long it may be exceeded: an RTT of the slowest usual path.
    pub(crate) interval: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub(crate) ecn: bool,
}

impl Codel {
    /// RFC 8289, sections 4.2 and 4.3.
    pub(crate) const DEFAULT: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut codel = Self::DEFAULT;
        while let Some(word) = words.next_of(&["target", "interval", "ecn", "noecn"]) {
            match word.text {
                "target" => codel.target = words.value(POSITIVE_TIME, positive_time)?,
                "interval" => codel.interval = words.value(POSITIVE_TIME, positive_time)?,
                flag => codel.ecn = flag == "ecn",
            }
        }
        Ok(codel)
    }
}

impl fmt::Display for Codel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value, default) in [
            ("target", self.target, Self::DEFAULT.target),
            ("interval", self.interval, Self::DEFAULT.interval),
        ] {
            if value != default {
                write!(f, " {name} {}", duration::display(value))?;
            }
        }
        if self.ecn {
            f.write_str(" ecn")
        } else {
            Ok(())
        }
    }
}
