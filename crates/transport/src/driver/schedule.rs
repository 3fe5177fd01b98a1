//! Departure times for the kernel: how far ahead packets may be handed over, and when.
//!
//! ```text
//!      now                  hand-over until here
//!       │   LEAD / 2   │   LEAD / 2   │
//!  ─────┼──●─────●─────┼●─────●─────●─┼──○─────○──▶ time
//!       │  batches that the kernel    │  not built yet; the wake-up is half a LEAD
//!       │  keeps until they leave     │  before the first of them
//! ```
//!
//! A batch is what the pacer permits at its departure, no smaller and no larger than without the
//! kernel, so the bound on bursts is the same, and so is the number of system calls.

use crate::dscp::Dscp;
use crate::kernel_pacing::{KernelPacing, NoKernelPacing};
use std::collections::VecDeque;
use std::time::Duration;
use units::Timestamp;

/// What the kernel is asked for a connection's packets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KernelOptions {
    pub(crate) pacing: KernelPacing,
    pub(crate) dscp: Dscp,
}

/// What has been handed to the kernel and is to leave later.
#[derive(Debug)]
pub(super) struct Schedule {
    mode: KernelPacing,
    /// Of all packets.
    pub(super) dscp: Dscp,
    /// Whether the kernel keeps departure times on the present path.
    verdict: Result<(), NoKernelPacing>,
    /// Departures that have not passed, in order.
    ahead: VecDeque<Timestamp>,
    /// The departure of the newest batch; none leaves before it.
    newest: Timestamp,
}

impl Schedule {
    pub(super) fn new(options: KernelOptions) -> Self {
        let KernelOptions { pacing: mode, dscp } = options;
        Self {
            mode,
            dscp,
            verdict: Err(match mode {
                KernelPacing::Off => NoKernelPacing::Off,
                KernelPacing::Auto | KernelPacing::On => NoKernelPacing::NotBegun,
            }),
            ahead: VecDeque::new(),
            newest: Timestamp::ZERO,
        }
    }

    pub(super) fn mode(&self) -> KernelPacing {
        self.mode
    }

    pub(super) fn verdict(&self) -> &Result<(), NoKernelPacing> {
        &self.verdict
    }

    /// What is scheduled stays so.
    pub(super) fn set_verdict(&mut self, verdict: Result<(), NoKernelPacing>) {
        self.verdict = verdict;
    }

    /// The earliest time for another batch: packets leave in the order of their numbers, because
    /// a receiver and a sender take what comes out of order for a loss.
    pub(super) fn earliest(&self, now: Timestamp) -> Timestamp {
        self.newest.max(now)
    }

    /// Until when packets may be handed over at `now`.
    pub(super) fn horizon(&mut self, now: Timestamp) -> Timestamp {
        while self.ahead.front().is_some_and(|at| *at <= now) {
            self.ahead.pop_front();
        }
        if self.verdict.is_err() || self.ahead.len() >= MAX_AHEAD {
            return now;
        }
        now + LEAD
    }

    /// When to build the batch that the pacer permits at `departure`, which is behind the horizon:
    /// in time for a timer that is late.
    pub(super) fn wake_up(&self, departure: Timestamp) -> Timestamp {
        if self.verdict.is_err() {
            return departure;
        }
        let early = Timestamp::from_nanos(departure.as_nanos().saturating_sub(LEAD_NANOS / 2));
        // With as many batches ahead as there may be, once half of them have left.
        match self.ahead.get(MAX_AHEAD / 2) {
            Some(half) if self.ahead.len() >= MAX_AHEAD => early.max(*half),
            _ => early,
        }
    }

    /// A batch has been handed over at `now` that leaves at `departure`.
    pub(super) fn on_handed_over(&mut self, now: Timestamp, departure: Timestamp) {
        self.newest = departure;
        if departure > now {
            self.ahead.push_back(departure);
        }
    }

    /// When the kernel is to send the newest batch; `None` is at once.
    pub(super) fn departure(&self, now: Timestamp) -> Option<Timestamp> {
        (self.newest > now).then_some(self.newest)
    }
}

const LEAD_NANOS: u64 = 1_000_000;

/// How long before they leave packets are handed over at most. Timers are late by 0.2 ms at p99;
/// half of this is the least that remains for them. It is also what Linux lets a TCP connection
/// keep in its qdisc (tcp_small_queue_check, `sk_pacing_shift` of 10): longer, and what is queued
/// would leave at a rate that congestion control has given up.
pub(super) const LEAD: Duration = Duration::from_nanos(LEAD_NANOS);

/// Batches handed over that have not left, at most. `fq` drops what a flow has beyond 100
/// (`flow_limit`), and a batch is one of them.
const MAX_AHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(pacing: KernelPacing) -> Schedule {
        Schedule::new(KernelOptions {
            pacing,
            ..KernelOptions::default()
        })
    }

    const fn micros(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    fn on() -> Schedule {
        let mut schedule = paced(KernelPacing::Auto);
        schedule.set_verdict(Ok(()));
        schedule
    }

    #[test]
    fn without_the_kernel_nothing_is_early() {
        let now = micros(5);
        let mut unable = paced(KernelPacing::Auto);
        unable.set_verdict(Err(NoKernelPacing::System));
        for mut schedule in [paced(KernelPacing::Off), unable] {
            assert_eq!(schedule.horizon(now), now);
            assert_eq!(schedule.earliest(now), now);
            assert_eq!(schedule.wake_up(micros(900)), micros(900));
            schedule.on_handed_over(now, now);
            assert_eq!(schedule.departure(now), None);
        }
    }

    #[test]
    fn packets_are_handed_over_a_millisecond_ahead_and_asked_for_half_of_that() {
        let mut schedule = on();
        assert_eq!(schedule.horizon(micros(10)), micros(1_010));
        assert_eq!(schedule.wake_up(micros(3_000)), micros(2_500));
    }

    #[test]
    fn no_packet_leaves_before_one_that_was_scheduled() {
        let mut schedule = on();
        schedule.on_handed_over(micros(10), micros(700));
        assert_eq!(schedule.earliest(micros(20)), micros(700));
        schedule.on_handed_over(micros(20), micros(700));
        assert_eq!(schedule.departure(micros(20)), Some(micros(700)));
        // A path without fq from now on: what is scheduled still goes first.
        schedule.set_verdict(Err(NoKernelPacing::Ignored));
        assert_eq!(schedule.earliest(micros(30)), micros(700));
        assert_eq!(schedule.earliest(micros(701)), micros(701));
    }

    #[test]
    fn no_more_batches_are_ahead_than_fq_takes_of_a_flow() {
        let mut schedule = on();
        let now = micros(1);
        for batch in 0..MAX_AHEAD as u64 {
            assert!(schedule.horizon(now) > now, "{batch}");
            schedule.on_handed_over(now, micros(10 * (batch + 1)));
        }
        assert_eq!(schedule.horizon(now), now);
        assert_eq!(schedule.wake_up(micros(650)), micros(330));
        // One has left.
        assert_eq!(schedule.horizon(micros(10)), micros(1_010));
    }
}
