//! BBR version 1, as in Linux 5.x: the machine of [`v1`](super) with a cycle of eight phases.

use super::cycle::{CycleAck, GainCycle, Phase};
use super::machine::BbrV1;
use super::params::PARAMS;
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::{Rng, Timestamp};

/// BBR version 1 in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: EightPhases::NAME,
    aliases: &[],
    summary: "BBR version 1 (Linux 5.x tcp_bbr.c)",
    params: PARAMS,
    build: |params, setup| Box::new(BbrV1::<EightPhases>::new(params, setup)),
};

/// One phase up, one down, six to cruise, each as long as the minimum round-trip time
/// (`bbr_is_next_cycle_phase`).
#[derive(Debug)]
struct EightPhases {
    /// `cycle_idx`.
    index: u64,
    /// `cycle_mstamp`.
    since: Timestamp,
}

impl GainCycle for EightPhases {
    const NAME: &'static str = "bbr1";
    const ROUNDS_WINDOWS: bool = true;
    const EQUAL_RTT_REFRESHES: bool = true;

    fn new(now: Timestamp) -> Self {
        Self {
            index: 0,
            since: now,
        }
    }

    /// At any phase but the one that drains: there is nothing to drain yet.
    fn start(&mut self, now: Timestamp, rng: &mut Rng) {
        self.index = (PHASES - rng.below(PHASES - 1)) % PHASES;
        self.since = now;
    }

    fn on_ack(&mut self, ack: &CycleAck, _rng: &mut Rng) {
        if self.is_over(ack) {
            self.index = (self.index + 1) % PHASES;
            self.since = ack.now;
        }
    }

    fn phase(&self) -> Phase {
        match self.index {
            0 => Phase::Up,
            1 => Phase::Down,
            _ => Phase::Cruise,
        }
    }
}

impl EightPhases {
    /// The phase up lasts until its target is in flight, which takes longer than a round trip where
    /// bursts are a large part of it, or until a loss; the phase down until the queue is gone, but
    /// not longer than a round trip.
    fn is_over(&self, ack: &CycleAck) -> bool {
        let has_full_length = ack.now.since(self.since) > ack.min_rtt;
        match self.phase() {
            Phase::Up => {
                // `bbr_packets_in_net_at_edt`: with the burst that is about to leave.
                let inflight = ack.prior_inflight.saturating_add(ack.send_quantum);
                has_full_length && (ack.has_loss || inflight >= ack.target)
            }
            Phase::Down => has_full_length || ack.prior_inflight <= ack.target,
            Phase::Cruise => has_full_length,
        }
    }
}

/// `CYCLE_LEN`.
const PHASES: u64 = 8;

#[cfg(test)]
mod tests;
