#[cfg(test)]
mod tests;

use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::{Fifo, one_fifo};
use crate::packet::Packet;
use crate::spec::clauses::aqm::red::{FRACTION_BITS, ONE, power};
use crate::spec::{self, Capacity};
use crate::stats::Count;
use units::{Bandwidth, Bytes, Rng, Timestamp};

/// Random early detection (Floyd and Jacobson 1993) as Linux has it (`net/sched/sch_red.c`,
/// `include/net/red.h`): what comes is marked or dropped at random, the likelier the longer the
/// average queue is.
#[derive(Debug)]
pub(super) struct Red<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
    parameters: spec::aqm::Red,
    average: Average,
    spacing: MarkSpacing,
}

/// What the average says about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Early,
    /// The average is too long for chance.
    Forced,
}

impl<T> Red<T> {
    pub(super) fn new(
        parameters: spec::aqm::Red,
        capacity: Capacity,
        rate: Bandwidth,
        rng: Rng,
    ) -> Self {
        Self {
            fifo: Fifo::default(),
            capacity,
            parameters,
            average: Average::new(&parameters, rate),
            spacing: MarkSpacing::new(&parameters, rng),
        }
    }

    fn judge(&mut self) -> Verdict {
        if self.average.is_below(self.parameters.min) {
            self.spacing.rest();
            Verdict::Pass
        } else if !self.average.is_below(self.parameters.max) {
            self.spacing.rest();
            Verdict::Forced
        } else if self
            .spacing
            .is_marked(self.average.above(self.parameters.min))
        {
            Verdict::Early
        } else {
            Verdict::Pass
        }
    }

    /// Whether the packet may stay, marked or not.
    fn admits(&self, verdict: Verdict, packet: &mut Packet<T>, events: &mut QueueEvents) -> bool {
        let may_mark = match verdict {
            Verdict::Pass => return true,
            Verdict::Early => self.parameters.ecn,
            Verdict::Forced => self.parameters.ecn && !self.parameters.harddrop,
        };
        may_mark && (events.try_mark(packet) || self.parameters.nodrop)
    }
}

impl<T> Discipline<T> for Red<T> {
    fn enqueue(&mut self, now: Timestamp, mut packet: Packet<T>, events: &mut QueueEvents) {
        self.average.update(now, self.backlog().bytes);
        let verdict = self.judge();
        if !self.admits(verdict, &mut packet, events) {
            events.drop(&packet);
        } else if self.capacity.fits(self.backlog(), packet.size) {
            self.fifo.push(now, packet);
        } else {
            events.overflow(&packet);
        }
        self.average.note(now, self.backlog());
    }

    fn dequeue(&mut self, now: Timestamp, _: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        let next = self.fifo.pop();
        self.average.note(now, self.backlog());
        next
    }

    fn set_rate(&mut self, rate: Bandwidth) {
        self.average.rate = rate;
    }

    one_fifo!();
}

/// The exponentially weighted moving average of the backlog at arrivals.
#[derive(Debug)]
struct Average {
    /// In bytes × 2^`weight_log`, the kernel's fixed point: adding a backlog is exact, and the part
    /// that leaves is rounded down to a byte.
    scaled: u128,
    weight_log: u32,
    rate: Bandwidth,
    avpkt: Bytes,
    /// Since when there is no queue; `None` while there is one.
    idle_since: Option<Timestamp>,
}

impl Average {
    fn new(parameters: &spec::aqm::Red, rate: Bandwidth) -> Self {
        let weight_log = parameters.weight_log();
        Self {
            scaled: 0,
            weight_log: weight_log.expect("reading refuses parameters without a weight"),
            rate,
            avpkt: parameters.avpkt,
            idle_since: None,
        }
    }

    /// Counts what waits when a packet comes: avg += (backlog − avg) × 2^−w.
    fn update(&mut self, now: Timestamp, backlog: Bytes) {
        match self.idle_since {
            None => {
                let leaves = self.scaled >> self.weight_log;
                self.scaled = self.scaled - leaves + u128::from(backlog.get());
            }
            Some(since) => self.decay(now, since),
        }
    }

    /// As if packets of the usual size had come to an empty queue at the rate of the link for all
    /// the time without one: avg × (1 − 2^−w)^m, m rounded down.
    fn decay(&mut self, now: Timestamp, since: Timestamp) {
        let packets = (self.rate * now.since(since)).packets_floor(self.avpkt);
        let stays = power(ONE - (ONE >> self.weight_log), packets);
        // In two parts, as the product has more than 128 bits; rounds down.
        let (high, low) = (self.scaled >> FRACTION_BITS, self.scaled & (ONE - 1));
        self.scaled = high * stays + ((low * stays) >> FRACTION_BITS);
    }

    fn note(&mut self, now: Timestamp, backlog: Count) {
        self.idle_since = (backlog.packets == 0).then_some(now);
    }

    fn is_below(&self, threshold: Bytes) -> bool {
        self.scaled < u128::from(threshold.get()) << self.weight_log
    }

    /// Whole bytes by which the average exceeds `threshold`, which it does.
    fn above(&self, threshold: Bytes) -> Bytes {
        let threshold = u128::from(threshold.get()) << self.weight_log;
        let above = self.scaled.saturating_sub(threshold) >> self.weight_log;
        Bytes::new(u64::try_from(above).unwrap_or(u64::MAX))
    }
}

/// Makes the gaps between marks uniform instead of geometric: with probability p by its average, a
/// mark comes after 1 to 1 ÷ p packets, each equally likely.
#[derive(Debug)]
struct MarkSpacing {
    rng: Rng,
    /// max − min over the probability: numbers are drawn below this.
    range: u64,
    number: u64,
    /// Packets since then; `None` before the first of them, which is never marked.
    count: Option<u64>,
}

impl MarkSpacing {
    fn new(parameters: &spec::aqm::Red, rng: Rng) -> Self {
        let span = u128::from((parameters.max - parameters.min).get().max(1));
        let range = span * 1_000_000 / u128::from(parameters.probability.millionths().max(1));
        Self {
            rng,
            range: u64::try_from(range).unwrap_or(u64::MAX),
            number: 0,
            count: None,
        }
    }

    /// Whether a packet that meets an average of `above` more than `min` is marked.
    fn is_marked(&mut self, above: Bytes) -> bool {
        let Some(count) = &mut self.count else {
            self.draw();
            return false;
        };
        *count = count.saturating_add(1);
        let is_marked = u128::from(above.get()) * u128::from(*count) >= u128::from(self.number);
        if is_marked {
            self.draw();
        }
        is_marked
    }

    fn draw(&mut self) {
        self.number = self.rng.below(self.range);
        self.count = Some(0);
    }

    /// The average is outside of the random range.
    fn rest(&mut self) {
        self.count = None;
    }
}
