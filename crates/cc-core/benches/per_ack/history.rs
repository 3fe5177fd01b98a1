//! One history for all: 100 Mbit/s, 40 ms, 1 % loss, ACKs for two to sixteen packets.

use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Rng, Timestamp};

/// What happens, in order of time. Packets have the numbers 0, 1, 2 …
pub(crate) struct History {
    pub(crate) steps: Vec<Step>,
}

pub(crate) enum Step {
    /// Packets leave in one batch.
    Send { at: Timestamp, packets: usize },
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
            Self::Send { at, .. } | Self::Ack { at, .. } => *at,
        }
    }
}

impl History {
    /// Two and a half seconds, the same each time.
    pub(crate) fn record() -> Self {
        let mut rng = Rng::new(7);
        let sent_at: Vec<Timestamp> = (0..PACKETS).map(departure).collect();
        let batches = (0..PACKETS).step_by(BATCH);
        let mut steps: Vec<Step> = batches
            .map(|first| Step::Send {
                at: sent_at[first],
                packets: BATCH,
            })
            .collect();
        let (mut first, mut missing) = (0, Vec::new());
        while first < PACKETS {
            let stretch = 2 + rng.below(15) as usize;
            let end = (first + stretch).min(PACKETS);
            let (lost, acked): (Vec<usize>, Vec<usize>) =
                (first..end).partition(|_| rng.chance(Gain::percent(1)));
            if !acked.is_empty() {
                steps.push(Step::Ack {
                    at: sent_at[end - 1] + RTT,
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
const BATCH: usize = 8;
const PACKETS: usize = 20_000;
