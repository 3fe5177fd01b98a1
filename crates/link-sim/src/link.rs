//! The link itself: its stages, in the order in which a packet meets them.

mod bucket;
mod chance;
mod crandom;
mod delay;
mod delay_line;
mod label;
mod loss;
mod opportunities;
mod policer;
mod queue;
mod radio;
mod reorder;
mod schedule;
mod server;
mod slots;
mod tbf;
mod transmitter;

#[cfg(test)]
mod tests;

use crate::packet::{Delivery, Ecn, Packet};
use crate::spec::{Aqm, Clauses, LinkSpec, NETEM_LIMIT};
use crate::stats::{Count, LinkStats};
use chance::Chance;
use core::time::Duration;
use delay::DelayStage;
use delay_line::DelayLine;
use loss::LossStage;
use policer::PolicerStage;
use queue::{Queue, QueueConfig, QueueEvents, QueuedPacket};
use radio::RadioStage;
use reorder::ReorderStage;
use schedule::Schedule;
use server::{Server, Transmission};
use slots::Slots;
use std::collections::VecDeque;
use units::{Rng, Timestamp};

/// Seed of the link with this number in a run with `seed`: the same link loses the same packets in
/// every program, in virtual and in real time.
pub(crate) fn link_seed(seed: u64, number: usize) -> u64 {
    Rng::derive(seed, number as u64).next_u64()
}

/// A one-way link: packets in at one end, some of them out at the other, later.
///
/// Time does not go backwards: a time before that of an earlier call counts as that one. What
/// happens inside happens at its exact time, however late [`poll_output`](Self::poll_output) is
/// called.
///
/// Without a queue in its description it is netem: a packet departs at
/// max(now + delay, departure of the last one) + size ÷ rate. With `queue`, `aqm`, `tbf` or
/// `trace` it is a bottleneck: a queue, what serves it, and a delay line behind it.
#[derive(Debug)]
pub struct Link<T> {
    duplicate: Chance,
    loss: LossStage,
    corrupt: Chance,
    policer: PolicerStage,
    /// Packets that may be inside at one time.
    limit: u64,
    /// `None` is netem's way: the delay comes first and waiting is part of it.
    queue: Option<Queue<T>>,
    server: Server,
    /// When the queue is served next; `None` while nothing waits.
    next_start: Option<Timestamp>,
    radio: RadioStage,
    reorder: ReorderStage,
    delay: DelayStage,
    line: DelayLine<T>,
    slots: Slots,
    /// What has left the line but was not collected yet, in order.
    arrived: VecDeque<Delivery<T>>,
    schedule: Schedule,
    base_rtt: Duration,
    seed: u64,
    /// The latest time of any call.
    now: Timestamp,
    stats: LinkStats,
    events: QueueEvents,
    keeps_order: bool,
}

impl LinkSpec {
    /// An empty link of this description.
    ///
    /// `base_rtt` is what a `queue` in `bdp` multiplies the rate with, see
    /// [`base_rtt`](Self::base_rtt). Links that share a run take different seeds, or they lose the
    /// same packets.
    pub fn build<T: Clone>(&self, base_rtt: Duration, seed: u64) -> Link<T> {
        Link::new(self, base_rtt, seed)
    }
}

impl<T: Clone> Link<T> {
    pub(crate) fn new(spec: &LinkSpec, base_rtt: Duration, seed: u64) -> Self {
        let seed = spec.clauses.seed.unwrap_or(seed);
        let schedule = Schedule::new(spec, Timestamp::ZERO);
        let clauses = &spec.clauses;
        Self {
            duplicate: Chance::new(clauses.duplicate, seed, label::DUPLICATE),
            loss: LossStage::new(clauses.loss.clone(), seed),
            corrupt: Chance::new(clauses.corrupt, seed, label::CORRUPT),
            policer: PolicerStage::new(clauses.policer),
            limit: limit_of(clauses),
            queue: queue_of(clauses, base_rtt).map(|config| Queue::new(config, seed)),
            server: Server::new(clauses.service.as_ref()),
            next_start: None,
            radio: RadioStage::new(clauses.radio, seed),
            reorder: ReorderStage::new(clauses.reorder, seed),
            delay: DelayStage::new(clauses.delay.clone(), seed),
            line: DelayLine::default(),
            slots: Slots::new(clauses.slot, seed),
            arrived: VecDeque::new(),
            schedule,
            base_rtt,
            seed,
            now: Timestamp::ZERO,
            stats: LinkStats::default(),
            events: QueueEvents::default(),
            keeps_order: clauses.keep_order(),
        }
    }

