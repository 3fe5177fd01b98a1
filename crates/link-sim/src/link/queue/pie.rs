#[cfg(test)]
mod tests;

use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::{Fifo, one_fifo};
use super::ticks::Ticks;
use crate::packet::Packet;
use crate::spec::{self, Capacity, FULL_FRAME};
use core::time::Duration;
use units::{Bytes, Rng, Timestamp, duration};

/// Proportional integral controller, enhanced (RFC 8033), as Linux has it (`net/sched/sch_pie.c`):
/// what comes is dropped or marked at random, with a probability that is moved until packets wait
/// for `target`.
///
/// How long they wait is measured by their timestamps, Linux's default, not by an estimate of the
/// departure rate.
#[derive(Debug)]
pub(super) struct Pie<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
    parameters: spec::aqm::Pie,
    ticks: Ticks,
    control: Control,
    /// Probabilities added up since the last drop or mark.
    accumulated: u64,
    rng: Rng,
}

impl<T> Pie<T> {
    pub(super) fn new(parameters: spec::aqm::Pie, capacity: Capacity, rng: Rng) -> Self {
        Self {
            fifo: Fifo::default(),
            capacity,
            parameters,
            ticks: Ticks::new(parameters.tupdate),
            control: Control::new(&parameters),
            accumulated: 0,
            rng,
        }
    }

    /// Does what the timer would have done by now. The queue has not changed since it last fired.
    fn advance(&mut self, now: Timestamp) {
        let Some((ticks, _)) = self.ticks.elapsed(now) else {
            return;
        };
        let is_empty = self.fifo.backlog().packets == 0;
        if self.control.update(ticks, is_empty) {
            self.accumulated = 0;
        }
    }

    /// Whether a packet that comes now is to be dropped, or marked (RFC 8033, sections 4.1, 5.4).
    fn drops_early(&mut self, size: Bytes) -> bool {
        if self.control.is_lenient() || self.fifo.backlog().bytes < FULL_FRAME * 2 {
            return false;
        }
        let probability = self.probability_for(size);
        self.accumulated = match probability {
            0 => 0,
            more => self.accumulated.saturating_add(more),
        };
        if self.accumulated < ENOUGH {
            return false;
        }
        self.accumulated >= TOO_MUCH || self.rng.below(ONE) < probability
    }

    fn probability_for(&self, size: Bytes) -> u64 {
        let probability = self.control.probability;
        if !self.parameters.bytemode || size > FULL_FRAME {
            return probability;
        }
        // Rounds down.
        let share = u128::from(probability) * u128::from(size.get());
        (share / u128::from(FULL_FRAME.get())) as u64
    }

    /// Whether a packet that was hit may stay because of a mark.
    fn marks(&self, packet: &mut Packet<T>, events: &mut QueueEvents) -> bool {
        self.parameters.ecn && self.control.probability <= MARKED_UP_TO && events.try_mark(packet)
    }
}

impl<T> Discipline<T> for Pie<T> {
    fn enqueue(&mut self, now: Timestamp, mut packet: Packet<T>, events: &mut QueueEvents) {
        self.advance(now);
        if !self.capacity.fits(self.backlog(), packet.size) {
            self.accumulated = 0;
            return events.overflow(&packet);
        }
        if self.drops_early(packet.size) {
            self.accumulated = 0;
            if !self.marks(&mut packet, events) {
                return events.drop(&packet);
            }
        }
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Timestamp, _: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        self.advance(now);
        let next = self.fifo.pop()?;
        let is_last = self.fifo.backlog().packets == 0;
        let waited = if is_last {
            Duration::ZERO
        } else {
            now.since(next.since)
        };
        self.control.note_departure(now, waited);
        Some(next)
    }

    one_fifo!();
}

/// What moves the probability (RFC 8033, section 4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Control {
    parameters: spec::aqm::Pie,
    /// Of [`ONE`].
    probability: u64,
    /// How long the packet that left last had waited; zero if it left nothing behind.
    delay: Duration,
    /// What that was at the last update.
    old_delay: Duration,
    /// How long nothing is dropped yet (section 4.4).
    burst_allowance: Duration,
    /// When a packet left last, since the allowance was renewed.
    last_departure: Option<Timestamp>,
}

impl Control {
    fn new(parameters: &spec::aqm::Pie) -> Self {
        Self {
            parameters: *parameters,
            probability: 0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_allowance: MAX_BURST,
            last_departure: None,
        }
    }

    fn note_departure(&mut self, now: Timestamp, waited: Duration) {
        self.delay = waited;
        let since_last = self.last_departure.map(|last| now.since(last));
        self.burst_allowance = self
            .burst_allowance
            .saturating_sub(since_last.unwrap_or_default());
        self.last_departure = Some(now);
    }

    /// Whether nothing is dropped: during a burst, or while the delay is short and the
    /// probability not high.
    fn is_lenient(&self) -> bool {
        let is_short = self.delay < self.parameters.target / 2;
        !self.burst_allowance.is_zero() || (is_short && self.probability < ONE / 5)
    }

