//! The window of what the peer may send, which grows to what the path carries and returns.

use super::window_size::WindowSize;
use crate::budget::Budget;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Timestamp};

/// Bounds of a connection's windows, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowConfig {
    /// What the connection begins with, and the most that it comes to.
    pub(crate) receive: (u64, u64),
    pub(crate) send: (u64, u64),
}

/// How many bytes the peer may send that nobody has read yet.
///
/// A window caps the rate at window ÷ round-trip time. It follows what arrives in a round trip:
/// twice that much lets a sender that has filled the path go on while a lost packet is repaired.
/// A sender that doubles each round trip, as in slow start, has doubled once more when it learns of
/// the new window, so while arrivals grow it is up to four times as much. Only an application that
/// reads all there is has a use for more, so only then it grows.
///
/// A packet that is lost `n` times is `n + 1` round trips in coming, and what arrives meanwhile
/// cannot be read. The window has room for that in addition: for what lies behind gaps, as far as
/// the connection knows it, and for as much as was read beyond what arrived when a gap was filled.
///
/// It shrinks while less would do, by 1/32 of the difference in each round trip.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    size: WindowSize,
    /// When the present quarter of a round trip began.
    since: Timestamp,
    /// Its beginning in front, and two round trips behind it.
    quarters: [Quarter; 1 + 2 * QUARTERS],
    /// The most that has arrived in a round trip, of late.
    carried: u64,
    /// What has been read of late beyond what arrived meanwhile.
    caught_up: u64,
    /// What the window should have been in this round trip, and how many quarters are over of it.
    wanted: u64,
    ended: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Quarter {
    arrived: u64,
    read: u64,
    /// Whether somebody has waited for data.
    has_caught_up: bool,
}

