//! The window of what may have been written and not been acknowledged.

use super::window_size::WindowSize;
use crate::budget::Budget;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// How many bytes may have been written and not yet been acknowledged: enough that the controller
/// is never limited by it, and not much more.
///
/// Usually that is twice the congestion window: one window is in flight while the next one is
/// written. Where the congestion window is not used, because the machine or the other side is
/// slower, it is twice what is in flight, and what an endpoint sends in one turn.
///
/// With losses this is too little: what was sent behind a missing packet stays in the buffer until
/// that packet has arrived, and one that is lost three times takes five round trips. quinn-proto
/// does not tell how much that is. But it is known when the buffer is too small: a writer waits,
/// nothing is left to be sent, and more could be. Then it grows by an eighth, at once, until this
/// is no longer so. What is not used for a round trip shrinks by an eighth.
///
/// A writer may wait for the peer's credit instead, which quinn-proto does not tell either. Then it
/// goes on waiting though the window has grown, and the growth is taken back.
#[derive(Debug)]
pub(super) struct SendWindow {
    size: WindowSize,
    /// The largest size since a writer could last go on: no more than that is in the buffer.
    filled: u64,
    /// When the present round trip began, the most that was usual in it, and whether the window
    /// was too small.
    since: Timestamp,
    usual: u64,
    was_exhausted: bool,
    trial: Trial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    /// The window may grow by one.
    Possible,
    /// The window has grown by so much, and whether a writer can go on is not known yet.
    Pending { growth: u64 },
    /// No writer could go on. They wait for the peer, until one of them can.
    Failed,
}

impl SendWindow {
    pub(super) fn new(now: Timestamp, from_to: (u64, u64), budget: &Arc<Budget>) -> Self {
        Self {
            size: WindowSize::new(from_to, budget),
            filled: from_to.0,
            since: now,
            usual: 0,
            was_exhausted: false,
            trial: Trial::Possible,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size.get()
    }

    /// Stays at `size` from now on.
    pub(super) fn fix(&mut self, size: u64) {
        self.size.fix(size);
        self.filled = self.filled.max(size);
        self.trial = Trial::Possible;
    }

    /// Grows to `most` from now on, and never shrinks below what it is where it is fixed.
    pub(super) fn set_most(&mut self, most: u64) {
        self.size.set_most(most);
    }

    /// The congestion window is `cwnd`, of which `in_flight` is used. The new size, if that changes
    /// it.
    pub(super) fn tune(
        &mut self,
        now: Timestamp,
        rtt: Duration,
        cwnd: Bytes,
        in_flight: Bytes,
    ) -> Option<u64> {
        if !self.size.is_open() {
            return None;
        }
        let used = in_flight.get().saturating_mul(2).saturating_add(TASK_TURN);
        let usual = cwnd.get().saturating_mul(2).min(used);
        self.usual = self.usual.max(self.size.clamp(usual));
        let before = self.size();
        self.filled = self.filled.max(before);
        let wanted = self.usual.saturating_sub(before);
        // In steps of an eighth, the last one aside: a window that grows with each ACK costs a call
        // into quinn-proto with each.
        if wanted >= before / STEP || self.usual == self.size.most() {
            self.size.grow_to(self.usual);
        }
        if now.since(self.since) >= rtt {
            if !std::mem::take(&mut self.was_exhausted) {
                let excess = self.size().saturating_sub(self.usual);
                self.size.shrink(excess.div_ceil(STEP));
            }
            self.since = now;
            self.usual = 0;
        }
        (self.size() != before).then_some(self.size())
    }

    /// A writer waits, nothing is left to be sent, and more could be. The new size, if that may
    /// help; then [`Self::end_trial`] is to follow.
    pub(super) fn on_exhausted(&mut self) -> Option<u64> {
        if self.trial != Trial::Possible {
            return None;
        }
        self.filled = self.filled.max(self.size());
        let target = self.filled + (self.filled / STEP).max(MIN_STEP);
        let growth = self.size.grow_to(target);
        if growth == 0 {
            return None;
        }
        self.was_exhausted = true;
        self.trial = Trial::Pending { growth };
        Some(self.size())
    }

    /// A writer can go on.
    pub(super) fn on_writable(&mut self) {
        self.filled = self.size();
        self.trial = Trial::Possible;
    }

    /// Whether the window has grown and [`Self::end_trial`] is due.
    pub(super) fn is_on_trial(&self) -> bool {
        matches!(self.trial, Trial::Pending { .. })
    }

    /// All who can go on have been told. The new size, if nobody could.
    pub(super) fn end_trial(&mut self) -> Option<u64> {
        let Trial::Pending { growth } = self.trial else {
            return None;
        };
        self.trial = Trial::Failed;
        self.size.shrink(growth);
        Some(self.size())
    }
}

/// What an endpoint sends in one turn of its task.
const TASK_TURN: u64 = 1 << 20;

/// An eighth of the window is half a round trip's worth where two of them fill it.
const STEP: u64 = 8;

/// A batch of packets as large as one may be.
const MIN_STEP: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const START: u64 = 1 << 20;
    const MOST: u64 = 64 << 20;
    const MIB: Bytes = Bytes::new(1 << 20);

