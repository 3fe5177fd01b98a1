mod control;
#[cfg(test)]
mod tests;

use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::Fifo;
use super::ticks::Ticks;
use crate::packet::{Ecn, Packet};
use crate::spec::clauses::aqm::dualpi2::{OnOverload, StepThreshold};
use crate::spec::{self, Capacity, FULL_FRAME};
use crate::stats::Count;
use control::{Control, ONE};
use std::collections::VecDeque;
use units::{Bytes, Rng, Timestamp};

/// The dual queue of RFC 9332 with its PI2 controller (appendix A), as Linux has it
/// (`net/sched/sch_dualpi2.c`): one queue for senders that take many marks and keep little in the
/// buffer, one for the others, and one base probability p that serves both.
///
/// A classic packet is dropped or marked with p², a low-latency one is marked with
/// `coupling_factor` × p and whenever it waits beyond `step_thresh`, if it found `min_qlen_step`
/// packets ahead. The low-latency queue goes first, but for the share that protects the classic
/// one.
#[derive(Debug)]
pub(super) struct DualPi2<T> {
    low_latency: Fifo<T>,
    /// For each packet in it whether the step applies.
    steps: VecDeque<bool>,
    classic: Fifo<T>,
    capacity: Capacity,
    parameters: spec::aqm::DualPi2,
    ticks: Ticks,
    control: Control,
    credit: WrrCredit,
    rng: Rng,
}

impl<T> DualPi2<T> {
    pub(super) fn new(parameters: spec::aqm::DualPi2, capacity: Capacity, rng: Rng) -> Self {
        Self {
            low_latency: Fifo::default(),
            steps: VecDeque::new(),
            classic: Fifo::default(),
            capacity,
            parameters,
            ticks: Ticks::new(parameters.tupdate),
            control: Control::new(&parameters),
            credit: WrrCredit::new(&parameters),
            rng,
        }
    }

    /// Does what the timer would have done by now. Both queues are as they were when it fired.
    fn advance(&mut self, now: Timestamp) {
        if let Some((ticks, first)) = self.ticks.elapsed(now) {
            let heads = [&self.low_latency, &self.classic].map(|queue| queue.front());
            let oldest = heads.into_iter().flatten().map(|head| head.since).min();
            self.control.update(ticks, first, oldest);
        }
    }

    fn queue_of(&self, ecn: Ecn) -> QueueClass {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => QueueClass::LowLatency,
            Ecn::Ect0 if self.parameters.any_ect => QueueClass::LowLatency,
            Ecn::Ect0 | Ecn::NotEct => QueueClass::Classic,
        }
    }

    /// Whether chance has a packet dropped; if it has it marked instead, that is done.
    fn is_dropped(
        &mut self,
        class: QueueClass,
        packet: &mut Packet<T>,
        events: &mut QueueEvents,
    ) -> bool {
        if self.backlog().bytes < FULL_FRAME * 2 {
            return false;
        }
        let base = self.control.probability;
        let coupled = self.control.coupled();
        let is_overload = coupled > ONE;
        match class {
            QueueClass::Classic => {
                self.is_drawn_twice(base) && (is_overload || !events.try_mark(packet))
            }
            QueueClass::LowLatency if is_overload => {
                let drops = self.parameters.on_overload == OnOverload::Drop;
                (drops && self.is_drawn_twice(base)) || !events.try_mark(packet)
            }
            QueueClass::LowLatency => self.is_drawn(coupled) && !events.try_mark(packet),
        }
    }

    fn is_drawn(&mut self, probability: u64) -> bool {
        self.rng.below(ONE) < probability
    }

    /// A square is two draws.
    fn is_drawn_twice(&mut self, probability: u64) -> bool {
        self.is_drawn(probability) && self.is_drawn(probability)
    }

    /// The next packet that chance lets through.
    fn pop(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        loop {
            let (class, other_waits) = self.turn();
            let (mut next, has_step) = self.pop_from(class)?;
            if !self.parameters.drop_enqueue && self.is_dropped(class, &mut next.packet, events) {
                events.drop(&next.packet);
                continue;
            }
            if has_step && self.is_beyond_step(now, &next) {
                events.try_mark(&mut next.packet);
            }
            if other_waits {
                self.credit.charge(class, next.packet.size);
            }
            return Some(next);
        }
    }

    /// The queue whose turn it is, and whether a packet waits in the other.
    fn turn(&self) -> (QueueClass, bool) {
        let waits = |queue: &Fifo<T>| queue.front().is_some();
        match (waits(&self.low_latency), waits(&self.classic)) {
            (true, true) => (self.credit.turn(), true),
            (true, false) => (QueueClass::LowLatency, false),
            (false, _) => (QueueClass::Classic, false),
        }
    }

    fn push_to(&mut self, class: QueueClass, now: Timestamp, packet: Packet<T>) {
        match class {
            QueueClass::LowLatency => {
                let ahead = self.low_latency.backlog().packets;
                let has_step = ahead >= u64::from(self.parameters.min_qlen_step);
                self.steps.push_back(has_step);
                self.low_latency.push(now, packet);
            }
            QueueClass::Classic => self.classic.push(now, packet),
        }
    }

    /// The next packet of a queue, and whether the step applies to it.
    fn pop_from(&mut self, class: QueueClass) -> Option<(QueuedPacket<T>, bool)> {
        match class {
            QueueClass::LowLatency => {
                let has_step = self.steps.pop_front().unwrap_or_default();
                Some((self.low_latency.pop()?, has_step))
            }
            QueueClass::Classic => Some((self.classic.pop()?, false)),
        }
    }

    /// Whether a packet that has left the low-latency queue had waited beyond the step.
    fn is_beyond_step(&self, now: Timestamp, next: &QueuedPacket<T>) -> bool {
        match self.parameters.step_thresh {
            StepThreshold::Time(time) => now.since(next.since) > time,
            StepThreshold::Packets(packets) => {
                self.low_latency.backlog().packets > u64::from(packets)
            }
        }
    }
}

