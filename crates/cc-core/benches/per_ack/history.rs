//! One history for all: 100 Mbit/s, 40 ms, some loss, and ACKs for so many packets each.

use core::ops::RangeInclusive;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Rng, Timestamp};

/// How a receiver acknowledges, and what the path loses.
pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    /// Packets to an ACK.
    stretch: RangeInclusive<u64>,
    loss: Gain,
}

pub(crate) const PATTERNS: [Pattern; 3] = [
    Pattern {
        name: "ACK for every 2 packets, 0.1 % loss",
        // RFC 9000 §13.2.2.
        stretch: 2..=2,
        // A loss in three round trips: loss-based controllers spend most of the time growing.
        loss: Gain::new(1, 1_000),
    },
    Pattern {
        name: "ACK for 2 to 16 packets, 0.1 % loss",
        stretch: 2..=16,
        loss: Gain::new(1, 1_000),
    },
    Pattern {
        name: "ACK for 2 to 16 packets, 1 % loss",
        stretch: 2..=16,
        // Three losses in a round trip: loss-based controllers never leave recovery for long.
        loss: Gain::percent(1),
    },
];

/// What happens, in order of time. Packets have the numbers 0, 1, 2 …
pub(crate) struct History {
    pub(crate) steps: Vec<Step>,
}

pub(crate) enum Step {
    /// [`BATCH`] packets leave at once.
    Send { at: Timestamp },
    /// An ACK comes and tells of these packets.
    Ack {
        at: Timestamp,
        acked: Vec<usize>,
        lost: Vec<usize>,
    },
}

impl Step {
    fn at(&self) -> Timestamp {
        match self {
            Self::Send { at } | Self::Ack { at, .. } => *at,
        }
    }
}

impl History {
    /// Two and a half seconds, the same each time.
    pub(crate) fn record(pattern: &Pattern) -> Self {
        let mut rng = Rng::new(7);
        let batches = (0..PACKETS).step_by(BATCH);
        let mut steps: Vec<Step> = batches
            .map(|first| Step::Send {
                at: departure(first),
            })
            .collect();
        let (mut first, mut missing) = (0, Vec::new());
        while first < PACKETS {
            let (least, most) = (*pattern.stretch.start(), *pattern.stretch.end());
            let stretch = least + rng.below(most - least + 1);
            let end = (first + stretch as usize).min(PACKETS);
            let (lost, acked): (Vec<usize>, Vec<usize>) =
                (first..end).partition(|_| rng.chance(pattern.loss));
            if !acked.is_empty() {
                steps.push(Step::Ack {
                    at: departure(end - 1) + RTT,
                    acked,
                    // The packet threshold lets a loss be known with the next ACK.
                    lost: core::mem::take(&mut missing),
                });
            }
            missing.extend(lost);
            first = end;
        }
        steps.sort_by_key(Step::at);
        Self { steps }
    }

    /// Packets acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        let acked = self.steps.iter().map(|step| match step {
            Step::Send { .. } => 0,
            Step::Ack { acked, .. } => acked.len() as u64,
        });
        acked.sum()
    }
}

/// Packets leave in batches at the link's rate.
fn departure(number: usize) -> Timestamp {
    let before = (number - number % BATCH) as u64;
    Timestamp::ZERO + MSS * before / RATE
}

pub(crate) const MSS: Bytes = Bytes::new(1_472);
pub(crate) const RTT: Duration = Duration::from_millis(40);
const RATE: Bandwidth = Bandwidth::from_bits_per_sec(100_000_000);
/// A millisecond at this rate.
pub(crate) const BATCH: usize = 8;
const PACKETS: usize = 20_000;
/// Room for all packets in flight: 348 at most, and losses not yet known.
pub(crate) const RING: usize = 1_024;
