//! Whose turn it is to write while there is less room than the streams of a connection want.
//!
//! quinn-proto tells all streams that wait for room of it at once, the last to have waited first,
//! and whoever writes first may take all of it. Of four streams that always have more to write, the
//! first and the last would take turns, and the two between them would never write a byte. So what
//! each has written beside others is kept, as start-time fair queueing keeps it (Goyal, Vin and
//! Cheng, SIGCOMM 1996), and none gets more than [`SHARE`] ahead of another that could write, too.

use quinn_proto::{StreamId, Written};
use std::collections::{BTreeMap, BTreeSet};

/// What the streams that wait for room have written, and which of them can write now.
///
/// A stream that was told of room and does not come back counts for one round only: nothing waits
/// for an application that has changed its mind.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Bytes that a stream has written while others could have. For those in `told` and `held` it
    /// is no less than `clock`: nobody saves up for later.
    written: BTreeMap<StreamId, u64>,
    /// Streams that were told of room in this round and have not come back, by what they have
    /// written.
    told: BTreeSet<(u64, StreamId)>,
    /// Streams that have to wait for those behind them, in the same order.
    held: BTreeSet<(u64, StreamId)>,
    /// What the one that had written the least of all that could write had written, the last time
    /// that one of them did.
    clock: u64,
}

impl Turns {
    /// Whether nobody else has to come first.
    pub(super) fn is_next(&self, id: StreamId) -> bool {
        match self.least() {
            None => true,
            Some(least) => self.of(id) < least.saturating_add(SHARE),
        }
    }

    /// The stream has to wait for others, and will be told.
    pub(super) fn hold(&mut self, id: StreamId) {
        self.leave(id);
        let written = self.lift(id);
        self.held.insert((written, id));
    }

    /// The stream has written.
    pub(super) fn on_written(&mut self, id: StreamId, bytes: u64) {
        self.leave(id);
        if let Some(least) = self.least() {
            let written = self.lift(id);
            self.clock = self.clock.max(least.min(written));
            self.written.insert(id, written.saturating_add(bytes));
        }
    }

    /// The stream has found no room, or its writer wants none any more.
    pub(super) fn leave(&mut self, id: StreamId) {
        if let Some(written) = self.written.get(&id) {
            let key = (*written, id);
            self.told.remove(&key);
            self.held.remove(&key);
        }
    }

    /// The stream will not be written to any more.
    pub(super) fn forget(&mut self, id: StreamId) {
        self.leave(id);
        self.written.remove(&id);
    }

    /// A round begins: whoever was told of room before has had the time to use it.
    pub(super) fn begin_round(&mut self) {
        self.told.clear();
    }

    /// There is room for the stream. Whether it may hear of it now; else it will be told later.
    pub(super) fn tell(&mut self, id: StreamId) -> bool {
        let written = self.lift(id);
        let key = (written, id);
        let may_hear = !self.held.contains(&key);
        if may_hear {
            self.told.insert(key);
        }
        may_hear
    }

    /// The next stream that has waited for others long enough.
    pub(super) fn release(&mut self) -> Option<StreamId> {
        let least = self.least()?;
        let key = *self.held.first()?;
        if key.0 >= least.saturating_add(SHARE) {
            return None;
        }
        self.held.remove(&key);
        self.told.insert(key);
        Some(key.1)
    }

