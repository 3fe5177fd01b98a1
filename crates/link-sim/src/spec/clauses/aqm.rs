//! `aqm NAME [PARAMETERS]`: the discipline of the queue before the bottleneck.

mod cake;
mod codel;
pub(crate) mod dualpi2;
mod fq_codel;
mod parameters;
mod pie;
pub(crate) mod red;

use super::queue::{Capacity, QueueLimit};
use super::unsupported::{Unsupported, in_packets};
use crate::spec::error::SpecError;
use crate::spec::words::{Word, Words};
pub(crate) use cake::Cake;
pub(crate) use codel::Codel;
use core::fmt;
pub(crate) use dualpi2::DualPi2;
pub(crate) use fq_codel::FqCodel;
pub(crate) use pie::Pie;
pub(crate) use red::Red;
use units::Bandwidth;

/// What a queue does about its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aqm {
    /// Nothing: what does not fit is dropped.
    DropTail,
    /// Nothing, but what does not fit pushes out the oldest.
    DropHead,
    Codel(Codel),
    Red(Red),
    Pie(Pie),
    DualPi2(DualPi2),
    FqCodel(FqCodel),
    Cake(Cake),
}

impl Aqm {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let word = words.expect(&format!("a queue discipline, one of {},", NAMES.join(", ")))?;
        match word.text {
            "droptail" => Ok(Self::DropTail),
            "drophead" => Ok(Self::DropHead),
            "codel" => Codel::read(words).map(Self::Codel),
            "red" => Red::read(words).map(Self::Red),
            "pie" => Pie::read(words).map(Self::Pie),
            "dualpi2" => DualPi2::read(words).map(Self::DualPi2),
            "fq_codel" => FqCodel::read(words).map(Self::FqCodel),
            "cake" => Cake::read(words).map(Self::Cake),
            _ => Err(unknown(words, word)),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::DropTail => "droptail",
            Self::DropHead => "drophead",
            Self::Codel(_) => "codel",
            Self::Red(_) => "red",
            Self::Pie(_) => "pie",
            Self::DualPi2(_) => "dualpi2",
            Self::FqCodel(_) => "fq_codel",
            Self::Cake(_) => "cake",
        }
    }

    /// What it holds before a bottleneck of this rate when no `queue` says how much: as in Linux,
    /// where sch_fifo takes the device's txqueuelen and the others have numbers of their own.
    pub(crate) fn default_limit(&self, rate: Bandwidth) -> QueueLimit {
        match self {
            Self::DropTail | Self::DropHead | Self::Codel(_) | Self::Red(_) | Self::Pie(_) => {
                QueueLimit::Packets(1_000)
            }
            Self::DualPi2(_) => QueueLimit::Packets(10_000),
            Self::FqCodel(_) => QueueLimit::Packets(10_240),
            Self::Cake(cake) => cake.default_limit(rate),
        }
    }

    pub(in crate::spec) fn tc_words(
        &self,
        capacity: Capacity,
        rate: Bandwidth,
    ) -> Result<String, Unsupported> {
        match self {
            Self::DropTail => Ok(match capacity {
                Capacity::Packets(packets) => format!("pfifo limit {packets}"),
                Capacity::Bytes(bytes) => format!("bfifo limit {}", bytes.get()),
            }),
            Self::DropHead => {
                let packets = in_packets(capacity, "pfifo_head_drop")?;
                Ok(format!("pfifo_head_drop limit {packets}"))
            }
            Self::Codel(codel) => codel.tc_words(capacity),
            Self::Red(red) => red.tc_words(capacity, rate),
            Self::Pie(pie) => pie.tc_words(capacity),
            Self::DualPi2(dual) => dual.tc_words(capacity),
            Self::FqCodel(fq_codel) => fq_codel.tc_words(capacity),
            Self::Cake(cake) => Ok(format!("cake unlimited {}", cake.tc_words(capacity)?)),
        }
    }

    /// Whether packets of one flow, or of one codepoint, may overtake those of another.
    pub(crate) const fn separates_flows(&self) -> bool {
        match self {
            Self::DropTail | Self::DropHead | Self::Codel(_) | Self::Red(_) | Self::Pie(_) => false,
            Self::DualPi2(_) | Self::FqCodel(_) | Self::Cake(_) => true,
        }
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::DropTail | Self::DropHead => Ok(()),
            Self::Codel(parameters) => parameters.fmt(f),
            Self::Red(parameters) => parameters.fmt(f),
            Self::Pie(parameters) => parameters.fmt(f),
            Self::DualPi2(parameters) => parameters.fmt(f),
            Self::FqCodel(parameters) => parameters.fmt(f),
            Self::Cake(parameters) => parameters.fmt(f),
        }
    }
}

fn unknown(words: &Words<'_>, word: Word<'_>) -> SpecError {
    let mut problem = format!("expected a queue discipline, one of {}", NAMES.join(", "));
    if let Some(near) = units::nearest(word.text, NAMES) {
        problem = format!("{problem}; did you mean `{near}`?");
    }
    words.error(word, problem)
}

pub(in crate::spec) const NAMES: [&str; 8] = [
    "droptail", "drophead", "codel", "fq_codel", "cake", "red", "pie", "dualpi2",
];
