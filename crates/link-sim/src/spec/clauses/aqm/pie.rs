use super::parameters::{set, write_changed};
use crate::spec::clauses::queue::Capacity;
use crate::spec::clauses::unsupported::{Unsupported, in_packets};
use crate::spec::error::SpecError;
use crate::spec::values::{POSITIVE_TIME, positive_time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::duration;

/// `aqm pie [target TIME] [tupdate TIME] [alpha N] [beta N] [ecn] [bytemode]` (RFC 8033, in
/// tc-pie's words).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pie {
    /// The delay that the queue is held at.
    pub(crate) target: Duration,
    /// How often the drop probability is computed anew.
    pub(crate) tupdate: Duration,
    /// Sixteenths per second by which the probability grows, for each second above the target.
    pub(crate) alpha: u32,
    /// Sixteenths by which it grows, for each second more of delay than at the last update.
    pub(crate) beta: u32,
    /// ECN-capable packets are marked instead of dropped, up to a probability of 10 %.
    pub(crate) ecn: bool,
    /// Packets smaller than a full frame are dropped more rarely.
    pub(crate) bytemode: bool,
}

impl Pie {
    /// Linux's (`include/net/pie.h`), which are those of RFC 8033, section 4.2, with 2/16 for
    /// 0.125 and 20/16 for 1.25.
    pub(crate) const DEFAULT: Self = Self {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        alpha: 2,
        beta: 20,
        ecn: false,
        bytemode: false,
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut pie = Self::DEFAULT;
        while let Some(word) = words.next_of(&WORDS) {
            match word.text {
                "target" => pie.target = words.value(POSITIVE_TIME, positive_time)?,
                "tupdate" => pie.tupdate = words.value(POSITIVE_TIME, positive_time)?,
                "alpha" => pie.alpha = words.value(SIXTEENTHS, sixteenths)?,
                "beta" => pie.beta = words.value(SIXTEENTHS, sixteenths)?,
                "bytemode" | "nobytemode" => pie.bytemode = word.text == "bytemode",
                flag => pie.ecn = flag == "ecn",
            }
        }
        Ok(pie)
    }

    /// What tc calls it; its defaults are these.
    pub(super) fn tc_words(&self, capacity: Capacity) -> Result<String, Unsupported> {
        let limit = in_packets(capacity, "pie")?;
        Ok(format!("pie limit {limit}{self}"))
    }
}

impl fmt::Display for Pie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::DEFAULT;
        let times = [
            ("target", self.target, usual.target),
            ("tupdate", self.tupdate, usual.tupdate),
        ];
        write_changed(f, duration::display, &times)?;
        let factors = [
            ("alpha", self.alpha, usual.alpha),
            ("beta", self.beta, usual.beta),
        ];
        write_changed(f, |factor| factor, &factors)?;
        let mut flags = set([("ecn", self.ecn), ("bytemode", self.bytemode)]);
        flags.try_for_each(|flag| write!(f, " {flag}"))
    }
}

fn sixteenths(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= MAX_SIXTEENTHS)
}

const WORDS: [&str; 8] = [
    "target",
    "tupdate",
    "alpha",
    "beta",
    "ecn",
    "noecn",
    "bytemode",
    "nobytemode",
];
const SIXTEENTHS: &str = "a whole number of sixteenths from 0 to 32";
/// tc's.
const MAX_SIXTEENTHS: u32 = 32;
