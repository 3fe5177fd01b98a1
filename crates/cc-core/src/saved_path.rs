//! Observing what a path carries, for a later connection over it (RFC 9959 §3.1, §4.1).

use crate::controller::initial_window;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// What a connection has learned of its path: the CC parameters of RFC 9959 §3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedPath {
    /// saved_cwnd: what the path delivered in one minimum round-trip time.
    pub capacity: Bytes,
    /// saved_rtt: the minimum round-trip time.
    pub min_rtt: Duration,
}

/// Measures the capacity in use, round trip by round trip.
///
/// What arrives in a round trip holds what waited in queues. Counted is what the mean delivery rate
/// of the round trip brings in the minimum one, so that a window that overshot is no capacity
/// (§4.1). Two round trips in a row have to show it. While more could have been sent, the estimate
/// only rises (§4.1, rate-limited senders); otherwise it falls by an eighth per round trip at most.
#[derive(Debug)]
pub(crate) struct CapacityEstimate {
    round_start: Timestamp,
    delivered_before: Bytes,
    /// What the round trip before brought.
    last: Bytes,
    estimate: Bytes,
}

impl CapacityEstimate {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            round_start: now,
            delivered_before: Bytes::ZERO,
            last: Bytes::ZERO,
            estimate: Bytes::ZERO,
        }
    }

    /// Forgets what was measured before `delivered` bytes.
    pub(crate) fn restart(&mut self, now: Timestamp, delivered: Bytes) {
        *self = Self::new(now);
        self.delivered_before = delivered;
    }

    /// A round trip is over, with `delivered` bytes since the connection began.
    pub(crate) fn on_round(
        &mut self,
        now: Timestamp,
        delivered: Bytes,
        min_rtt: Option<Duration>,
        is_app_limited: bool,
    ) {
        let time = now.since(core::mem::replace(&mut self.round_start, now));
        let before = core::mem::replace(&mut self.delivered_before, delivered);
        let Some(min_rtt) = min_rtt.filter(|min_rtt| !min_rtt.is_zero()) else {
            return;
        };
        let bytes = delivered.saturating_sub(before);
        let volume = if time > min_rtt {
            (Bandwidth::from_transfer(bytes, time) * min_rtt).min(bytes)
        } else {
            bytes
        };
        let shown = volume.min(core::mem::replace(&mut self.last, volume));
        let least = if is_app_limited {
            self.estimate
        } else {
            self.estimate - self.estimate / DECAY
        };
        self.estimate = shown.max(least);
    }

    /// What may be saved: nothing for so small a capacity that it is not worth it (§3.1).
    pub(crate) fn get(&self, mss: Bytes, min_rtt: Option<Duration>) -> Option<SavedPath> {
        let min_rtt = min_rtt?;
        let is_worth_it = self.estimate >= initial_window(mss) * LEAST_INITIAL_WINDOWS;
        is_worth_it.then_some(SavedPath {
            capacity: self.estimate,
            min_rtt,
        })
    }
}

/// Part of the estimate that a round trip that shows less takes away. The RFC leaves the averaging
/// open (§4.1); Reno's window is half of its maximum after a loss, which this reaches after five
/// round trips.
const DECAY: u64 = 8;
/// Initial windows below which a capacity is not saved (§3.1).
const LEAST_INITIAL_WINDOWS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_000);
    const RTT: Duration = Duration::from_millis(100);

    /// The capacity in packets after round trips of `(packets, milliseconds)`.
    fn after(rounds: &[(u64, u64)], is_app_limited: bool) -> Option<u64> {
        let mut estimate = CapacityEstimate::new(Timestamp::ZERO);
        let (mut now, mut delivered) = (Timestamp::ZERO, Bytes::ZERO);
        for (packets, millis) in rounds {
            now += Duration::from_millis(*millis);
            delivered += MSS * *packets;
            estimate.on_round(now, delivered, Some(RTT), is_app_limited);
        }
        let saved = estimate.get(MSS, Some(RTT))?;
        Some(saved.capacity.packets_ceil(MSS))
    }

    #[test]
    fn two_round_trips_show_a_capacity() {
        assert_eq!(after(&[(100, 100)], false), None);
        assert_eq!(after(&[(100, 100), (200, 100)], false), Some(100));
        assert_eq!(
            after(&[(100, 100), (1_000, 100), (90, 100)], false),
            Some(90)
        );
    }

    #[test]
    fn what_waits_in_a_queue_is_no_capacity() {
        assert_eq!(after(&[(400, 400), (400, 400)], false), Some(100));
    }

    #[test]
    fn less_than_four_initial_windows_is_not_saved() {
        assert_eq!(after(&[(39, 100), (39, 100)], false), None);
        assert_eq!(after(&[(40, 100), (40, 100)], false), Some(40));
    }

    #[test]
    fn it_falls_by_an_eighth_per_round_trip_unless_the_application_sent_little() {
        let rounds = [(160, 100), (160, 100), (50, 100), (50, 100)];
        assert_eq!(after(&rounds, false), Some(123));
        assert_eq!(after(&rounds, true), Some(160));
    }
}
