#[cfg(test)]
mod tests;

use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::fifo::{Fifo, one_fifo};
use crate::packet::Packet;
use crate::spec::{self, Capacity, FULL_FRAME};
use core::time::Duration;
use units::{Bytes, Timestamp};

/// Controlled delay (RFC 8289): drops at the head while packets have stayed longer than `target`
/// for an `interval`, ever more often until they do not.
#[derive(Debug)]
pub(super) struct Codel<T> {
    fifo: Fifo<T>,
    capacity: Capacity,
    parameters: spec::aqm::Codel,
    control: ControlLaw,
    mtu: Mtu,
}

impl<T> Codel<T> {
    pub(super) fn new(parameters: spec::aqm::Codel, capacity: Capacity) -> Self {
        Self {
            fifo: Fifo::default(),
            capacity,
            parameters,
            control: ControlLaw::new(),
            mtu: Mtu::default(),
        }
    }
}

impl<T> Discipline<T> for Codel<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        self.mtu.update(packet.size);
        if self.capacity.fits(self.backlog(), packet.size) {
            self.fifo.push(now, packet);
        } else {
            events.overflow(&packet);
        }
    }

    fn dequeue(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        let pop = || (self.fifo.pop(), self.fifo.backlog().bytes);
        self.control
            .dequeue(now, &self.parameters, self.mtu, events, pop)
    }

    one_fifo!();
}

/// The largest packet: a queue of no more than that is no standing queue. Ethernet's, unless a
/// larger one was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mtu(Bytes);

impl Mtu {
    pub(super) fn update(&mut self, size: Bytes) {
        self.0 = self.0.max(size);
    }
}

impl Default for Mtu {
    fn default() -> Self {
        Self(FULL_FRAME)
    }
}

/// The state machine of RFC 8289, section 5.5, for one queue, with marks as in Linux 6.18
/// (`include/net/codel_impl.h`).
#[derive(Debug)]
pub(super) struct ControlLaw {
    /// When packets will have been above the target for an interval; `None` while they are below.
    first_above: Option<Timestamp>,
    is_dropping: bool,
    drop_next: Timestamp,
    /// Drops and marks since dropping began, and more when it was resumed.
    count: u64,
    /// `count` when dropping began last.
    last_count: u64,
}

impl ControlLaw {
    pub(super) fn new() -> Self {
        Self {
            first_above: None,
            is_dropping: false,
            drop_next: Timestamp::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// The next packet that is not dropped of those that `pop` takes out, each with the bytes that
    /// are left behind it.
    pub(super) fn dequeue<T>(
        &mut self,
        now: Timestamp,
        parameters: &spec::aqm::Codel,
        mtu: Mtu,
        events: &mut QueueEvents,
        mut pop: impl FnMut() -> (Option<QueuedPacket<T>>, Bytes),
    ) -> Option<QueuedPacket<T>> {
        let mut pop = |law: &mut Self| {
            let (next, left) = pop();
            let stays_above = law.stays_above(now, next.as_ref(), left, parameters, mtu);
            (next, stays_above)
        };
        let (mut next, stays_above) = pop(self);
        if self.is_dropping {
            self.is_dropping = stays_above;
            while self.is_dropping && now >= self.drop_next {
                self.count += 1;
                let was_marked = mark_or_drop(parameters, &mut next, events);
                if !was_marked {
                    (next, self.is_dropping) = pop(self);
                }
                if self.is_dropping {
                    self.drop_next = self.control_law(self.drop_next, parameters.interval);
                }
                if was_marked {
                    break;
                }
            }
        } else if stays_above {
            if !mark_or_drop(parameters, &mut next, events) {
                (next, _) = pop(self);
            }
            self.begin_dropping(now, parameters.interval);
        }
        mark_above_threshold(now, parameters, &mut next, events);
        next
    }

    /// Whoever drops packets because the queue is full says so, and the next drops come sooner.
    pub(super) fn note_overflow(&mut self, packets: u64) {
        self.count += packets;
    }

    /// Whether packets have stayed above the target for an interval by now.
    fn stays_above<T>(
        &mut self,
        now: Timestamp,
        next: Option<&QueuedPacket<T>>,
        left: Bytes,
        parameters: &spec::aqm::Codel,
        Mtu(mtu): Mtu,
    ) -> bool {
        let is_above =
            |next: &QueuedPacket<T>| now.since(next.since) >= parameters.target && left > mtu;
        if !next.is_some_and(is_above) {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + parameters.interval);
        now >= first_above
    }

    /// Resumes at the rate of the last time where that was right a moment ago.
    fn begin_dropping(&mut self, now: Timestamp, interval: Duration) {
        self.is_dropping = true;
        let since_then = self.count - self.last_count;
        let is_recent = now.since(self.drop_next) < 16 * interval;
        self.count = if since_then > 1 && is_recent {
            since_then
        } else {
            1
        };
        self.last_count = self.count;
        self.drop_next = self.control_law(now, interval);
    }

    /// `time` + interval ÷ √count.
    fn control_law(&self, time: Timestamp, interval: Duration) -> Timestamp {
        time + over_root(interval, self.count)
    }
}

/// interval ÷ √count, rounded down to the nanosecond.
pub(super) fn over_root(interval: Duration, count: u64) -> Duration {
    let square = interval.as_nanos().pow(2) / u128::from(count.max(1));
    // The root of a square of nanoseconds, which are at most an hour's.
    Duration::from_nanos(square.isqrt() as u64)
}

/// Whether the packet was marked and may stay; otherwise it is dropped.
fn mark_or_drop<T>(
    parameters: &spec::aqm::Codel,
    next: &mut Option<QueuedPacket<T>>,
    events: &mut QueueEvents,
) -> bool {
    let Some(waiting) = next else { return false };
    if parameters.ecn && events.try_mark(&mut waiting.packet) {
        return true;
    }
    events.drop(&waiting.packet);
    false
}

fn mark_above_threshold<T>(
    now: Timestamp,
    parameters: &spec::aqm::Codel,
    next: &mut Option<QueuedPacket<T>>,
    events: &mut QueueEvents,
) {
    if let (Some(threshold), Some(waiting)) = (parameters.ce_threshold, next)
        && now.since(waiting.since) > threshold
    {
        events.try_mark(&mut waiting.packet);
    }
}
