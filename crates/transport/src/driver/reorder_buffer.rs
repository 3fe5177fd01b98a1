//! Packets that came early, held back until older ones have come.
//!
//! ```text
//!            being waited for     newest handed on                          newest that has come
//!                  │                     │                                             │
//!   ───────────────┴── up to 126 numbers ┴──── held, as long as that one is plausible ─┘
//! ```
//!
//! quinn-proto 0.11 drops a packet that is 129 numbers behind the newest that it has had, unread
//! (quinn-rs/quinn#2710). So where packets have been that late, no packet is handed on that is more
//! than [`AHEAD`] numbers in front of one that may still come. May still come: a newer one has, but
//! less than the lateness ago, which is the longest time that a packet which quinn-proto would have
//! dropped has taken of late to follow a newer one. A packet that was lost is waited for as long;
//! what is less than [`AHEAD`] in front of it waits for nothing.
//!
//! The numbers are read before packets are authenticated. Forged ones can have others wait, no
//! longer than the lateness, which is at most [`MAX_LATENESS`].

use crate::quinn_proto_habits::MAX_LATE;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use units::Timestamp;

/// Holds packets of one connection, which are `T`s.
#[derive(Debug)]
pub(super) struct ReorderBuffer<T> {
    /// By number, and copies of one number by the order in which they came.
    held: BTreeMap<(u64, u64), Held<T>>,
    bytes: usize,
    /// How many packets have been held.
    count: u64,
    /// What has not come, though newer ones have: by number, and so by time as well.
    gaps: VecDeque<Gap>,
    /// One more than the newest number that has come.
    next: u64,
    /// The lateness in this period and in the one before.
    lateness: [Duration; 2],
    period_began: Timestamp,
    began: Timestamp,
    /// Of the newest packet handed on.
    key_phase: Option<bool>,
}

#[derive(Debug)]
struct Held<T> {
    packet: T,
    bytes: usize,
}

/// Numbers from `first` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    first: u64,
    end: u64,
    /// When the first packet came that is newer.
    since: Timestamp,
}