    /// Gives a packet to the link.
    pub fn handle_packet(&mut self, now: Timestamp, mut packet: Packet<T>) {
        let now = self.advance(now);
        self.stats.arrived += packet.size;
        let duplicated = self.duplicate.happens();
        let lost = self.loses(&mut packet);
        if duplicated {
            self.stats.duplicated += packet.size;
        }
        // netem looks at its limit once, for a packet and its copy together.
        let has_room = self.stats.held.packets < self.limit;
        if lost {
            self.stats.dropped.loss += packet.size;
        } else if duplicated {
            self.handle_copy(now, packet.clone(), has_room);
        }
        if !lost || duplicated {
            self.admit(now, packet, has_room);
        }
        self.prepare_slot(now);
    }

    /// When [`poll_output`](Self::poll_output) should be called next; `None` while nothing is
    /// inside. A delivery may turn out to be due a little later than this.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if let Some(delivery) = self.arrived.front() {
            return Some(delivery.due);
        }
        let inside = self.next_inside()?;
        // What changes then may let packets go that would have waited longer.
        earlier(Some(inside), self.schedule.next_change())
    }

    /// When something happens to what is inside, if nothing changes `at` a time before.
    fn next_inside(&self) -> Option<Timestamp> {
        let delivery = self.line.next_due().map(|due| self.slots.departure(due));
        if self.keeps_order && delivery.is_some() {
            return delivery;
        }
        earlier(delivery, self.next_start)
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

    /// What waits for the transmitter as of the last call. Without a queue in the description,
    /// waiting and travelling are the same and this is everything inside, as in netem's backlog.
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
    /// transmission from now on; what `spec` changes `at` a time counts from now, and its seed is
    /// not used. What is inside stays: what travels keeps its arrival time, and a queue longer
    /// than its new limit drains.
    pub fn reconfigure(&mut self, now: Timestamp, spec: &LinkSpec, base_rtt: Duration) {
        let now = self.advance(now);
        self.base_rtt = base_rtt;
        self.schedule = Schedule::new(spec, now);
        self.apply(now, &spec.clauses);
        self.advance(now);
    }

    /// Becomes another link, see [`reconfigure`](Self::reconfigure).
    fn apply(&mut self, now: Timestamp, clauses: &Clauses) {
        self.keeps_order =
            clauses.keep_order() && (self.is_empty() || self.preserves_order(clauses));
        self.duplicate.set(clauses.duplicate);
        self.loss.set(clauses.loss.clone());
        self.corrupt.set(clauses.corrupt);
        self.policer.set(now, clauses.policer);
        self.limit = limit_of(clauses);
        self.reorder.set(clauses.reorder);
        self.delay.set(clauses.delay.clone());
        self.slots.set(now, clauses.slot);
        self.radio.set(now, clauses.radio);
        self.server.set(now, clauses.service.as_ref());
        match (&mut self.queue, queue_of(clauses, self.base_rtt)) {
            (Some(queue), Some(config)) => {
                queue.set(now, config, self.seed, &mut self.events);
                self.count_queue_events();
                self.plan_start(now);
            }
            (None, Some(config)) => {
                // Until now the transmitter's clock ran behind the delay.
                self.server.reset(now);
                self.queue = Some(Queue::new(config, self.seed));
            }
            (Some(_), None) => self.empty_queue(now),
            (None, None) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.stats.held.packets == 0 && self.arrived.is_empty()
    }

    /// Whether what comes under `clauses` cannot overtake what is inside. Where netem's clock,
    /// which includes the delay, is left or taken up, it could.
    fn preserves_order(&self, clauses: &Clauses) -> bool {
        let is_bottleneck = self.queue.is_some() && clauses.has_bottleneck();
        let is_in_line = self.delay.preserves_order(clauses.delay.as_ref())
            && self.radio.preserves_order(clauses.radio);
        self.keeps_order && is_bottleneck && is_in_line
    }

    /// Does what was to happen inside until `now`, and answers the time it is then.
    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        let now = self.now;
        while let Some(at) = self.schedule.next_change().filter(|at| *at <= now) {
            // What begins at the very time of a change begins behind it.
            self.run(at - Duration::from_nanos(1));
            if let Some(clauses) = self.schedule.advance() {
                self.apply(at, &clauses);
            }
        }
        self.run(now);
        now
    }

    /// Moves packets from the queue into the line and out of it, one event after another: what
    /// leaves is looked at when others have come to the line, and not before.
    fn run(&mut self, now: Timestamp) {
        loop {
            let due = self.line.next_due();
            let departure = due.map(|due| self.slots.departure(due));
            let start = self.next_start.filter(|start| *start <= now);
            match (start, departure) {
                (Some(start), departure) if departure.is_none_or(|at| start <= at) => {
                    self.transmit_next(start);
                }
                (_, Some(at)) if at <= now => self.depart_next(at),
                _ => return,
            }
        }
    }

    /// The packet that is next leaves at `at`, unless it is only then that its slot is drawn.
    fn depart_next(&mut self, at: Timestamp) {
        let due = self.line.next_due().unwrap_or(at);
        self.slots.prepare(due, due);
        if self.slots.departure(due) > at {
            return;
        }
        if let Some(mut delivery) = self.line.pop(due) {
            delivery.due = at;
            self.slots.leave(at, delivery.packet.size);
            self.deliver(delivery);
            self.prepare_slot(at);
        }
    }

    /// netem looks at the packet that leaves next whenever one comes or leaves, and when it is due.
    fn prepare_slot(&mut self, now: Timestamp) {
        if let Some(due) = self.line.next_due() {
            self.slots.prepare(due, now);
        }
    }

    /// A packet has reached the far end.
    fn deliver(&mut self, delivery: Delivery<T>) {
        self.stats.held -= delivery.packet.size;
        self.stats.delivered += delivery.packet.size;
        if delivery.packet.corrupted {
            self.stats.corrupted += delivery.packet.size;
        }
        self.arrived.push_back(delivery);
    }

    /// Serves the queue at `start`.
    fn transmit_next(&mut self, start: Timestamp) {
        let Some(queue) = &mut self.queue else { return };
        let waiting = queue.dequeue(start, &mut self.events);
        self.count_queue_events();
        if let Some(QueuedPacket { packet, since }) = waiting {
            self.transmit(start, since, packet);
        }
        self.plan_start(start);
    }

    /// Notes when the queue is served next, as of `now`.
    fn plan_start(&mut self, now: Timestamp) {
        let waits = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.backlog().packets > 0);
        self.next_start = waits.then(|| self.radio.clear_at(self.server.takes_at(now)));
    }

    /// Whether the loss model takes a packet. One that it marks instead stays.
    fn loses(&mut self, packet: &mut Packet<T>) -> bool {
        if !self.loss.drops_packet() {
            return false;
        }
        let is_marked = self.loss.marks() && packet.ecn != Ecn::NotEct;
        if is_marked {
            packet.ecn = Ecn::Ce;
            self.stats.marked += packet.size;
        }
        !is_marked
    }

    /// The copy of a packet enters before it and meets the loss model for itself.
    fn handle_copy(&mut self, now: Timestamp, mut copy: Packet<T>, has_room: bool) {
        if self.loses(&mut copy) {
            self.stats.dropped.loss += copy.size;
        } else {
            self.admit(now, copy, has_room);
        }
    }

    /// A packet that survived the loss model meets the policer and the limit, then waits or goes.
    fn admit(&mut self, now: Timestamp, mut packet: Packet<T>, has_room: bool) {
        packet.corrupted |= self.corrupt.happens();
        let dropped = &mut self.stats.dropped;
        if !self.policer.conforms(now, packet.size) {
            dropped.policer += packet.size;
        } else if !has_room {
            dropped.limit += packet.size;
        } else if !self.server.accepts(packet.size) {
            dropped.queue += packet.size;
        } else {
            self.stats.held += packet.size;
            self.enter(now, packet);
        }
    }

    fn enter(&mut self, now: Timestamp, packet: Packet<T>) {
        let Some(queue) = &mut self.queue else {
            return self.depart(now, packet);
        };
        queue.enqueue(now, packet, &mut self.events);
        if self.next_start.is_none() {
            self.plan_start(now);
        }
        self.count_queue_events();
        // One that finds nothing before it never waits.
        if self.next_start == Some(now) {
            self.transmit_next(now);
        }
        if let Some(queue) = &self.queue {
            self.note_queue(queue.backlog());
        }
    }

    /// Puts a packet on the wire that has waited `since` then.
    fn transmit(&mut self, start: Timestamp, since: Timestamp, packet: Packet<T>) {
        let Transmission { begin, end } = self.server.transmit(start, packet.size);
        self.stats.queue_delay.record(begin.since(since));
        let due = if self.reorder.skips_delay() {
            end
        } else {
            self.delay.arrival(self.radio.arrival(end))
        };
        self.line.push(due, packet);
        self.prepare_slot(start);
    }

    /// netem's way: the delay first, then the transmitter, in one departure time.
    fn depart(&mut self, now: Timestamp, packet: Packet<T>) {
        if self.reorder.skips_delay() {
            return self.deliver(Delivery { due: now, packet });
        }
        let ready = self.delay.arrival(now);
        let due = if self.server.is_limited() {
            let start = self.radio.clear_at(self.server.takes_at(ready));
            self.stats.queue_delay.record(start.since(ready));
            self.server.transmit(start, packet.size).end
        } else {
            self.radio.clear_at(ready)
        };
        self.line.push(self.radio.arrival(due), packet);
        self.note_queue(self.stats.held);
    }

    /// Sends what waits at the times at which it would have gone, without a queue from now on.
    fn empty_queue(&mut self, now: Timestamp) {
        while let Some(QueuedPacket { packet, since }) = self.queue.as_mut().and_then(Queue::take) {
            let start = self.radio.clear_at(self.server.takes_at(now));
            self.transmit(start, since, packet);
        }
        self.queue = None;
        self.next_start = None;
    }

    /// Adds what the queue dropped and marked to the statistics.
    fn count_queue_events(&mut self) {
        let QueueEvents {
            overflowed,
            early,
            marked,
        } = core::mem::take(&mut self.events);
        self.stats.dropped.queue += overflowed;
        self.stats.dropped.aqm += early;
        self.stats.marked += marked;
        self.stats.held = self.stats.held - overflowed - early;
    }

    fn note_queue(&mut self, backlog: Count) {
        let max = &mut self.stats.max_queue;
        max.packets = max.packets.max(backlog.packets);
        max.bytes = max.bytes.max(backlog.bytes);
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn limit_of(clauses: &Clauses) -> u64 {
    let default = if clauses.has_bottleneck() {
        MAX_HELD
    } else {
        NETEM_LIMIT.into()
    };
    clauses.limit.map_or(default, u64::from)
}

fn queue_of(clauses: &Clauses, base_rtt: Duration) -> Option<QueueConfig> {
    let rate = clauses.rate().filter(|_| clauses.has_bottleneck())?;
    let aqm = clauses.aqm.unwrap_or(Aqm::DropTail);
    let limit = clauses.queue.unwrap_or_else(|| aqm.default_limit(rate));
    Some(QueueConfig {
        aqm,
        capacity: limit.capacity(rate, base_rtt),
        rate,
    })
}

/// With a queue of its own, the delay line is bounded only to bound memory: 1.2 s at 10 Gbit/s.
const MAX_HELD: u64 = 1 << 20;
