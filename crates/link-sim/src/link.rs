//! The link itself: its stages, in the order in which a packet meets them.

mod chance;
mod delay;
mod line;
mod loss;
mod queue;
mod rate;
mod reorder;

#[cfg(test)]
mod tests;

use crate::spec::QueueLimit;
use crate::stats::{Count, LinkStats};
use crate::{LinkSpec, Packet};
use chance::Chance;
use core::time::Duration;
use delay::DelayStage;
use line::Line;
use loss::LossStage;
use queue::{Capacity, DropTail, Waiting};
use rate::Transmitter;
use reorder::ReorderStage;
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// A one-way link: packets in at one end, some of them out at the other, later.
///
/// Time does not go backwards: a time before that of an earlier call counts as that one. What
/// happens inside happens at its exact time, however late [`poll_output`](Self::poll_output) is
/// called.
///
/// Without `queue` in its description it is netem: a packet departs at
/// max(now + delay, departure of the last one) + size ÷ rate. With `queue` it is a bottleneck: a
/// drop-tail queue, a transmitter of that rate, and a delay line behind it.
#[derive(Debug)]
pub struct Link<T> {
    duplicate: Chance,
    loss: LossStage,
    /// Packets that may be inside at one time.
    limit: u64,
    /// `None` is netem's way: the delay comes first and waiting is part of it.
    queue: Option<DropTail<T>>,
    transmitter: Transmitter,
    reorder: ReorderStage,
    delay: DelayStage,
    line: Line<T>,
    /// What has left the line but was not collected yet, in order.
    arrived: VecDeque<Delivery<T>>,
    /// The latest time of any call.
    now: Timestamp,
    stats: LinkStats,
    keeps_order: bool,
}

/// A packet that has reached the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When the link let go of it. In real time, now − `due` is how late the host is.
    pub due: Timestamp,
    /// The packet.
    pub packet: Packet<T>,
}

impl<T: Clone> Link<T> {
    pub(crate) fn new(spec: &LinkSpec, base_rtt: Duration, seed: u64) -> Self {
        let seed = spec.seed.unwrap_or(seed);
        Self {
            duplicate: Chance::new(spec.duplicate, seed, label::DUPLICATE),
            loss: LossStage::new(spec.loss, seed),
            limit: limit_of(spec),
            queue: capacity_of(spec, base_rtt).map(DropTail::new),
            transmitter: Transmitter::new(spec.rate),
            reorder: ReorderStage::new(spec.reorder, seed),
            delay: DelayStage::new(spec.delay, seed),
            line: Line::default(),
            arrived: VecDeque::new(),
            now: Timestamp::ZERO,
            stats: LinkStats::default(),
            keeps_order: keeps_order(spec),
        }
    }

    /// Gives a packet to the link.
    pub fn handle_packet(&mut self, now: Timestamp, packet: Packet<T>) {
        let now = self.advance(now);
        self.stats.arrived += packet.size;
        let duplicated = self.duplicate.happens();
        let lost = self.loss.takes_packet();
        if duplicated {
            self.stats.duplicated += packet.size;
        }
        if lost {
            self.stats.dropped.loss += packet.size;
        } else if duplicated {
            // The copy enters first and meets the loss model for itself.
            if self.loss.takes_packet() {
                self.stats.dropped.loss += packet.size;
            } else {
                self.admit(now, packet.clone());
            }
        }
        if !lost || duplicated {
            self.admit(now, packet);
        }
    }

