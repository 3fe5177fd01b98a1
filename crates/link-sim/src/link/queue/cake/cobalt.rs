#[cfg(test)]
mod tests;

use crate::link::queue::codel::over_root;
use crate::packet::Ecn;
use crate::spec::FULL_FRAME;
use core::time::Duration;
use units::{Bandwidth, Rng, Timestamp};

/// COBALT (`sch_cake.c`): a CoDel that steps down as it steps up, and BLUE for those who do not
/// listen.
///
/// Unlike CoDel's, its count is not forgotten when the delay falls below the target: it falls by
/// one at each time at which it would have risen.
#[derive(Debug)]
pub(super) struct Cobalt {
    /// Signals so far, less those that have been forgotten.
    count: u64,
    is_dropping: bool,
    /// When to signal next while there is a count; without one, until when this is not at rest.
    drop_next: Timestamp,
    /// BLUE's probability of a drop, in 1/2^32.
    drop_probability: u32,
    /// When that probability changed last.
    changed: Option<Timestamp>,
}

/// What is to become of a packet. What is neither dropped nor marked passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) drop: bool,
    pub(super) mark: bool,
}

impl Cobalt {
    pub(super) fn new() -> Self {
        Self {
            count: 0,
            is_dropping: false,
            drop_next: Timestamp::ZERO,
            drop_probability: 0,
            changed: None,
        }
    }

    /// Judges the packet at the head of a queue, after `sojourn` there (`cobalt_should_drop`).
    pub(super) fn judge(
        &mut self,
        now: Timestamp,
        parameters: &Parameters,
        sojourn: Duration,
        ecn: Ecn,
        rng: &mut Rng,
    ) -> Verdict {
        let was_due = self.is_due(now);
        self.is_dropping = self.stays_dropping(now, parameters, sojourn);
        let signals = was_due && self.is_dropping;
        if signals {
            self.count += 1;
            self.schedule(parameters);
        } else if was_due {
            self.step_down(now, parameters);
        }
        let blue = self.drop_probability > 0 && (rng.next_u64() as u32) < self.drop_probability;
        let mark = signals && ecn != Ecn::NotEct;
        let drop = signals && !mark || blue;
        if self.count == 0 {
            self.drop_next = now + parameters.interval;
        } else if now > self.drop_next && !drop {
            self.drop_next = now;
        }
        Verdict { drop, mark }
    }

    /// A packet of this queue was dropped because there was no room (`cobalt_queue_full`).
    pub(super) fn note_full(&mut self, now: Timestamp, parameters: &Parameters) {
        if self.may_change(now, parameters) {
            self.drop_probability = self.drop_probability.saturating_add(INCREMENT);
            self.changed = Some(now);
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was served and had nothing (`cobalt_queue_empty`).
    pub(super) fn note_empty(&mut self, now: Timestamp, parameters: &Parameters) {
        if self.drop_probability > 0 && self.may_change(now, parameters) {
            self.drop_probability = self.drop_probability.saturating_sub(DECREMENT);
            self.changed = Some(now);
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.schedule(parameters);
        }
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        self.drop_probability == 0 && self.count == 0 && now >= self.drop_next
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Whether the delay is above the target. The first time, the next signal is an interval away.
    fn stays_dropping(
        &mut self,
        now: Timestamp,
        parameters: &Parameters,
        sojourn: Duration,
    ) -> bool {
        if sojourn <= parameters.target || sojourn <= 4 * parameters.mtu_time {
            return false;
        }
        if !self.is_dropping {
            self.drop_next = now + over_root(parameters.interval, self.count);
        }
        self.count = self.count.max(1);
        true
    }

    /// Forgets a signal for each time that has passed.
    fn step_down(&mut self, now: Timestamp, parameters: &Parameters) {
        while self.is_due(now) {
            self.count -= 1;
            self.schedule(parameters);
        }
    }

    fn schedule(&mut self, parameters: &Parameters) {
        self.drop_next += over_root(parameters.interval, self.count);
    }

    /// BLUE's probability changes at most once in a target.
    fn may_change(&self, now: Timestamp, parameters: &Parameters) -> bool {
        self.changed
            .is_none_or(|changed| now.since(changed) > parameters.target)
    }
}

/// COBALT's times, which follow from the RTT and the rate (`cake_set_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    /// The delay that a standing queue may have.
    target: Duration,
    /// How long it may be exceeded.
    interval: Duration,
    /// What a full frame takes to be sent.
    mtu_time: Duration,
}

impl Parameters {
    pub(super) fn new(rtt: Duration, rate: Bandwidth) -> Self {
        let mtu_time = FULL_FRAME / rate.max(MIN_RATE);
        let asked = rtt / 20;
        let target = asked.max(mtu_time * 3 / 2);
        Self {
            target,
            interval: (rtt + target - asked).max(target * 2),
            mtu_time,
        }
    }
}

/// 1/256.
const INCREMENT: u32 = 1 << 24;
/// 1/4096.
const DECREMENT: u32 = 1 << 20;
/// The kernel reckons with no lower rate.
const MIN_RATE: Bandwidth = Bandwidth::from_bytes_per_sec(64);
