//! BBRplus: [version 1](super::v1) whose probes drain to a target, in cycles of random length.
//!
//! Patches to Linux 4.14 that dog250 collected and cx9208 published in 2018, later carried to other
//! kernels by UJX6N (`net/ipv4/tcp_bbrplus.c`). What is known of them, and what was decided where
//! sources disagree, is in `docs/bbrplus.md`.

use super::v1::{self, BbrV1, CycleAck, GainCycle, Phase};
use crate::params::{ParamSpec, Value, with_default};
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::{Rng, Timestamp};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: DrainToTarget::NAME,
    aliases: &[],
    summary: "BBRplus: BBR version 1 that drains to a target (tcp_bbrplus.c for Linux 4.14)",
    params: &PARAMS,
    build: |params, setup| Box::new(BbrV1::<DrainToTarget>::new(params, setup)),
};

/// Up until the target is in flight, down until a BDP is, then cruising to the end of a cycle of 2
/// … 8 minimum round-trip times (`bbr_drain_to_target_cycling`).
#[derive(Debug)]
struct DrainToTarget {
    phase: Phase,
    /// When the cycle began: `cycle_mstamp`.
    since: Timestamp,
    /// Length of the cycle in minimum round-trip times: `cycle_len`. Zero before the first, which
    /// therefore begins with the next ACK.
    length: u64,
}

impl GainCycle for DrainToTarget {
    const NAME: &'static str = "bbrplus";
    const ROUNDS_WINDOWS: bool = false;
    const EQUAL_RTT_REFRESHES: bool = false;

    fn new(now: Timestamp) -> Self {
        Self {
            phase: Phase::Cruise,
            since: now,
            length: 0,
        }
    }

    /// As in BBR version 1 at a random one of seven phases, of which one probes. The length of the
    /// last cycle stays.
    fn start(&mut self, now: Timestamp, rng: &mut Rng) {
        let is_up = rng.below(LONGEST - 1) == 0;
        self.phase = if is_up { Phase::Up } else { Phase::Cruise };
        self.since = now;
    }

    fn on_ack(&mut self, ack: &CycleAck, rng: &mut Rng) {
        let elapsed = ack.now.since(self.since).as_nanos();
        let min_rtt = ack.min_rtt.as_nanos();
        if elapsed > min_rtt * u128::from(self.length) {
            // Whatever the phase was: the estimate must not age out before the next probe.
            self.phase = Phase::Up;
            self.since = ack.now;
            self.length = LONGEST - rng.below(LONGEST - SHORTEST + 1);
        } else if self.phase == Phase::Up && elapsed > min_rtt && is_filled(ack) {
            self.phase = Phase::Down;
        } else if self.phase == Phase::Down && ack.prior_inflight <= ack.target {
            self.phase = Phase::Cruise;
        }
    }

    fn phase(&self) -> Phase {
        self.phase
    }
}

/// Whether the target of the probe is in flight, or cannot be reached.
fn is_filled(ack: &CycleAck) -> bool {
    ack.prior_inflight >= ack.target || ack.has_loss || ack.is_app_limited
}

/// A cycle's length in minimum round-trip times: CYCLE_LEN less a random number below 7.
const LONGEST: u64 = 8;
const SHORTEST: u64 = 2;

const PARAMS: [ParamSpec; v1::PARAMS.len()] = with_default(
    v1::PARAMS,
    "extra_acked_rounds",
    Value::Count(10),
    "tcp_bbrplus.c, bbr_extra_acked_win_rtts",
);

#[cfg(test)]
mod tests;
