#[cfg(test)]
mod tests;

use super::codel::{ControlLaw, Mtu};
use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::flows::{Deficit, FlowHash, FlowQueues};
use super::rotation::Rotation;
use crate::packet::Packet;
use crate::spec::{self, Capacity};
use crate::stats::Count;
use units::{Bytes, Rng, Timestamp};

/// Flow queues with controlled delay (RFC 8290, and Linux 6.18's `sch_fq_codel.c`).
///
/// Flows are hashed into queues, which are served in turn, each for a quantum of bytes. A queue
/// that was empty is served before those that were not, once; so what does not build a queue does
/// not wait behind what does. Each queue has a CoDel of its own. When all together hold too much,
/// the longest queue loses half of what it holds, but no more than a batch.
#[derive(Debug)]
pub(super) struct FqCodel<T> {
    parameters: spec::aqm::FqCodel,
    capacity: Capacity,
    queues: FlowQueues<T>,
    flows: Box<[Flow]>,
    rotation: Rotation,
    hash: FlowHash,
    mtu: Mtu,
}

#[derive(Debug)]
struct Flow {
    control: ControlLaw,
    deficit: Deficit,
}

impl Flow {
    fn new() -> Self {
        Self {
            control: ControlLaw::new(),
            deficit: Deficit::default(),
        }
    }
}

impl<T> FqCodel<T> {
    pub(super) fn new(parameters: spec::aqm::FqCodel, capacity: Capacity, mut rng: Rng) -> Self {
        let count = parameters.flows as usize;
        Self {
            parameters,
            capacity,
            queues: FlowQueues::new(count),
            flows: core::iter::repeat_with(Flow::new).take(count).collect(),
            rotation: Rotation::new(count, LISTS),
            hash: FlowHash::new(rng.next_u64()),
            mtu: Mtu::default(),
        }
    }

    /// The queue of a flow: the hash as a fraction of all queues.
    fn classify(&self, flow: u64) -> usize {
        let scaled = u128::from(self.hash.of(flow)) * u128::from(self.parameters.flows);
        (scaled >> 64) as usize
    }

    fn drop_batch(&mut self, events: &mut QueueEvents) {
        let Some(index) = self.queues.longest() else {
            return;
        };
        let half = Bytes::new(self.queues.backlog(index).bytes.get() / 2);
        let (mut packets, mut bytes) = (0, Bytes::ZERO);
        while packets == 0 || (packets < BATCH && bytes < half) {
            let Some(waiting) = self.queues.pop(index) else {
                break;
            };
            events.overflow(&waiting.packet);
            packets += 1;
            bytes += waiting.packet.size;
        }
        self.flows[index].control.note_overflow(packets);
    }

    /// Serves flow after flow, each by its queue, until `serve` gets a packet from one.
    fn serve<F>(&mut self, mut serve: F) -> Option<QueuedPacket<T>>
    where
        F: FnMut(&mut FlowQueues<T>, usize, &mut ControlLaw) -> Option<QueuedPacket<T>>,
    {
        loop {
            let new = self.rotation.first(NEW);
            let index = new.or_else(|| self.rotation.first(OLD))?;
            let flow = &mut self.flows[index];
            if flow.deficit.is_spent() {
                flow.deficit.add(self.parameters.quantum);
                self.rotation.move_to_end(index, OLD);
                continue;
            }
            if let Some(waiting) = serve(&mut self.queues, index, &mut flow.control) {
                flow.deficit.charge(waiting.packet.size);
                return Some(waiting);
            }
            // A new queue that is empty has to wait its turn before it counts as new again, or
            // the old ones would starve.
            if new.is_some() && self.rotation.first(OLD).is_some() {
                self.rotation.move_to_end(index, OLD);
            } else {
                self.rotation.remove(index);
            }
        }
    }
}

impl<T> Discipline<T> for FqCodel<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        self.mtu.update(packet.size);
        let index = self.classify(packet.flow);
        self.queues.push(index, now, packet);
        if !self.rotation.is_listed(index) {
            self.rotation.move_to_end(index, NEW);
            self.flows[index].deficit.begin(self.parameters.quantum);
        }
        while self.capacity.is_exceeded_by(self.queues.total()) {
            self.drop_batch(events);
        }
    }

    fn dequeue(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        let (codel, mtu) = (self.parameters.codel, self.mtu);
        let mut serve = |queues: &mut FlowQueues<T>, index, control: &mut ControlLaw| {
            // What stands is judged by all queues together, as in Linux.
            let pop = || (queues.pop(index), queues.total().bytes);
            control.dequeue(now, &codel, mtu, events, pop)
        };
        let next = self.serve(&mut serve);
        if self.queues.total().packets == 0 {
            // The kernel asks again at once and finds nothing, so that no queue stays listed.
            self.serve(&mut serve);
        }
        next
    }

    fn backlog(&self) -> Count {
        self.queues.total()
    }

    fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    fn take(&mut self) -> Option<QueuedPacket<T>> {
        self.serve(|queues, index, _| queues.pop(index))
    }
}

/// The lists of a [`Rotation`]: queues that were empty until now, and the others.
const NEW: usize = 0;
const OLD: usize = 1;
const LISTS: usize = 2;
/// Linux's `drop_batch`.
const BATCH: u64 = 64;
