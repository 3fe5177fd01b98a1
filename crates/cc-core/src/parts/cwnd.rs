//! Rules that hold for any congestion window of QUIC: how small it may be, what another packet size
//! makes of it, how far it may exceed what was in flight.

use crate::controller::initial_window;
use units::Bytes;

/// kMinimumWindow (RFC 9002 §7.2): two packets, so that there is something that a receiver
/// acknowledges without delay.
pub(crate) fn min_window(mss: Bytes) -> Bytes {
    mss * 2
}

/// What becomes of `cwnd` when packets of `old` bytes become packets of `mss`: an initial window is
/// that of the new size (RFC 9002 §7.2), any other stays, and either holds two packets.
pub(crate) fn resized_window(cwnd: Bytes, old: Bytes, mss: Bytes) -> Bytes {
    let cwnd = if cwnd == initial_window(old) {
        initial_window(mss)
    } else {
        cwnd
    };
    cwnd.max(min_window(mss))
}

/// maxFS: the most bytes that were in flight at a time since the window was last reduced, and the
/// initial window before (draft-ietf-ccwg-ratelimited-increase-09 §3).
///
/// Slow start from such a flight ends a round trip with twice as much, limit(maxFS). A window
/// beyond that has never been in flight: `PathState::is_cwnd_limited` looks back for two round
/// trips, so that an application that fills a window once would see it tripled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxFlightSize(Bytes);

impl MaxFlightSize {
    pub(crate) fn new(initial_cwnd: Bytes) -> Self {
        Self(initial_cwnd)
    }

    /// `inflight` bytes are out, what leaves now included.
    pub(crate) fn on_sent(&mut self, inflight: Bytes) {
        self.0 = self.0.max(inflight);
    }

    /// The window was reduced: the maximum begins anew.
    pub(crate) fn on_reduced(&mut self) {
        self.0 = Bytes::ZERO;
    }

    /// `cwnd` after slow start has added `growth`: within the limit, and never less than it was.
    pub(crate) fn slow_start(&self, cwnd: Bytes, growth: Bytes) -> Bytes {
        let limit = self.0.saturating_add(self.0);
        cwnd.saturating_add(growth).min(limit).max(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_000);

    #[test]
    fn another_packet_size_makes_another_initial_window_and_leaves_others_alone() {
        let resized = |cwnd, mss| resized_window(Bytes::new(cwnd), MSS, Bytes::new(mss)).get();
        assert_eq!(resized(10_000, 1_472), 14_720);
        assert_eq!(resized(10_000, 9_000), 18_000);
        assert_eq!(resized(10_001, 1_472), 10_001);
        assert_eq!(resized(10_001, 9_000), 18_000);
    }

    #[test]
    fn slow_start_ends_at_twice_the_largest_flight_since_the_last_reduction() {
        let mut largest = MaxFlightSize::new(MSS * 10);
        let grown = |largest: &MaxFlightSize| largest.slow_start(MSS * 15, MSS * 10);
        largest.on_sent(MSS * 3);
        assert_eq!(grown(&largest), MSS * 20);
        largest.on_sent(MSS * 12);
        largest.on_sent(MSS * 11);
        assert_eq!(grown(&largest), MSS * 24);
        largest.on_reduced();
        assert_eq!(grown(&largest), MSS * 15);
        largest.on_sent(MSS * 9);
        assert_eq!(grown(&largest), MSS * 18);
    }
}
