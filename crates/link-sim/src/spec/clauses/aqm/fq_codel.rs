use super::codel::Codel;
use crate::spec::clauses::queue::Capacity;
use crate::spec::clauses::unsupported::{Unsupported, in_packets};
use crate::spec::error::SpecError;
use crate::spec::values::size;
use crate::spec::words::Words;
use core::fmt;
use units::Bytes;

/// `aqm fq_codel [flows N] [quantum SIZE]` and CoDel's parameters (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FqCodel {
    /// Queues that flows are hashed into.
    pub(crate) flows: u32,
    /// Bytes that a flow may send in its turn.
    pub(crate) quantum: Bytes,
    /// Of each queue.
    pub(crate) codel: Codel,
}

impl FqCodel {
    /// RFC 8290, section 5.2, with the quantum of an Ethernet device.
    pub(crate) const DEFAULT: Self = Self {
        flows: 1_024,
        quantum: Bytes::new(1_514),
        codel: Codel {
            ecn: true,
            ..Codel::DEFAULT
        },
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut fq_codel = Self::DEFAULT;
        while let Some(word) = words
            .next_of(&["flows", "quantum"])
            .or_else(|| words.next_of(&Codel::WORDS))
        {
            match word.text {
                "flows" => fq_codel.flows = words.value(FLOWS, flows)?,
                "quantum" => fq_codel.quantum = words.value(QUANTUM, quantum)?,
                name => fq_codel.codel.read_parameter(name, words)?,
            }
        }
        Ok(fq_codel)
    }

    /// What tc calls it; its defaults are these.
    pub(super) fn tc_words(&self, capacity: Capacity) -> Result<String, Unsupported> {
        let limit = in_packets(capacity, "fq_codel")?;
        Ok(format!("fq_codel limit {limit}{self}"))
    }
}

impl fmt::Display for FqCodel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.flows != Self::DEFAULT.flows {
            write!(f, " flows {}", self.flows)?;
        }
        if self.quantum != Self::DEFAULT.quantum {
            write!(f, " quantum {}", self.quantum)?;
        }
        self.codel.write_over(&Self::DEFAULT.codel, f)
    }
}

fn flows(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| (1..=MAX_FLOWS).contains(n))
}

fn quantum(text: &str) -> Option<Bytes> {
    size(text).filter(|size| (MIN_QUANTUM..=MAX_QUANTUM).contains(size))
}

const FLOWS: &str = "a number of flows from 1 to 65536";
const QUANTUM: &str = "a quantum from 256b to 1mb, such as 300b,";
/// sch_fq_codel's bounds. It raises a smaller quantum to the least one, with which a turn is at
/// most a few rounds.
const MAX_FLOWS: u32 = 65_536;
const MIN_QUANTUM: Bytes = Bytes::new(256);
const MAX_QUANTUM: Bytes = Bytes::new(1 << 20);