    fn at(round: u32) -> Timestamp {
        Timestamp::ZERO + RTT * round
    }

    fn window(budget: &Arc<Budget>) -> SendWindow {
        SendWindow::new(Timestamp::ZERO, (START, MOST), budget)
    }

    #[test]
    fn it_is_twice_the_congestion_window() {
        let mut window = window(&Arc::default());
        let mut tune = |cwnd: Bytes| window.tune(at(0), RTT, cwnd, cwnd);
        assert_eq!(tune(Bytes::new(START / 3)), None);
        assert_eq!(tune(MIB * 2), Some(4 << 20));
        assert_eq!(tune(Bytes::new((2 << 20) + 1_000)), None, "not worth it");
        assert_eq!(tune(Bytes::MAX), Some(MOST));
        assert_eq!(tune(Bytes::MAX), None);
    }

    #[test]
    fn of_a_congestion_window_that_is_not_used_it_has_a_turn_of_the_endpoint() {
        let mut window = window(&Arc::default());
        assert_eq!(window.tune(at(0), RTT, MIB * 20, Bytes::ZERO), None);
        assert_eq!(window.tune(at(0), RTT, MIB * 20, MIB * 2), Some(5 << 20));
    }

    #[test]
    fn it_grows_while_that_lets_writers_go_on() {
        let mut window = window(&Arc::default());
        let mut size = START;
        for _ in 0..8 {
            size += size / 8;
            assert_eq!(window.on_exhausted(), Some(size));
            assert!(window.is_on_trial());
            window.on_writable();
            assert_eq!(window.end_trial(), None);
        }
        for _ in 0..100 {
            window.on_exhausted();
            window.on_writable();
        }
        assert_eq!((window.size(), window.on_exhausted()), (MOST, None));
    }

    #[test]
    fn growth_that_does_not_help_is_taken_back_and_not_repeated() {
        let budget = Arc::<Budget>::default();
        let mut window = window(&budget);
        assert_eq!(window.on_exhausted(), Some(START + START / 8));
        assert_eq!(window.end_trial(), Some(START));
        assert_eq!((window.on_exhausted(), budget.used()), (None, 0));
        window.on_writable();
        assert!(window.on_exhausted().is_some());
    }

    #[test]
    fn a_window_that_has_shrunk_below_what_is_in_it_grows_beyond_that_at_once() {
        let mut window = window(&Arc::default());
        assert_eq!(window.tune(at(0), RTT, MIB * 4, MIB * 4), Some(8 << 20));
        for round in 1..=10 {
            window.tune(at(round), RTT, MIB, MIB);
        }
        assert!(window.size() < 4 << 20);
        assert_eq!(window.on_exhausted(), Some(9 << 20));
        window.on_writable();
        assert_eq!(window.on_exhausted(), Some((9 << 20) * 9 / 8));
    }

    #[test]
    fn it_returns_when_the_path_is_clean() {
        let budget = Arc::<Budget>::default();
        let mut window = window(&budget);
        while window.on_exhausted().is_some() {
            window.on_writable();
        }
        let mut sizes = (1..).map(|round| {
            window.tune(at(round), RTT, MIB, MIB);
            window.size()
        });
        assert!(sizes.by_ref().nth(20).unwrap() < MOST / 8);
        let size = sizes.nth(200).unwrap();
        assert_eq!(size, 2 << 20, "twice the congestion window");
        assert_eq!(budget.used(), size - START);
    }

    #[test]
    fn a_window_that_was_set_stays_until_it_may_grow() {
        let budget = Arc::<Budget>::default();
        let mut window = window(&budget);
        window.tune(at(0), RTT, MIB * 8, MIB * 8);
        window.fix(7_000);
        assert_eq!(budget.used(), 0);
        assert_eq!(window.tune(at(1), RTT, MIB * 8, MIB * 8), None);
        assert_eq!(window.on_exhausted(), None);
        window.set_most(MOST);
        assert_eq!(window.tune(at(2), RTT, MIB * 8, MIB * 8), Some(16 << 20));
        window.set_most(1 << 20);
        assert_eq!((window.size(), budget.used()), (1 << 20, (1 << 20) - 7_000));
    }

    #[test]
    fn connections_share_what_the_endpoint_has() {
        let budget = Arc::<Budget>::default();
        budget.set_limit(8 << 20);
        let (mut first, mut second) = (window(&budget), window(&budget));
        assert_eq!(first.tune(at(0), RTT, MIB * 4, MIB * 4), Some(8 << 20));
        assert_eq!(second.tune(at(0), RTT, MIB * 4, MIB * 4), Some(2 << 20));
        assert_eq!(second.on_exhausted(), None);
        drop(first);
        assert_eq!(second.tune(at(0), RTT, MIB * 4, MIB * 4), Some(8 << 20));
    }
}