impl<T> ReorderBuffer<T> {
    /// For a connection that has just lost a packet because it came so late.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            held: BTreeMap::new(),
            bytes: 0,
            count: 0,
            gaps: VecDeque::new(),
            next: 0,
            lateness: [Duration::ZERO; 2],
            period_began: now,
            began: now,
            key_phase: None,
        }
    }

    /// A packet has come with this number, which is not authenticated. `newest` is the newest
    /// handed on.
    pub(super) fn on_arrival(&mut self, now: Timestamp, number: u64, newest: u64) {
        self.end_period(now);
        while let Some(gap) = self.gaps.front()
            && now.since(gap.since) > MAX_LATENESS
        {
            self.gaps.pop_front();
        }
        if self.next == 0 {
            self.next = newest + 1;
        }
        self.advance(now, newest);
        if number > newest.saturating_add(MAX_JUMP) {
            return;
        }
        if number >= self.next {
            return self.advance(now, number);
        }
        if let Some(since) = self.fill(number)
            && self.next - number > AHEAD
        {
            let lateness = now.since(since).min(MAX_LATENESS);
            self.lateness[0] = self.lateness[0].max(lateness);
        }
    }

    /// Whether a packet has to wait for older ones.
    pub(super) fn is_early(&self, now: Timestamp, number: u64, newest: u64) -> bool {
        number > self.limit(now, newest) && number <= newest.saturating_add(MAX_JUMP)
    }

    /// Whether the packet may be the first of another key phase (RFC 9001 §6), if it is newer than
    /// those that have been handed on.
    pub(super) fn changes_key_phase(&mut self, key_phase: bool) -> bool {
        let former = self.key_phase.replace(key_phase);
        former.is_some_and(|former| former != key_phase)
    }

    /// Holds a packet until [`Self::pop`] gives it.
    pub(super) fn push(&mut self, number: u64, bytes: usize, packet: T) {
        self.held
            .insert((number, self.count), Held { packet, bytes });
        self.bytes += bytes;
        self.count += 1;
    }

    /// The next packet that has nothing to wait for, or no room.
    pub(super) fn pop(&mut self, now: Timestamp, newest: u64) -> Option<T> {
        let ((number, _), _) = self.held.first_key_value()?;
        let is_full = self.held.len() > MAX_HELD || self.bytes > MAX_BYTES;
        (is_full || *number <= self.limit(now, newest)).then(|| self.pop_first())?
    }

    /// The next packet that is older than this one.
    pub(super) fn pop_before(&mut self, number: u64) -> Option<T> {
        let ((first, _), _) = self.held.first_key_value()?;
        (*first < number).then(|| self.pop_first())?
    }

    /// Whether a packet is held that is older than this one.
    pub(super) fn has_before(&self, number: u64) -> bool {
        let first = self.held.first_key_value();
        first.is_some_and(|((first, _), _)| *first < number)
    }

    fn pop_first(&mut self) -> Option<T> {
        let (_, held) = self.held.pop_first()?;
        self.bytes -= held.bytes;
        Some(held.packet)
    }

    /// When [`Self::pop`] gives something, whatever comes until then.
    pub(super) fn deadline(&self, now: Timestamp, newest: u64) -> Option<Timestamp> {
        let gap = self.blocking(now, newest)?;
        (!self.held.is_empty()).then(|| gap.since + self.lateness())
    }

    /// Whether no packet was late for so long that none need be held.
    pub(super) fn is_idle(&self, now: Timestamp) -> bool {
        let is_taught = now.since(self.began) >= PERIOD;
        is_taught && self.lateness().is_zero() && self.held.is_empty()
    }

    fn end_period(&mut self, now: Timestamp) {
        if now.since(self.period_began) >= PERIOD {
            self.lateness = [Duration::ZERO, self.lateness[0]];
            self.period_began = now;
        }
    }

    fn lateness(&self) -> Duration {
        self.lateness[0].max(self.lateness[1])
    }

    /// The newest number that may be handed on.
    fn limit(&self, now: Timestamp, newest: u64) -> u64 {
        let floor = newest.saturating_sub(AHEAD);
        let blocking = self.blocking(now, newest);
        blocking.map_or(u64::MAX, |gap| gap.first.max(floor).saturating_add(AHEAD))
    }

    /// The oldest gap that may still be filled, and with packets that quinn-proto would take.
    fn blocking(&self, now: Timestamp, newest: u64) -> Option<&Gap> {
        let lateness = self.lateness();
        let floor = newest.saturating_sub(AHEAD);
        let is_over = |gap: &Gap| gap.since + lateness <= now || gap.end <= floor;
        self.gaps.get(self.gaps.partition_point(is_over))
    }

    fn advance(&mut self, now: Timestamp, number: u64) {
        if number > self.next {
            if self.gaps.len() == MAX_GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back(Gap {
                first: self.next,
                end: number,
                since: now,
            });
        }
        self.next = self.next.max(number.saturating_add(1));
    }

    /// `number` is missing no longer. Since when it was.
    fn fill(&mut self, number: u64) -> Option<Timestamp> {
        let index = self.gaps.partition_point(|gap| gap.end <= number);
        let gap = self.gaps.get_mut(index).filter(|gap| gap.first <= number)?;
        let whole = *gap;
        gap.end = number;
        let rest = Gap {
            first: number + 1,
            ..whole
        };
        match (whole.first < number, rest.first < rest.end) {
            (true, true) if self.gaps.len() < MAX_GAPS => self.gaps.insert(index + 1, rest),
            (true, _) => {}
            (false, true) => self.gaps[index] = rest,
            (false, false) => drop(self.gaps.remove(index)),
        }
        Some(whole.since)
    }
}

/// How many numbers a packet may be in front of one that is missing. quinn-proto accepts
/// [`MAX_LATE`] behind its newest, and decodes a number of one octet to the right one up to 126
/// behind (RFC 9000 §A.3).
const AHEAD: u64 = 126;
const _: () = assert!(AHEAD <= MAX_LATE);
/// Packets and bytes of them that are held at most.
const MAX_HELD: usize = 4_096;
const MAX_BYTES: usize = 8 << 20;
/// How many numbers a packet that is held may be in front of the newest handed on: many more than
/// fit in here.
const MAX_JUMP: u64 = 4 * MAX_HELD as u64;
/// Gaps remembered: one for each packet that is missing where every second one is.
const MAX_GAPS: usize = 4_096;
/// For how long a gap is remembered, and so the greatest lateness that can be learnt.
const MAX_LATENESS: Duration = Duration::from_millis(250);
/// A lateness is remembered for one to two periods.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
