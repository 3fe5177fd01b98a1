use crate::spec::clauses::queue::{Capacity, QueueLimit};
use crate::spec::clauses::unsupported::{Unsupported, in_bytes};
use crate::spec::error::SpecError;
use crate::spec::values::{POSITIVE_TIME, positive_time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::{Bandwidth, Bytes, duration};

/// `aqm cake [rtt TIME]`: sch_cake with one tin (`besteffort`) and isolation of flows (`flows`).
/// Its shaper is whatever serves the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cake {
    /// The usual RTT, from which all times follow.
    pub(crate) rtt: Duration,
}

impl Cake {
    /// tc-cake's preset `internet`.
    pub(crate) const DEFAULT: Self = Self {
        rtt: Duration::from_millis(100),
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut cake = Self::DEFAULT;
        while words.next_of(&["rtt"]).is_some() {
            cake.rtt = words.value(POSITIVE_TIME, positive_time)?;
        }
        Ok(cake)
    }

    /// Four bandwidth-delay products, within bounds (Linux 6.18, `cake_reconfigure`).
    pub(super) fn default_limit(self, rate: Bandwidth) -> QueueLimit {
        let four_bdp = rate * (4 * self.rtt);
        QueueLimit::Bytes(four_bdp.clamp(MIN_MEMORY, MAX_MEMORY))
    }

    /// What tc calls it, its shaper left out. The memory that tc limits is the kernel's.
    pub(in crate::spec) fn tc_words(self, capacity: Capacity) -> Result<String, Unsupported> {
        let memory = in_bytes(capacity, "cake")?;
        Ok(format!("besteffort flows{self} memlimit {memory}"))
    }
}

impl fmt::Display for Cake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DEFAULT {
            return Ok(());
        }
        write!(f, " rtt {}", duration::display(self.rtt))
    }
}

const MIN_MEMORY: Bytes = Bytes::new(4 << 20);
/// 10,240 packets of Ethernet's size.
const MAX_MEMORY: Bytes = Bytes::new(10_240 * 1_514);
