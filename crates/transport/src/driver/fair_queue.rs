//! Fair queueing of the streams that wait for room in the send window.
//!
//! quinn-proto notifies all waiting streams at once when there is room, the one that began to wait
//! last first, and the first to write may take all of it. Of four streams that always have more to
//! write, the first and the last would alternate, and the two between them would starve. So each
//! stream has a start tag, the bytes that it has written while others waited, as in start-time fair
//! queueing (Goyal, Vin and Cheng, SIGCOMM 1996), and none gets more than [`SHARE`] ahead of
//! another that could write, too.

use quinn_proto::{StreamId, Written};
use std::collections::{BTreeMap, BTreeSet};

/// What the streams that wait for room have written, and which of them can write now.
///
/// A stream that was notified of room and does not write counts for one round only: nothing waits
/// for an application that has nothing to write any more.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// Start tags: bytes that a stream has written while others could have. For those in `notified`
    /// and `deferred` they are no less than `clock`: an idle stream saves up nothing.
    written: BTreeMap<StreamId, u64>,
    /// Streams that were notified of room in this round and have not written, by start tag.
    notified: BTreeSet<(u64, StreamId)>,
    /// Streams that have to wait for others, by start tag.
    deferred: BTreeSet<(u64, StreamId)>,
    /// Virtual time: the least start tag of those that could write, when one of them last wrote.
    clock: u64,
}

impl FairQueue {
    /// Whether no other stream has to write first.
    pub(super) fn may_write(&self, id: StreamId) -> bool {
        match self.least() {
            None => true,
            Some(least) => self.of(id) < least.saturating_add(SHARE),
        }
    }

    /// The stream has to wait for others, and will be notified.
    pub(super) fn defer(&mut self, id: StreamId) {
        self.dequeue(id);
        let written = self.start_tag(id);
        self.deferred.insert((written, id));
    }

    pub(super) fn on_written(&mut self, id: StreamId, bytes: u64) {
        self.dequeue(id);
        if let Some(least) = self.least() {
            let written = self.start_tag(id);
            self.clock = self.clock.max(least.min(written));
            self.written.insert(id, written.saturating_add(bytes));
        }
    }

    /// The stream has found no room, or its writer wants none any more.
    pub(super) fn dequeue(&mut self, id: StreamId) {
        if let Some(written) = self.written.get(&id) {
            let key = (*written, id);
            self.notified.remove(&key);
            self.deferred.remove(&key);
        }
    }

    /// The stream will not be written to any more.
    pub(super) fn remove(&mut self, id: StreamId) {
        self.dequeue(id);
        self.written.remove(&id);
    }

    /// A round begins: the streams notified before have had the time to write.
    pub(super) fn begin_round(&mut self) {
        self.notified.clear();
    }

    /// There is room for the stream. Whether it is to be notified now; else it will be later.
    pub(super) fn on_room(&mut self, id: StreamId) -> bool {
        let key = (self.start_tag(id), id);
        let is_notified = !self.deferred.contains(&key);
        if is_notified {
            self.notified.insert(key);
        }
        is_notified
    }

    /// The next stream that has waited for others long enough.
    pub(super) fn next_deferred(&mut self) -> Option<StreamId> {
        let least = self.least()?;
        let key = *self.deferred.first()?;
        if key.0 >= least.saturating_add(SHARE) {
            return None;
        }
        self.deferred.remove(&key);
        self.notified.insert(key);
        Some(key.1)
    }

    /// Whether a stream waits for others: then another round is due.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    #[cfg(feature = "testing")]
    pub(super) fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.written.keys().copied()
    }

    /// The stream's start tag.
    fn of(&self, id: StreamId) -> u64 {
        self.written.get(&id).copied().unwrap_or(0).max(self.clock)
    }

    /// The same, which is kept. To be called while the stream is in neither set, or keeps its tag.
    fn start_tag(&mut self, id: StreamId) -> u64 {
        let written = self.of(id);
        self.written.insert(id, written);
        written
    }

    /// The least start tag of those that can write.
    fn least(&self) -> Option<u64> {
        let sets = [&self.notified, &self.deferred];
        let firsts = sets.into_iter().filter_map(BTreeSet::first);
        firsts.map(|(written, _)| *written).min()
    }
}

/// How much was written.
pub(crate) trait Amount {
    /// In bytes.
    fn bytes(&self) -> u64;
}

impl Amount for usize {
    fn bytes(&self) -> u64 {
        *self as u64
    }
}

impl Amount for Written {
    fn bytes(&self) -> u64 {
        self.bytes.bytes()
    }
}

