//! The queue before the bottleneck, one discipline per file.

mod cake;
mod codel;
mod drop_head;
mod drop_tail;
mod dualpi2;
mod fifo;
mod flows;
mod fq_codel;
mod pie;
mod red;
mod rotation;
mod ticks;

#[cfg(test)]
mod tests;

use super::label;
use crate::spec::Aqm;
pub(super) use crate::spec::Capacity;
use crate::stats::Count;
use crate::{Ecn, Packet};
use cake::Cake;
use codel::Codel;
use drop_head::DropHead;
use drop_tail::DropTail;
use dualpi2::DualPi2;
use fifo::Fifo;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use units::{Bandwidth, Bytes, Rng, Timestamp};

/// A queueing discipline: which packet is sent next, and which is dropped or marked.
///
/// A packet in transmission is not in the queue any more. Time does not go backwards.
pub(super) trait Discipline<T> {
    /// Takes a packet in. Whatever is dropped for it, the packet itself or others, goes to `log`.
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, log: &mut Log);

    /// The packet that is to be transmitted at `now`; `None` only when nothing is left, as what
    /// was there may have been dropped.
    fn dequeue(&mut self, now: Timestamp, log: &mut Log) -> Option<Waiting<T>>;

    /// What waits.
    fn backlog(&self) -> Count;

    /// Holds so much from now on; what waits already stays.
    fn set_capacity(&mut self, capacity: Capacity);

    /// The link sends at this rate from now on. Nothing to most disciplines.
    fn set_rate(&mut self, _: Bandwidth) {}

    /// The next packet without any dropping, for another discipline that takes over.
    fn take(&mut self) -> Option<Waiting<T>>;
}

/// What a queue is asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) aqm: Aqm,
    pub(super) capacity: Capacity,
    /// The mean rate at which it is served.
    pub(super) rate: Bandwidth,
}

impl Capacity {
    /// Whether a packet of `size` fits beside `backlog`.
    pub(super) fn fits(self, backlog: Count, size: Bytes) -> bool {
        match self {
            Self::Packets(most) => backlog.packets < most,
            Self::Bytes(most) => backlog.bytes.saturating_add(size) <= most,
        }
    }

    /// Whether this is more than may wait.
    pub(super) fn is_exceeded_by(self, backlog: Count) -> bool {
        match self {
            Self::Packets(most) => backlog.packets > most,
            Self::Bytes(most) => backlog.bytes > most,
        }
    }
}

/// A packet in the queue.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) packet: Packet<T>,
    /// When it came.
    pub(super) since: Timestamp,
}

/// What a discipline did to packets, until the link has put it into its books.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Dropped because the queue was full.
    pub(super) overflowed: Count,
    /// Dropped although there was room.
    pub(super) early: Count,
    /// Marked Congestion Experienced.
    pub(super) marked: Count,
}

impl Log {
    /// A packet is dropped because there is no room.
    pub(super) fn overflow<T>(&mut self, packet: &Packet<T>) {
        self.overflowed += packet.size;
    }

    /// A packet is dropped so that its sender slows down.
    pub(super) fn drop<T>(&mut self, packet: &Packet<T>) {
        self.early += packet.size;
    }

    /// Marks a packet instead, if it can be marked. One that is marked already counts once.
    pub(super) fn try_mark<T>(&mut self, packet: &mut Packet<T>) -> bool {
        if matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
            packet.ecn = Ecn::Ce;
            self.marked += packet.size;
        }
        packet.ecn == Ecn::Ce
    }
}

/// The queue of a link, of one discipline or another.
#[derive(Debug)]
pub(super) struct Queue<T> {
    aqm: Aqm,
    discipline: AnyDiscipline<T>,
}

#[derive(Debug)]
enum AnyDiscipline<T> {
    DropTail(DropTail<T>),
    DropHead(DropHead<T>),
    Codel(Codel<T>),
    Red(Red<T>),
    Pie(Pie<T>),
    DualPi2(DualPi2<T>),
    FqCodel(FqCodel<T>),
    Cake(Cake<T>),
}

impl<T> Queue<T> {
    /// Disciplines that draw random numbers draw them from `seed`.
    pub(super) fn new(setup: Setup, seed: u64) -> Self {
        let Setup {
            aqm,
            capacity,
            rate,
        } = setup;
        let rng = Rng::derive(seed, label::QUEUE);
        let discipline = match aqm {
            Aqm::DropTail => AnyDiscipline::DropTail(DropTail::new(capacity)),
            Aqm::DropHead => AnyDiscipline::DropHead(DropHead::new(capacity)),
            Aqm::Codel(parameters) => AnyDiscipline::Codel(Codel::new(parameters, capacity)),
            Aqm::Red(parameters) => AnyDiscipline::Red(Red::new(parameters, capacity, rate, rng)),
            Aqm::Pie(parameters) => AnyDiscipline::Pie(Pie::new(parameters, capacity, rng)),
            Aqm::DualPi2(parameters) => {
                AnyDiscipline::DualPi2(DualPi2::new(parameters, capacity, rng))
            }
            Aqm::FqCodel(parameters) => {
                AnyDiscipline::FqCodel(FqCodel::new(parameters, capacity, rng))
            }
            Aqm::Cake(parameters) => {
                AnyDiscipline::Cake(Cake::new(parameters, capacity, rate, rng))
            }
        };
        Self { aqm, discipline }
    }

    /// Becomes another discipline, if `setup` names one; what waits is put into it.
    pub(super) fn set(&mut self, now: Timestamp, setup: Setup, seed: u64, log: &mut Log) {
        if setup.aqm == self.aqm {
            self.get_mut().set_capacity(setup.capacity);
            return self.get_mut().set_rate(setup.rate);
        }
        let mut old = core::mem::replace(self, Self::new(setup, seed));
        while let Some(Waiting { packet, .. }) = old.take() {
            self.get_mut().enqueue(now, packet, log);
        }
    }

    pub(super) fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, log: &mut Log) {
        self.get_mut().enqueue(now, packet, log);
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, log: &mut Log) -> Option<Waiting<T>> {
        self.get_mut().dequeue(now, log)
    }

    pub(super) fn take(&mut self) -> Option<Waiting<T>> {
        self.get_mut().take()
    }

    pub(super) fn backlog(&self) -> Count {
        match &self.discipline {
            AnyDiscipline::DropTail(queue) => queue.backlog(),
            AnyDiscipline::DropHead(queue) => queue.backlog(),
            AnyDiscipline::Codel(queue) => queue.backlog(),
            AnyDiscipline::Red(queue) => queue.backlog(),
            AnyDiscipline::Pie(queue) => queue.backlog(),
            AnyDiscipline::DualPi2(queue) => queue.backlog(),
            AnyDiscipline::FqCodel(queue) => queue.backlog(),
            AnyDiscipline::Cake(queue) => queue.backlog(),
        }
    }

    fn get_mut(&mut self) -> &mut dyn Discipline<T> {
        match &mut self.discipline {
            AnyDiscipline::DropTail(queue) => queue,
            AnyDiscipline::DropHead(queue) => queue,
            AnyDiscipline::Codel(queue) => queue,
            AnyDiscipline::Red(queue) => queue,
            AnyDiscipline::Pie(queue) => queue,
            AnyDiscipline::DualPi2(queue) => queue,
            AnyDiscipline::FqCodel(queue) => queue,
            AnyDiscipline::Cake(queue) => queue,
        }
    }
}