impl<T> Discipline<T> for DualPi2<T> {
    fn enqueue(&mut self, now: Timestamp, mut packet: Packet<T>, events: &mut QueueEvents) {
        self.advance(now);
        if !self.capacity.fits(self.backlog(), packet.size) {
            return events.overflow(&packet);
        }
        let class = self.queue_of(packet.ecn);
        if self.parameters.drop_enqueue && self.is_dropped(class, &mut packet, events) {
            return events.drop(&packet);
        }
        self.push_to(class, now, packet);
    }

    fn dequeue(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        self.advance(now);
        let next = self.pop(now, events);
        if self.backlog().packets == 0 {
            self.credit = WrrCredit::new(&self.parameters);
        }
        next
    }

    fn backlog(&self) -> Count {
        self.low_latency.backlog() + self.classic.backlog()
    }

    fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    /// In the order of arrival.
    fn take(&mut self) -> Option<QueuedPacket<T>> {
        let since = |queue: &Fifo<T>| queue.front().map(|head| head.since);
        let class = match (since(&self.low_latency), since(&self.classic)) {
            (Some(low), classic) if classic.is_none_or(|classic| low <= classic) => {
                QueueClass::LowLatency
            }
            _ => QueueClass::Classic,
        };
        self.pop_from(class).map(|(next, _)| next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueClass {
    LowLatency,
    Classic,
}

/// Whose turn it is while both queues have packets: weighted round robin by bytes.
#[derive(Debug)]
struct WrrCredit {
    /// Bytes × millionths that the low-latency queue is ahead of its share.
    ahead: i128,
    /// Shares of the two, in millionths.
    classic: i128,
    low_latency: i128,
}

impl WrrCredit {
    /// The queue with the larger share begins.
    fn new(parameters: &spec::aqm::DualPi2) -> Self {
        let share = parameters.classic_protection;
        let classic = i128::from(share.millionths());
        let low_latency = i128::from(share.complement().millionths());
        Self {
            ahead: i128::from(FULL_FRAME.get()) * (classic - low_latency),
            classic,
            low_latency,
        }
    }

    fn turn(&self) -> QueueClass {
        if self.ahead <= 0 {
            QueueClass::LowLatency
        } else {
            QueueClass::Classic
        }
    }

    fn charge(&mut self, class: QueueClass, size: Bytes) {
        let size = i128::from(size.get());
        self.ahead += match class {
            QueueClass::LowLatency => self.classic * size,
            QueueClass::Classic => -self.low_latency * size,
        };
    }
}