    /// Updates the probability `ticks` times, while nothing comes and nothing leaves. Answers
    /// whether congestion is over and the next burst is allowed again.
    ///
    /// However many ticks these are, the work is bounded. After the first one all steps have one
    /// sign, and are equal until the probability comes to another line of [`TUNING`], so that they
    /// are made at once. An idle queue's probability is zero, or too small for its 64th part to
    /// count, after 2,400.
    fn update(&mut self, ticks: u64, is_empty: bool) -> bool {
        let (mut left, mut is_over) = (ticks, false);
        while left > 0 {
            let before = (self.probability, self.old_delay);
            let step = self.step();
            let count = self.equal_steps(step, is_empty).min(left);
            let moved = step.saturating_mul(i128::from(count));
            let moved = i128::from(self.probability).saturating_add(moved);
            self.probability = moved.clamp(0, i128::from(ONE)) as u64;
            if self.is_decaying(is_empty) {
                self.probability -= self.probability / DECAY;
            }
            is_over |= self.renew_burst();
            self.old_delay = self.delay;
            left -= count;
            if before == (self.probability, self.old_delay) {
                break;
            }
        }
        is_over
    }

    /// What the next update adds to the probability.
    fn step(&self) -> i128 {
        let nanos = |time: Duration| i128::from(duration::nanos(time));
        let (alpha, beta) = (self.parameters.alpha, self.parameters.beta);
        let integral = i128::from(alpha) * (nanos(self.delay) - nanos(self.parameters.target));
        let proportional = i128::from(beta) * (nanos(self.delay) - nanos(self.old_delay));
        let (_, caution) = self.tuning();
        let mut step = (integral + proportional) << (UNIT_BITS - caution);
        let two_percent = i128::from(ONE / 50);
        // RFC 8033, section 5.5.
        if self.probability >= ONE / 10 {
            step = step.min(two_percent);
        }
        if self.delay > VERY_LONG.max(self.parameters.target) {
            step += two_percent;
        }
        step
    }

    /// How many updates add the same `step`, this one included; at least one.
    fn equal_steps(&self, step: i128, is_empty: bool) -> u64 {
        if self.delay != self.old_delay || self.is_decaying(is_empty) {
            return 1;
        }
        let (low, _) = self.tuning();
        let lows = TUNING.iter().rev().map(|(low, _)| *low);
        let high = lows.chain([ONE]).find(|high| *high > self.probability);
        let up = high.unwrap_or(ONE) - self.probability;
        let down = self.probability - low;
        let steps = match step {
            1.. => u128::from(up).div_ceil(step.unsigned_abs()),
            0 => u128::MAX,
            _ => u128::from(down) / step.unsigned_abs() + 1,
        };
        u64::try_from(steps).unwrap_or(u64::MAX).max(1)
    }

    /// The line of [`TUNING`] that holds now.
    fn tuning(&self) -> (u64, u32) {
        let line = TUNING.iter().find(|(low, _)| self.probability >= *low);
        *line.expect("the last line holds for any probability")
    }

    /// Whether the queue has been idle for two updates.
    fn is_decaying(&self, is_empty: bool) -> bool {
        self.delay.is_zero() && self.old_delay.is_zero() && is_empty
    }

    /// Allows a burst again if congestion is over.
    fn renew_burst(&mut self) -> bool {
        let short = self.parameters.target / 2;
        let is_over = self.delay < short && self.old_delay < short && self.probability == 0;
        if is_over {
            self.burst_allowance = MAX_BURST;
            self.last_departure = None;
        }
        is_over
    }
}

/// A probability of one. It is 10^9 × 2^30, as times are in nanoseconds and the smallest share of
/// `alpha` and `beta` is 2^−15: no step of the controller is rounded.
const ONE: u64 = 1_000_000_000 << 30;
/// A nanosecond times a sixteenth is 2^26.
const UNIT_BITS: u32 = 26;

/// From which probability on, steps are 2^−n of what they are at 10 % (RFC 8033, section 4.2).
const TUNING: [(u64, u32); 7] = [
    (ONE / 10, 0),
    (ONE / 100, 1),
    (ONE / 1_000, 3),
    (ONE / 10_000, 5),
    (ONE / 100_000, 7),
    (ONE / 1_000_000, 9),
    (0, 11),
];

/// RFC 8033, section 4.4, `MAX_BURST`.
const MAX_BURST: Duration = Duration::from_millis(150);
/// The part that an idle queue's probability loses. Linux; the RFC takes 2 %, and says that a 64th
/// does.
const DECAY: u64 = 64;
/// Above this delay Linux lets the probability grow by 2 % more in each step. Below a longer target
/// the two parts of a step would pull in opposite directions, so there it begins at the target.
const VERY_LONG: Duration = Duration::from_millis(250);
/// RFC 8033, section 5.4: no drop before the probabilities since the last add up to so much …
const ENOUGH: u64 = ONE / 100 * 85;
const TOO_MUCH: u64 = ONE / 2 * 17;
/// `mark_ecnth` (RFC 8033, section 5.1): above, what could be marked is dropped.
const MARKED_UP_TO: u64 = ONE / 10;