/// How far a stream may be ahead of another: about what one UDP message of the largest size takes,
/// so that small writes still fill it.
const SHARE: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use quinn_proto::{Dir, Side};

    fn stream(index: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Uni, index)
    }

    /// Tells `all` of room in a new round, and then those that have waited for others.
    fn begin_round(queue: &mut FairQueue, all: &[u64]) -> Vec<StreamId> {
        queue.begin_round();
        let all = all.iter().copied().map(stream);
        let mut notified: Vec<StreamId> = all.filter(|id| queue.on_room(*id)).collect();
        notified.extend(std::iter::from_fn(|| queue.next_deferred()));
        notified
    }

    /// Has a stream write so much if it may; else it is deferred.
    fn write(queue: &mut FairQueue, index: u64, bytes: u64) -> bool {
        let may_write = queue.may_write(stream(index));
        if may_write {
            queue.on_written(stream(index), bytes);
        } else {
            queue.defer(stream(index));
        }
        may_write
    }

    #[test]
    fn a_stream_alone_never_waits() {
        let mut queue = FairQueue::default();
        for _ in 0..3 {
            assert_eq!(begin_round(&mut queue, &[0]), [stream(0)]);
            for _ in 0..100 {
                assert!(write(&mut queue, 0, SHARE));
            }
        }
        assert!(!queue.has_deferred());
    }

    #[test]
    fn whoever_has_had_its_share_waits_for_those_that_can_write() {
        let mut queue = FairQueue::default();
        begin_round(&mut queue, &[0, 1]);
        assert!(write(&mut queue, 0, SHARE - 1));
        assert!(write(&mut queue, 0, 1));
        assert!(!write(&mut queue, 0, 1));
        assert!(write(&mut queue, 1, 1));
        // Now the other one is the only one that waits.
        assert!(write(&mut queue, 1, SHARE - 2));
        assert!(write(&mut queue, 1, SHARE));
        assert!(write(&mut queue, 1, 1));
        assert!(!write(&mut queue, 1, 1));
        assert_eq!(begin_round(&mut queue, &[]), [stream(0)]);
        assert!(queue.has_deferred());
    }

    #[test]
    fn whoever_finds_no_room_goes_first_when_there_is_some() {
        let mut queue = FairQueue::default();
        begin_round(&mut queue, &[0, 1]);
        assert!(write(&mut queue, 0, SHARE));
        queue.dequeue(stream(1));
        assert!(queue.may_write(stream(0)), "nobody else can write");
        queue.dequeue(stream(0));
        begin_round(&mut queue, &[0, 1]);
        assert!(!write(&mut queue, 0, 1));
        assert!(write(&mut queue, 1, SHARE));
    }

    #[test]
    fn nothing_waits_for_an_application_that_does_not_come_back() {
        let mut queue = FairQueue::default();
        begin_round(&mut queue, &[0, 1]);
        assert!(write(&mut queue, 0, SHARE));
        assert!(!write(&mut queue, 0, SHARE));
        assert_eq!(begin_round(&mut queue, &[]), [stream(0)]);
        assert!(write(&mut queue, 0, SHARE));
        assert!(write(&mut queue, 0, SHARE));
    }

    #[test]
    fn a_stream_that_is_held_is_told_when_it_is_its_turn() {
        let mut queue = FairQueue::default();
        begin_round(&mut queue, &[0, 1]);
        assert!(write(&mut queue, 0, 2 * SHARE));
        assert!(!write(&mut queue, 0, 1));
        assert_eq!(begin_round(&mut queue, &[0, 1]), [stream(1)]);
        assert!(queue.has_deferred());
        assert_eq!(begin_round(&mut queue, &[]), [stream(0)]);
    }

    #[test]
    fn whoever_comes_late_has_saved_nothing_up() {
        let mut queue = FairQueue::default();
        for _ in 0..10 {
            begin_round(&mut queue, &[0, 1]);
            for index in [0, 1] {
                while write(&mut queue, index, SHARE) {}
            }
        }
        begin_round(&mut queue, &[0, 1, 2]);
        let writes = (0..20).take_while(|_| write(&mut queue, 2, SHARE));
        assert!((1..=3).contains(&writes.count()));
    }

    #[test]
    fn a_stream_that_is_over_is_forgotten() {
        let mut queue = FairQueue::default();
        begin_round(&mut queue, &[0, 1]);
        assert!(write(&mut queue, 0, SHARE));
        assert!(!write(&mut queue, 0, SHARE));
        queue.remove(stream(1));
        queue.remove(stream(0));
        assert!(!queue.has_deferred() && queue.notified.is_empty() && queue.written.is_empty());
    }
}
