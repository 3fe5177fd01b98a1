//! Flow-control windows that grow to what the path carries.

use crate::budget::{Budget, Reservation};
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
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    most: u64,
    reservation: Reservation,
    /// When the present quarter of a round trip began.
    since: Timestamp,
    /// Its beginning in front, and two round trips behind it.
    quarters: [Quarter; 1 + 2 * QUARTERS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Quarter {
    arrived: u64,
    /// Whether somebody has waited for data.
    has_caught_up: bool,
}

impl ReceiveWindow {
    pub(super) fn new(now: Timestamp, (size, most): (u64, u64), budget: &Arc<Budget>) -> Self {
        Self {
            size,
            most: most.max(size),
            reservation: Reservation::new(Arc::clone(budget)),
            since: now,
            quarters: Default::default(),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Stays at `size` from now on.
    pub(super) fn fix(&mut self, size: u64) {
        (self.size, self.most) = (size, size);
        self.reservation.clear();
    }

    /// `bytes` have arrived.
    pub(super) fn on_arrival(&mut self, bytes: Bytes) {
        self.quarters[0].arrived += bytes.get();
    }

    /// Whether it may grow at all.
    pub(super) fn is_open(&self) -> bool {
        self.size < self.most
    }

    /// Somebody waits for data, or not. Whether that makes it grow.
    ///
    /// DATA_BLOCKED frames are no reason: quinn's senders write one as soon as the application has
    /// filled the send buffer, long before anything of it has left.
    pub(super) fn tune(&mut self, now: Timestamp, rtt: Duration, is_awaited: bool) -> bool {
        self.quarters[0].has_caught_up |= is_awaited;
        if !self.end_quarter(now, rtt) {
            return false;
        }
        let wanted = self.need().min(self.most).saturating_sub(self.size);
        let grown = self.reservation.extend(wanted);
        self.size += grown;
        grown > 0
    }

    /// Whether a quarter of a round trip is over, and another one has begun.
    fn end_quarter(&mut self, now: Timestamp, rtt: Duration) -> bool {
        let quarter = (rtt / 4).max(MIN_QUARTER);
        let ended = now.since(self.since).as_nanos() / quarter.as_nanos();
        let ended = usize::try_from(ended).unwrap_or(usize::MAX);
        let ended = ended.min(self.quarters.len());
        self.quarters.rotate_right(ended);
        self.quarters[..ended].fill(Quarter::default());
        if ended > 0 {
            self.since = now;
        }
        ended > 0
    }

    /// What the sender can use, by the round trip that has just ended and the one before it.
    fn need(&self) -> u64 {
        let (newer, older) = self.quarters[1..].split_at(QUARTERS);
        if !newer.iter().any(|quarter| quarter.has_caught_up) {
            return 0;
        }
        let sum = |quarters: &[Quarter]| quarters.iter().map(|quarter| quarter.arrived).sum();
        let arrived: u64 = sum(newer);
        let growth = arrived.saturating_sub(sum(older));
        2 * (arrived + arrived.min(2 * growth))
    }
}

/// How many bytes may have been written and not yet been acknowledged: twice the congestion window,
/// so that one window is in flight while the next one is written, or what was lost of the last one
/// is sent again.
#[derive(Debug)]
pub(super) struct SendWindow {
    size: u64,
    most: u64,
    reservation: Reservation,
}

impl SendWindow {
    pub(super) fn new((size, most): (u64, u64), budget: &Arc<Budget>) -> Self {
        Self {
            size,
            most: most.max(size),
            reservation: Reservation::new(Arc::clone(budget)),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Stays at `size` from now on.
    pub(super) fn fix(&mut self, size: u64) {
        (self.size, self.most) = (size, size);
        self.reservation.clear();
    }

    /// The congestion window is `cwnd`. The new size, if that makes it grow.
    pub(super) fn tune(&mut self, cwnd: Bytes) -> Option<u64> {
        let target = cwnd.get().saturating_mul(2).min(self.most);
        let wanted = target.saturating_sub(self.size);
        // In steps of an eighth, the last one aside: a window that grows with each ACK costs a call
        // into quinn-proto with each.
        if wanted == 0 || (wanted < self.size / 8 && target < self.most) {
            return None;
        }
        let grown = self.reservation.extend(wanted);
        self.size += grown;
        (grown > 0).then_some(self.size)
    }
}

const QUARTERS: usize = 4;

/// A round trip of a millisecond is the least that is measured: of 10 Gbit/s it has 1.25 MB, about
/// what a connection begins with.
const MIN_QUARTER: Duration = Duration::from_micros(250);

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const START: u64 = 1_000;
    const MOST: u64 = 64_000;

    /// A window through rounds in each of which `arrive(size)` bytes arrive.
    fn after(rounds: u64, is_awaited: bool, arrive: impl Fn(u64, u64) -> u64) -> u64 {
        let budget = Arc::default();
        let mut window = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        for round in 0..rounds {
            let bytes = arrive(round, window.size());
            for part in 1..=4 {
                let now = Timestamp::ZERO + RTT * u32::try_from(round).unwrap() + RTT / 4 * part;
                window.on_arrival(Bytes::new(bytes / 4));
                window.tune(now, RTT, is_awaited);
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
            window.on_arrival(Bytes::new(sent));
            window.tune(Timestamp::ZERO + RTT * round, RTT, true);
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
        window.on_arrival(Bytes::new(900));
        assert!(!window.tune(Timestamp::ZERO + RTT * 10, RTT, true));
        window.on_arrival(Bytes::new(900));
        assert!(window.tune(Timestamp::ZERO + RTT * 10 + RTT / 4, RTT, true));
        assert_eq!(window.size(), 3_600);
    }

    #[test]
    fn a_window_that_was_set_stays() {
        let budget = Arc::<Budget>::default();
        let mut receive = ReceiveWindow::new(Timestamp::ZERO, (START, MOST), &budget);
        let mut send = SendWindow::new((START, MOST), &budget);
        send.tune(Bytes::new(1_000));
        receive.fix(5_000);
        send.fix(7_000);
        assert_eq!(budget.used(), 0);
        receive.on_arrival(Bytes::new(50_000));
        assert!(!receive.tune(Timestamp::ZERO + RTT, RTT, true));
        assert_eq!(send.tune(Bytes::new(1 << 40)), None);
    }

    #[test]
    fn what_may_be_unacknowledged_is_twice_the_congestion_window() {
        let budget = Arc::<Budget>::default();
        let mut window = SendWindow::new((START, MOST), &budget);
        assert_eq!(window.tune(Bytes::new(400)), None);
        assert_eq!(window.tune(Bytes::new(2_000)), Some(4_000));
        assert_eq!(window.tune(Bytes::new(2_100)), None, "not worth it");
        assert_eq!(window.tune(Bytes::MAX), Some(MOST));
        assert_eq!(window.tune(Bytes::MAX), None);
    }

    #[test]
    fn connections_share_what_the_endpoint_has() {
        let budget = Arc::<Budget>::default();
        budget.set_limit(8_000);
        let mut first = SendWindow::new((START, MOST), &budget);
        let mut second = SendWindow::new((START, MOST), &budget);
        assert_eq!(first.tune(Bytes::new(4_000)), Some(8_000));
        assert_eq!(second.tune(Bytes::new(4_000)), Some(2_000));
        drop(first);
        assert_eq!(second.tune(Bytes::new(4_000)), Some(8_000));
    }
}
