//! The cycle of gains in ProbeBW, in which controllers of this machine differ.

use core::fmt;
use core::time::Duration;
use units::{Bytes, Rng, Timestamp};

/// How a flow cycles through pacing gains in ProbeBW.
pub(crate) trait GainCycle: fmt::Debug + Send {
    /// Registry name of the controller that this makes.
    const NAME: &'static str;

    /// Whether windows are whole pairs of packets, with a pair more while a cycle probes
    /// (`bbr_quantization_budget`).
    const ROUNDS_WINDOWS: bool;

    /// Whether a sample equal to the minimum renews it.
    const EQUAL_RTT_REFRESHES: bool;

    /// Before ProbeBW is entered for the first time.
    fn new(now: Timestamp) -> Self;

    /// ProbeBW is entered or its cycle begins anew (`bbr_reset_probe_bw_mode`).
    fn start(&mut self, now: Timestamp, rng: &mut Rng);

    /// An ACK came in ProbeBW (`bbr_update_cycle_phase`).
    fn on_ack(&mut self, ack: &CycleAck, rng: &mut Rng);

    /// Where the cycle is.
    fn phase(&self) -> Phase;
}

/// An ACK as a [`GainCycle`] sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CycleAck {
    pub(crate) now: Timestamp,
    /// Zero while none is known.
    pub(crate) min_rtt: Duration,
    /// Bytes in flight before the ACK.
    pub(crate) prior_inflight: Bytes,
    /// The largest burst.
    pub(crate) send_quantum: Bytes,
    /// The phase's target of bytes in flight: its gain × BDP in [`Phase::Up`], the BDP otherwise.
    pub(crate) target: Bytes,
    /// Whether the ACK reports a loss.
    pub(crate) has_loss: bool,
    /// Whether the acknowledged packet was, or the next one would be, application-limited.
    pub(crate) is_app_limited: bool,
}

/// A phase of ProbeBW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Faster than the bandwidth, to see whether there is more.
    Up,
    /// Slower, to drain the queue of [`Phase::Up`].
    Down,
    /// At the bandwidth.
    Cruise,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::controller_driver::{RTT, at};

    /// An ACK in ProbeBW at a min_rtt of [`RTT`], of a flow that holds `prior_inflight` bytes of
    /// its phase's target of 100,000.
    pub(crate) fn cycle_ack(millis: u64, prior_inflight: u64) -> CycleAck {
        CycleAck {
            now: at(millis),
            min_rtt: RTT,
            prior_inflight: Bytes::new(prior_inflight),
            send_quantum: Bytes::new(3_000),
            target: Bytes::new(100_000),
            has_loss: false,
            is_app_limited: false,
        }
    }
}
