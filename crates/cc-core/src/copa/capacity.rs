//! What the path has carried.

use crate::filter::WindowedMax;
use core::time::Duration;
use units::{Bandwidth, Bytes};

/// The greatest delivery rate of the newest round trips. The paper does without: here it says how
/// long a packet takes in the queue, and at which window the path was full.
///
/// Beside others it is the flow's own part of the path, so that it rather takes too long for a
/// packet, and too little for full.
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

    /// The greatest rate; `None` before the first sample.
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.rates.max_of(ROUNDS as u64)
    }

    /// How long the path needs for so many bytes; zero while that is unknown.
    pub(super) fn time_for(&self, bytes: Bytes) -> Duration {
        self.rate()
            .filter(|rate| !rate.is_zero())
            .map_or(Duration::ZERO, |rate| rate.time_for(bytes))
    }

    /// The window that fills the path without a queue; zero while that is unknown.
    pub(super) fn full_window(&self, rtt_min: Duration) -> Bytes {
        self.rate().unwrap_or_default() * rtt_min
    }
}

/// Six of the cycles of five round trips in which a flow alone swings around its target (§3), of
/// which each goes beyond what the path has.
const ROUNDS: usize = 32;

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
    fn nothing_is_known_before_the_first_sample() {
        let mut capacity = Capacity::new();
        assert_eq!(capacity.time_for(Bytes::new(3_000)), Duration::ZERO);
        assert_eq!(capacity.full_window(MS * 40), Bytes::ZERO);
        capacity.on_rate(0, Bandwidth::ZERO);
        assert_eq!(capacity.time_for(Bytes::new(3_000)), Duration::ZERO);
    }
}