    /// Whether a stream waits for others: then another round is due.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Streams of which something is kept.
    #[cfg(feature = "testing")]
    pub(super) fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.written.keys().copied()
    }

    /// What the stream counts as having written.
    fn of(&self, id: StreamId) -> u64 {
        let written = self.written.get(&id).copied().unwrap_or(0);
        written.max(self.clock)
    }

    /// The same, which is kept. To be called while it is in neither set, or has not to be moved.
    fn lift(&mut self, id: StreamId) -> u64 {
        let written = self.of(id);
        self.written.insert(id, written);
        written
    }

    /// What the one of those that can write has written that has written the least.
    fn least(&self) -> Option<u64> {
        let sets = [&self.told, &self.held];
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
    fn begin_round(turns: &mut Turns, all: &[u64]) -> Vec<StreamId> {
        turns.begin_round();
        let all = all.iter().copied().map(stream);
        let mut told: Vec<StreamId> = all.filter(|id| turns.tell(*id)).collect();
        told.extend(std::iter::from_fn(|| turns.release()));
        told
    }

    /// Has a stream write so much if it is its turn; else it is held.
    fn write(turns: &mut Turns, index: u64, bytes: u64) -> bool {
        let is_next = turns.is_next(stream(index));
        if is_next {
            turns.on_written(stream(index), bytes);
        } else {
            turns.hold(stream(index));
        }
        is_next
    }

    #[test]
    fn a_stream_alone_never_waits() {
        let mut turns = Turns::default();
        for _ in 0..3 {
            assert_eq!(begin_round(&mut turns, &[0]), [stream(0)]);
            for _ in 0..100 {
                assert!(write(&mut turns, 0, SHARE));
            }
        }
        assert!(!turns.is_holding());
    }

    #[test]
    fn whoever_has_had_its_share_waits_for_those_that_can_write() {
        let mut turns = Turns::default();
        begin_round(&mut turns, &[0, 1]);
        assert!(write(&mut turns, 0, SHARE - 1));
        assert!(write(&mut turns, 0, 1));
        assert!(!write(&mut turns, 0, 1));
        assert!(write(&mut turns, 1, 1));
        // Now the other one is the only one that waits.
        assert!(write(&mut turns, 1, SHARE - 2));
        assert!(write(&mut turns, 1, SHARE));
        assert!(write(&mut turns, 1, 1));
        assert!(!write(&mut turns, 1, 1));
        assert_eq!(begin_round(&mut turns, &[]), [stream(0)]);
        assert!(turns.is_holding());
    }

    #[test]
    fn whoever_finds_no_room_goes_first_when_there_is_some() {
        let mut turns = Turns::default();
        begin_round(&mut turns, &[0, 1]);
        assert!(write(&mut turns, 0, SHARE));
        turns.leave(stream(1));
        assert!(turns.is_next(stream(0)), "nobody else can write");
        turns.leave(stream(0));
        begin_round(&mut turns, &[0, 1]);
        assert!(!write(&mut turns, 0, 1));
        assert!(write(&mut turns, 1, SHARE));
    }

    #[test]
    fn nothing_waits_for_an_application_that_does_not_come_back() {
        let mut turns = Turns::default();
        begin_round(&mut turns, &[0, 1]);
        assert!(write(&mut turns, 0, SHARE));
        assert!(!write(&mut turns, 0, SHARE));
        assert_eq!(begin_round(&mut turns, &[]), [stream(0)]);
        assert!(write(&mut turns, 0, SHARE));
        assert!(write(&mut turns, 0, SHARE));
    }

    #[test]
    fn a_stream_that_is_held_is_told_when_it_is_its_turn() {
        let mut turns = Turns::default();
        begin_round(&mut turns, &[0, 1]);
        assert!(write(&mut turns, 0, 2 * SHARE));
        assert!(!write(&mut turns, 0, 1));
        assert_eq!(begin_round(&mut turns, &[0, 1]), [stream(1)]);
        assert!(turns.is_holding());
        assert_eq!(begin_round(&mut turns, &[]), [stream(0)]);
    }

    #[test]
    fn whoever_comes_late_has_saved_nothing_up() {
        let mut turns = Turns::default();
        for _ in 0..10 {
            begin_round(&mut turns, &[0, 1]);
            for index in [0, 1] {
                while write(&mut turns, index, SHARE) {}
            }
        }
        begin_round(&mut turns, &[0, 1, 2]);
        let writes = (0..20).take_while(|_| write(&mut turns, 2, SHARE));
        assert!((1..=3).contains(&writes.count()));
    }

    #[test]
    fn a_stream_that_is_over_is_forgotten() {
        let mut turns = Turns::default();
        begin_round(&mut turns, &[0, 1]);
        assert!(write(&mut turns, 0, SHARE));
        assert!(!write(&mut turns, 0, SHARE));
        turns.forget(stream(1));
        turns.forget(stream(0));
        assert!(!turns.is_holding() && turns.told.is_empty() && turns.written.is_empty());
    }
}
