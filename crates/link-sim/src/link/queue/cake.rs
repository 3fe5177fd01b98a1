mod cobalt;
mod sets;

#[cfg(test)]
mod tests;

use super::discipline::{Discipline, QueueEvents, QueuedPacket};
use super::flows::{Deficit, FlowHash, FlowQueues};
use super::rotation::Rotation;
use crate::packet::Packet;
use crate::spec::{self, Capacity, FULL_FRAME};
use crate::stats::Count;
use cobalt::{Cobalt, Parameters};
use sets::Sets;
use units::{Bandwidth, Bytes, Rng, Timestamp};

/// Common Applications Kept Enhanced (Linux 6.18's `sch_cake.c`) with one tin, which isolates
/// flows; the shaper is whatever serves the queue.
///
/// Flows are hashed into sets of queues, where each finds one of its own while there are any.
/// Queues are served in turn as in FQ-CoDel, each managed by COBALT. One whose packets are all
/// gone stays until its COBALT has come to rest. When all together hold too much, the longest
/// queue loses a packet at a time.
#[derive(Debug)]
pub(super) struct Cake<T> {
    spec: spec::aqm::Cake,
    parameters: Parameters,
    quantum: Bytes,
    capacity: Capacity,
    queues: FlowQueues<T>,
    flows: Box<[Flow]>,
    rotation: Rotation,
    sets: Sets,
    hash: FlowHash,
    rng: Rng,
}

#[derive(Debug)]
struct Flow {
    cobalt: Cobalt,
    deficit: Deficit,
    /// Empty, and listed only until COBALT has come to rest.
    is_decaying: bool,
}

impl Flow {
    fn new() -> Self {
        Self {
            cobalt: Cobalt::new(),
            deficit: Deficit::default(),
            is_decaying: false,
        }
    }
}

impl<T> Cake<T> {
    pub(super) fn new(
        spec: spec::aqm::Cake,
        capacity: Capacity,
        rate: Bandwidth,
        mut rng: Rng,
    ) -> Self {
        Self {
            spec,
            parameters: Parameters::new(spec.rtt, rate),
            quantum: quantum(rate),
            capacity,
            queues: FlowQueues::new(QUEUES),
            flows: core::iter::repeat_with(Flow::new).take(QUEUES).collect(),
            rotation: Rotation::new(QUEUES, LISTS),
            sets: Sets::new(QUEUES),
            hash: FlowHash::new(rng.next_u64()),
            rng,
        }
    }

    /// The flow to serve next. The first one that a packet is asked of may be a decaying one.
    fn next_flow(&self, is_first: bool) -> Option<usize> {
        let decaying = is_first.then(|| self.rotation.first(DECAYING)).flatten();
        decaying
            .or_else(|| self.rotation.first(NEW))
            .or_else(|| self.rotation.first(OLD))
    }

    /// Serves flow after flow, each by its queue, until `serve` gets a packet from one.
    fn serve(
        &mut self,
        now: Timestamp,
        mut serve: impl FnMut(&mut Self, usize) -> Option<QueuedPacket<T>>,
    ) -> Option<QueuedPacket<T>> {
        let mut is_first = true;
        while self.queues.total().packets > 0 {
            let index = self.next_flow(is_first)?;
            is_first = false;
            if self.flows[index].deficit.is_spent() {
                self.flows[index].deficit.add(self.quantum);
                self.rotation.move_to_end(index, OLD);
            } else if let Some(waiting) = serve(self, index) {
                self.flows[index].deficit.charge(waiting.packet.size);
                return Some(waiting);
            } else {
                self.retire(index, now);
            }
        }
        None
    }

    fn retire(&mut self, index: usize, now: Timestamp) {
        let flow = &mut self.flows[index];
        flow.cobalt.note_empty(now, &self.parameters);
        flow.is_decaying = !flow.cobalt.is_at_rest(now);
        if flow.is_decaying {
            self.rotation.move_to_end(index, DECAYING);
        } else {
            self.rotation.remove(index);
        }
    }

    /// The next packet of a queue that COBALT lets pass. It never drops the last one.
    fn pop_managed(
        &mut self,
        index: usize,
        now: Timestamp,
        events: &mut QueueEvents,
    ) -> Option<QueuedPacket<T>> {
        loop {
            let mut waiting = self.queues.pop(index)?;
            let is_last = self.queues.backlog(index).packets == 0;
            let verdict = self.flows[index].cobalt.judge(
                now,
                &self.parameters,
                now.since(waiting.since),
                waiting.packet.ecn,
                &mut self.rng,
            );
            if verdict.drop && !is_last {
                events.drop(&waiting.packet);
                continue;
            }
            if verdict.mark {
                events.try_mark(&mut waiting.packet);
            }
            return Some(waiting);
        }
    }

    fn drop_one(&mut self, now: Timestamp, events: &mut QueueEvents) {
        if let Some(index) = self.queues.longest()
            && let Some(waiting) = self.queues.pop(index)
        {
            events.overflow(&waiting.packet);
            self.flows[index].cobalt.note_full(now, &self.parameters);
        }
    }
}

impl<T> Discipline<T> for Cake<T> {
    fn enqueue(&mut self, now: Timestamp, packet: Packet<T>, events: &mut QueueEvents) {
        let is_taken = |queue| self.rotation.is_listed(queue);
        let index = self.sets.classify(self.hash.of(packet.flow), is_taken);
        self.queues.push(index, now, packet);
        let flow = &mut self.flows[index];
        if flow.is_decaying || !self.rotation.is_listed(index) {
            flow.is_decaying = false;
            flow.deficit.begin(self.quantum);
            self.rotation.move_to_end(index, NEW);
        }
        while self.capacity.is_exceeded_by(self.queues.total()) {
            self.drop_one(now, events);
        }
    }

    fn dequeue(&mut self, now: Timestamp, events: &mut QueueEvents) -> Option<QueuedPacket<T>> {
        self.serve(now, |cake, index| cake.pop_managed(index, now, events))
    }

    fn backlog(&self) -> Count {
        self.queues.total()
    }

    fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    fn set_rate(&mut self, rate: Bandwidth) {
        self.parameters = Parameters::new(self.spec.rtt, rate);
        self.quantum = quantum(rate);
    }

    fn take(&mut self) -> Option<QueuedPacket<T>> {
        // The time would only tell how far COBALT's state has decayed.
        self.serve(Timestamp::ZERO, |cake, index| cake.queues.pop(index))
    }
}

/// What may be sent in 1/4096 s, within bounds (`cake_set_rate`).
fn quantum(rate: Bandwidth) -> Bytes {
    Bytes::new(rate.bytes_per_sec() / 4_096).clamp(MIN_QUANTUM, FULL_FRAME)
}

const QUEUES: usize = 1_024;
/// The lists of a [`Rotation`]: queues that were empty until now, those that were not, and those
/// that are.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;
const LISTS: usize = 3;
const MIN_QUANTUM: Bytes = Bytes::new(300);