    /// When [`poll_output`](Self::poll_output) should be called next; `None` while nothing is
    /// inside. A delivery may turn out to be due a little later than this.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if let Some(delivery) = self.arrived.front() {
            return Some(delivery.due);
        }
        let delivery = self.line.next_due();
        if self.keeps_order && delivery.is_some() {
            return delivery;
        }
        let transmission = self.next_transmission();
        match (delivery, transmission) {
            (Some(delivery), Some(transmission)) => Some(delivery.min(transmission)),
            (one, other) => one.or(other),
        }
    }

    /// The next packet that has reached the far end by `now`, in order of arrival there. To be
    /// called until it answers `None`.
    pub fn poll_output(&mut self, now: Timestamp) -> Option<Delivery<T>> {
        self.advance(now);
        self.arrived.pop_front()
    }

    /// What the link did so far.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// What waits for the transmitter as of the last call. Without `queue` in the description,
    /// waiting cannot be told from travelling and this is everything inside, as in netem's backlog.
    pub fn queue(&self) -> Count {
        match &self.queue {
            Some(queue) => queue.backlog(),
            None => self.stats.held,
        }
    }

    /// Whether packets leave in the order in which they came.
    pub fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    /// Makes this the link that `spec` describes, for packets that come or begin their
    /// transmission from now on. What is inside stays: what travels keeps its arrival time, and a
    /// queue longer than its new limit drains.
    pub fn reconfigure(&mut self, now: Timestamp, spec: &LinkSpec, base_rtt: Duration) {
        let now = self.advance(now);
        self.duplicate.set(spec.duplicate);
        self.loss.set(spec.loss);
        self.limit = limit_of(spec);
        self.reorder.set(spec.reorder);
        self.keeps_order = keeps_order(spec) && (self.is_empty() || self.stays_behind(spec));
        self.delay.set(spec.delay);
        self.transmitter.set_rate(spec.rate);
        match (&mut self.queue, capacity_of(spec, base_rtt)) {
            (Some(queue), Some(capacity)) => queue.set_capacity(capacity),
            (None, Some(capacity)) => {
                // Until now the transmitter's clock ran behind the delay.
                self.transmitter.reset(now);
                self.queue = Some(DropTail::new(capacity));
            }
            (Some(_), None) => self.empty_queue(now),
            (None, None) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.stats.held.packets == 0
    }

    /// Whether what comes under `spec` cannot overtake what is inside. Where netem's clock, which
    /// includes the delay, is left or taken up, it could.
    fn stays_behind(&self, spec: &LinkSpec) -> bool {
        let is_bottleneck = self.queue.is_some() && spec.queue.is_some();
        self.keeps_order && is_bottleneck && self.delay.stays_behind(spec.delay)
    }

    /// Does what was to happen inside until `now`, and answers the time it is then.
    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        let now = self.now;
        while let Some(start) = self.next_transmission().filter(|start| *start <= now) {
            self.transmit_next(start);
        }
        while let Some(delivery) = self.line.pop(now) {
            self.stats.held -= delivery.packet.size;
            self.stats.delivered += delivery.packet.size;
            self.arrived.push_back(delivery);
        }
        now
    }

    /// When the next waiting packet begins its transmission; `None` if none waits.
    fn next_transmission(&self) -> Option<Timestamp> {
        let queue = self.queue.as_ref()?;
        (!queue.is_empty()).then(|| self.transmitter.free_at())
    }

    fn transmit_next(&mut self, start: Timestamp) {
        let waiting = self.queue.as_mut().and_then(DropTail::dequeue);
        if let Some(Waiting { packet, since }) = waiting {
            self.transmit(start, start.since(since), packet);
        }
    }

    /// A packet that survived the loss model meets the limit, then waits or goes.
    fn admit(&mut self, now: Timestamp, packet: Packet<T>) {
        if self.stats.held.packets >= self.limit {
            self.stats.dropped.limit += packet.size;
            return;
        }
        self.stats.held += packet.size;
        match &mut self.queue {
            None => self.depart(now, packet),
            Some(queue) if queue.is_empty() && self.transmitter.free_at() <= now => {
                self.transmit(now, Duration::ZERO, packet);
            }
            Some(queue) => match queue.enqueue(now, packet) {
                Ok(backlog) => self.note_queue(backlog),
                Err(refused) => {
                    self.stats.held -= refused.size;
                    self.stats.dropped.queue += refused.size;
                }
            },
        }
    }

    /// Puts a packet on the wire behind its queue.
    fn transmit(&mut self, start: Timestamp, waited: Duration, packet: Packet<T>) {
        self.stats.queue_delay.record(waited);
        let sent = self.transmitter.transmit(start, packet.size);
        let due = if self.reorder.jumps() {
            sent
        } else {
            self.delay.arrival(sent)
        };
        self.line.push(due, packet);
    }

    /// netem's way: the delay first, then the transmitter, in one departure time.
    fn depart(&mut self, now: Timestamp, packet: Packet<T>) {
        if self.reorder.jumps() {
            return self.line.push(now, packet);
        }
        let ready = self.delay.arrival(now);
        let due = if self.transmitter.is_limited() {
            let start = ready.max(self.transmitter.free_at());
            self.stats.queue_delay.record(start.since(ready));
            self.transmitter.transmit(ready, packet.size)
        } else {
            ready
        };
        self.line.push(due, packet);
        self.note_queue(self.stats.held);
    }

    /// Sends what waits at the times at which it would have gone, without a queue from now on.
    fn empty_queue(&mut self, now: Timestamp) {
        while let Some(start) = self.next_transmission() {
            self.transmit_next(start.max(now));
        }
        self.queue = None;
    }

    fn note_queue(&mut self, backlog: Count) {
        let max = &mut self.stats.max_queue;
        max.packets = max.packets.max(backlog.packets);
        max.bytes = max.bytes.max(backlog.bytes);
    }
}

fn limit_of(spec: &LinkSpec) -> u64 {
    let default = if spec.queue.is_some() {
        MAX_HELD
    } else {
        NETEM_LIMIT
    };
    spec.limit.map_or(default, u64::from)
}

fn capacity_of(spec: &LinkSpec, base_rtt: Duration) -> Option<Capacity> {
    let rate = spec.rate?;
    Some(match spec.queue? {
        QueueLimit::Packets(packets) => Capacity::Packets(u64::from(packets)),
        QueueLimit::Bytes(bytes) => Capacity::Bytes(bytes),
        QueueLimit::Bdp(multiple) => {
            Capacity::Bytes(Bytes::max(rate * base_rtt * multiple, FULL_FRAME))
        }
    })
}

/// Whether nothing in `spec` lets a packet overtake another.
fn keeps_order(spec: &LinkSpec) -> bool {
    let netem_rate = spec.rate.is_some() && spec.queue.is_none();
    let jitters = spec
        .delay
        .is_some_and(|delay| !delay.jitter.is_zero() && !delay.ordered);
    spec.reorder.is_none() && (netem_rate || !jitters)
}

/// Each stage draws from its own stream, so that a draw more in one moves nothing in another.
mod label {
    pub(super) const DUPLICATE: u64 = 1;
    pub(super) const LOSS: u64 = 2;
    pub(super) const REORDER: u64 = 3;
    pub(super) const DELAY: u64 = 4;
}

/// tc's default for netem's `limit`.
const NETEM_LIMIT: u64 = 1_000;
/// With a queue of its own, the delay line is bounded only to bound memory: 1.2 s at 10 Gbit/s.
const MAX_HELD: u64 = 1 << 20;
/// What a queue in `bdp` holds at least: one full Ethernet frame, or nothing could ever wait.
const FULL_FRAME: Bytes = Bytes::new(1_514);
