//! The queue before the bottleneck, one discipline per file.

mod cake;
mod codel;
mod discipline;
mod drop;
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
use crate::packet::Packet;
use crate::spec::Aqm;
use crate::stats::Count;
use cake::Cake;
use codel::Codel;
use discipline::Discipline;
pub(super) use discipline::{QueueConfig, QueueEvents, QueuedPacket};
use drop::DropQueue;
use dualpi2::DualPi2;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use units::{Rng, Timestamp};

#[derive(Debug)]
pub(super) struct Queue<T> {
    aqm: Aqm,
    discipline: AnyDiscipline<T>,
}

#[derive(Debug)]
enum AnyDiscipline<T> {
    Drop(DropQueue<T>),
    Codel(Codel<T>),
    Red(Red<T>),
    Pie(Pie<T>),
    DualPi2(DualPi2<T>),
    FqCodel(FqCodel<T>),
    Cake(Cake<T>),
}

impl<T> Queue<T> {
    /// Disciplines that draw random numbers draw them from `seed`.
    pub(super) fn new(config: QueueConfig, seed: u64) -> Self {
        let QueueConfig {
            aqm,
            capacity,
            rate,
        } = config;
        let rng = Rng::derive(seed, label::QUEUE);
        let discipline = match aqm {
            Aqm::DropTail => AnyDiscipline::Drop(DropQueue::new(capacity, false)),
            Aqm::DropHead => AnyDiscipline::Drop(DropQueue::new(capacity, true)),
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

    /// Becomes another discipline, if `config` names one; what waits is put into it.
    pub(super) fn set(
        &mut self,
        now: Timestamp,
        config: QueueConfig,
        seed: u64,
        events: &mut QueueEvents,
    ) {
        if config.aqm == self.aqm {
            self.get_mut().set_capacity(config.capacity);
            return self.get_mut().set_rate(config.rate);
        }
        let mut old = core::mem::replace(self, Self::new(config, seed));
        while let Some(QueuedPacket { packet, .. }) = old.take() {
            self.get_mut().enqueue(now, packet, events);
        }
    }

    pub(super) fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        self.get_mut().enqueue(now, packet, events);
    }

    pub(super) fn dequeue(
        &mut self,
        now: Timestamp,
        events: &mut QueueEvents,
    ) -> Option<QueuedPacket<T>> {
        self.get_mut().dequeue(now, events)
    }

    pub(super) fn take(&mut self) -> Option<QueuedPacket<T>> {
        self.get_mut().take()
    }

    pub(super) fn backlog(&self) -> Count {
        match &self.discipline {
            AnyDiscipline::Drop(queue) => queue.backlog(),
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
            AnyDiscipline::Drop(queue) => queue,
            AnyDiscipline::Codel(queue) => queue,
            AnyDiscipline::Red(queue) => queue,
            AnyDiscipline::Pie(queue) => queue,
            AnyDiscipline::DualPi2(queue) => queue,
            AnyDiscipline::FqCodel(queue) => queue,
            AnyDiscipline::Cake(queue) => queue,
        }
    }
}
