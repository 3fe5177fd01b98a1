//! The highest delivery rate of the path.

use crate::parts::windowed_max::WindowedMax;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// The highest delivery rate of the newest round trips. The paper does not use it: here it gives
/// the time that a packet takes in the queue, and the window at which the path was full.
///
/// Beside others it is the flow's own share of the path, so that it overestimates the time of a
/// packet and underestimates the full window.
#[derive(Debug)]
pub(super) struct Capacity {
    rates: WindowedMax<Bandwidth, ROUNDS>,
}

impl Capacity {
    pub(super) fn new() -> Self {
        Self {
            rates: WindowedMax::new(),
        }
    }

    /// A sample in round trip `round`.
    pub(super) fn on_rate(&mut self, round: u64, rate: Bandwidth) {
        self.rates.advance_to(round);
        self.rates.insert(rate);
    }

    /// The highest rate; `None` before the first sample.
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.rates.max_of(ROUNDS as u64)
    }

    /// How long the path needs for so many bytes; zero while that is unknown.
    pub(super) fn time_for(&self, bytes: Bytes) -> Duration {
        self.rate()
            .filter(|rate| !rate.is_zero())
            .map_or(Duration::ZERO, |rate| rate.time_for(bytes))
    }

    /// Whether the flow has used most of it in the newest full round trips, or nothing is known.
    ///
    /// A flow that is held below its former rate cannot be the cause of the standing queue. The
    /// lower its rate, the longer one of its packets takes in the queue, so that an allowance of
    /// two packets would tolerate any delay.
    pub(super) fn is_in_use(&self) -> bool {
        let greatest = self.rate().unwrap_or_default();
        self.rates.max_of(NEWEST_ROUNDS).unwrap_or_default() >= greatest * IN_USE_SHARE
    }

    /// The window that fills the path without a queue; zero while that is unknown.
    pub(super) fn full_window(&self, rtt_min: Duration) -> Bytes {
        self.rate().unwrap_or_default() * rtt_min
    }
}

/// Six of the cycles of five round trips in which a flow alone oscillates around its target (§3),
/// of which each exceeds the capacity of the path.
const ROUNDS: usize = 32;

/// Two full round trips and the one under way: fewer than the five of an oscillation around the
/// target.
const NEWEST_ROUNDS: u64 = 3;

/// A flow that oscillates around its target stays above this, alone or among others; with jitter or
/// bunched ACKs the rate falls below it within the memory of the highest rate.
const IN_USE_SHARE: Gain = Gain::new(3, 4);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_greatest_rate_of_32_round_trips_counts() {
        let mut capacity = Capacity::new();
        capacity.on_rate(1, Bandwidth::from_bytes_per_sec(1_000_000));
        capacity.on_rate(32, Bandwidth::from_bytes_per_sec(400_000));
        assert_eq!(capacity.time_for(Bytes::new(3_000)), MS * 3);
        assert_eq!(capacity.full_window(MS * 40), Bytes::new(40_000));
        capacity.on_rate(33, Bandwidth::from_bytes_per_sec(500_000));
        assert_eq!(capacity.time_for(Bytes::new(3_000)), MS * 6);
        assert_eq!(capacity.full_window(MS * 40), Bytes::new(20_000));
    }

    #[test]
    fn it_is_in_use_while_three_quarters_came_in_the_newest_three_round_trips() {
        let mut capacity = Capacity::new();
        assert!(capacity.is_in_use());
        let after = |capacity: &mut Capacity, round, kilobytes: u64| {
            capacity.on_rate(round, Bandwidth::from_bytes_per_sec(kilobytes * 1_000));
            capacity.is_in_use()
        };
        assert!(after(&mut capacity, 1, 1_000));
        assert!(after(&mut capacity, 3, 500));
        assert!(!after(&mut capacity, 4, 500));
        assert!(!after(&mut capacity, 5, 749));
        assert!(after(&mut capacity, 6, 750));
        // What is forgotten is no more to be had.
        assert!(!after(&mut capacity, 32, 600));
        assert!(after(&mut capacity, 33, 600));
    }

    #[test]
    fn nothing_is_known_before_the_first_sample() {
        let mut capacity = Capacity::new();
        assert_eq!(capacity.time_for(Bytes::new(3_000)), Duration::ZERO);
        assert_eq!(capacity.full_window(MS * 40), Bytes::ZERO);
        capacity.on_rate(0, Bandwidth::ZERO);
        assert_eq!(capacity.time_for(Bytes::new(3_000)), Duration::ZERO);
    }
}