impl ReceiveWindow {
    pub(super) fn new(now: Timestamp, from_to: (u64, u64), budget: &Arc<Budget>) -> Self {
        Self {
            size: WindowSize::new(from_to, budget),
            since: now,
            quarters: Default::default(),
            carried: 0,
            caught_up: 0,
            wanted: 0,
            ended: 0,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size.get()
    }

    /// Stays at `size` from now on.
    pub(super) fn fix(&mut self, size: u64) {
        self.size.fix(size);
    }

    /// Grows to `most` from now on, and never shrinks below what it is where it is fixed.
    pub(super) fn set_most(&mut self, most: u64) {
        self.size.set_most(most);
    }

    /// An earlier connection has needed `size` bytes: begins with them, as far as that is allowed.
    pub(super) fn resume(&mut self, size: u64) {
        self.size.grow_to(size);
    }

    /// Its size, if it is more than it began with.
    pub(super) fn grown(&self) -> Option<u64> {
        self.size.has_grown().then(|| self.size())
    }

    /// `bytes` have arrived.
    pub(super) fn on_arrival(&mut self, bytes: Bytes) {
        self.quarters[0].arrived += bytes.get();
    }

    /// `bytes` of streams have been read.
    pub(super) fn on_read(&mut self, bytes: u64) {
        self.quarters[0].read += bytes;
    }

    /// Whether its size changes at all.
    pub(super) fn is_open(&self) -> bool {
        self.size.is_open()
    }

    /// Somebody waits for data, or not, and `gapped` bytes lie behind gaps. Whether that changes
    /// its size.
    ///
    /// DATA_BLOCKED frames are no reason: quinn's senders write one as soon as the application has
    /// filled the send buffer, long before anything of it has left.
    pub(super) fn tune(
        &mut self,
        now: Timestamp,
        rtt: Duration,
        is_awaited: bool,
        gapped: impl FnOnce() -> u64,
    ) -> bool {
        self.quarters[0].has_caught_up |= is_awaited;
        let ended = self.end_quarters(now, rtt);
        if ended == 0 {
            return false;
        }
        let need = self.size.clamp(self.need(gapped()));
        self.wanted = self.wanted.max(need);
        let before = self.size();
        self.size.grow_to(need);
        self.ended += ended;
        while self.ended >= QUARTERS {
            self.ended -= QUARTERS;
            let excess = self.size().saturating_sub(self.wanted);
            self.size.shrink(excess.div_ceil(DECAY));
            self.wanted = need;
        }
        self.size() != before
    }

    /// How many quarters of a round trip are over; another one has begun then. No more than are
    /// remembered.
    fn end_quarters(&mut self, now: Timestamp, rtt: Duration) -> usize {
        let quarter = (rtt / 4).max(MIN_QUARTER);
        let ended = now.since(self.since).as_nanos() / quarter.as_nanos();
        let ended = usize::try_from(ended).unwrap_or(usize::MAX);
        let ended = ended.min(self.quarters.len());
        if ended == 0 {
            return 0;
        }
        let Quarter { arrived, read, .. } = self.quarters[0];
        self.caught_up = (self.caught_up + read).saturating_sub(arrived);
        self.quarters.rotate_right(ended);
        self.quarters[..ended].fill(Quarter::default());
        self.since = now;
        for _ in 0..ended {
            self.carried -= self.carried / CARRIED_DECAY;
        }
        self.carried = self.carried.max(arrived_in(&self.quarters[1..=QUARTERS]));
        ended
    }

    /// What the sender can use, by the round trip that has just ended and what came before it.
    fn need(&self, gapped: u64) -> u64 {
        let (newer, older) = self.quarters[1..].split_at(QUARTERS);
        let usual = 2 * self.carried;
        if !newer.iter().any(|quarter| quarter.has_caught_up) {
            return usual.min(self.size());
        }
        let arrived = arrived_in(newer);
        let growth = arrived.saturating_sub(arrived_in(older));
        let growing = 2 * (arrived + arrived.min(2 * growth));
        let held_up = self.caught_up.max(gapped);
        // Other gaps, filled in a round trip, hold up another one's worth all the time.
        usual.max(growing) + held_up + held_up.min(self.carried)
    }
}

fn arrived_in(quarters: &[Quarter]) -> u64 {
    quarters.iter().map(|quarter| quarter.arrived).sum()
}

const QUARTERS: usize = 4;

/// A round trip of a millisecond is the least that is measured: of 10 Gbit/s it has 1.25 MB, about
/// what a connection begins with.
const MIN_QUARTER: Duration = Duration::from_micros(250);

/// What is not needed is halved in 22 round trips: where one packet in five is lost, one in 3,000
/// is lost five times, which are some round trips' worth.
const DECAY: u64 = 32;

/// By an eighth in two round trips, so that it outlasts a sender's wait for the window.
const CARRIED_DECAY: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const START: u64 = 1_000;
    const MOST: u64 = 64_000;

    /// `bytes` arrive and are read.
    fn pass(window: &mut ReceiveWindow, bytes: u64) {
        window.on_arrival(Bytes::new(bytes));
        window.on_read(bytes);
    }

    /// A window through rounds in each of which `arrive(size)` bytes arrive.
    fn after(rounds: u64, is_awaited: bool, arrive: impl Fn(u64, u64) -> u64) -> u64 {
        let budget = Arc::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        for round in 0..rounds {
            let bytes = arrive(round, window.size());
            for part in 1..=4 {
                let now = Timestamp::ZERO + RTT * u32::try_from(round).unwrap() + RTT / 4 * part;
                pass(&mut window, bytes / 4);
                window.tune(now, RTT, is_awaited, || 0);
            }
        }
        window.size()
    }

    #[test]
    fn it_grows_to_twice_what_a_path_carries_in_a_round_trip() {
        // The path carries 10,000 a round, and no more than the window at a time.
        let size = after(20, true, |_, size| size.min(10_000));
        assert!((20_000..=40_000).contains(&size), "{size}");
    }

    #[test]
    fn it_stays_ahead_of_a_sender_that_doubles() {
        let budget = Arc::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        let mut sent = 500;
        for round in 1..=6 {
            assert!(window.size() >= sent, "round {round}: {}", window.size());
            pass(&mut window, sent);
            window.tune(Timestamp::ZERO + RTT * round, RTT, true, || 0);
            sent *= 2;
        }
    }

    #[test]
    fn it_has_a_bound() {
        assert_eq!(after(100, true, |_, size| size), MOST);
    }

    #[test]
    fn a_reader_that_never_catches_up_does_not_make_it_grow() {
        assert_eq!(after(100, false, |_, size| size), START);
    }

    #[test]
    fn what_came_before_a_pause_does_not_count() {
        let budget = Arc::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        pass(&mut window, 900);
        assert!(!window.tune(Timestamp::ZERO + RTT * 10, RTT, true, || 0));
        pass(&mut window, 900);
        assert!(window.tune(Timestamp::ZERO + RTT * 10 + RTT / 4, RTT, true, || 0));
        assert_eq!(window.size(), 3_600);
    }

    #[test]
    fn it_has_room_for_what_repairs_hold_up() {
        let budget = Arc::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        let mut unread = 0;
        // A packet in each third round trip takes three round trips to come.
        let mut sizes = (0..60).map(|quarter| {
            let now = Timestamp::ZERO + RTT / 4 * (quarter + 1);
            let arriving = (window.size() - unread).min(1_000);
            unread += arriving;
            window.on_arrival(Bytes::new(arriving));
            if quarter % 12 == 11 {
                window.on_read(std::mem::take(&mut unread));
            }
            window.tune(now, RTT, true, || 0);
            window.size()
        });
        let size = sizes.by_ref().last().unwrap();
        // Three round trips' worth of 4,000 behind the gap, and two at least for the sender.
        assert!((20_000..=28_000).contains(&size), "{size}");
    }

    #[test]
    fn it_returns_when_the_path_is_clean() {
        let budget = Arc::<Budget>::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        let mut round = 0;
        let mut run = |window: &mut ReceiveWindow, rounds, bytes| {
            for _ in 0..rounds {
                round += 1;
                pass(window, bytes);
                window.tune(Timestamp::ZERO + RTT * round, RTT, true, || 0);
            }
            window.size()
        };
        assert_eq!(run(&mut window, 2, 16_000), MOST, "the sender may double");
        assert_eq!(budget.used(), MOST - START);
        let size = run(&mut window, 100, 1_000);
        assert!((2_000..=8_000).contains(&size), "{size}");
        assert_eq!(budget.used(), size - START);
        assert_eq!(run(&mut window, 500, 1), START);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_window_that_was_set_stays_until_it_may_grow() {
        let budget = Arc::<Budget>::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        window.fix(5_000);
        assert_eq!(budget.used(), 0);
        pass(&mut window, 50_000);
        assert!(!window.is_open() && !window.tune(Timestamp::ZERO + RTT, RTT, true, || 0));
        window.set_most(20_000);
        pass(&mut window, 50_000);
        assert!(window.is_open() && window.tune(Timestamp::ZERO + RTT * 2, RTT, true, || 0));
        assert_eq!((window.size(), budget.used()), (20_000, 15_000));
        window.set_most(10_000);
        assert_eq!((window.size(), budget.used()), (10_000, 5_000));
    }

    #[test]
    fn windows_share_what_the_endpoint_has() {
        let budget = Arc::<Budget>::default();
        budget.set_limit(4_000);
        let mut windows =
            [(); 2].map(|()| ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget));
        for window in &mut windows {
            pass(window, 1_000);
            window.tune(Timestamp::ZERO + RTT, RTT, true, || 0);
        }
        assert_eq!(
            windows.map(|window| window.size()),
            [START + 3_000, START + 1_000]
        );
    }
}
