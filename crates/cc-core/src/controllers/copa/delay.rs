//! Queueing delay (§2.1, equation 2).

use crate::parts::sliding_min::SlidingMin;
use core::time::Duration;
use units::{Gain, Timestamp};

/// Round-trip times with the standing queue, and without a queue.
#[derive(Debug)]
pub(super) struct Delay {
    /// `RTTmin`: the minimum over a long time.
    min: SlidingMin,
    /// `RTTstanding`: the minimum of the newest part of a round trip. What is above `RTTmin` even
    /// then is not a burst of ACKs or packets, but a standing queue.
    standing: SlidingMin,
    min_window: Duration,
    standing_window: Gain,
}

/// The estimates of [`Delay`] after its first sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rtts {
    /// `RTTmin`.
    pub(super) min: Duration,
    /// `RTTstanding`.
    pub(super) standing: Duration,
}

impl Delay {
    /// No samples. `RTTmin` is over `min_window`, `RTTstanding` over `standing_window` times the
    /// smoothed round-trip time.
    pub(super) fn new(min_window: Duration, standing_window: Gain) -> Self {
        Self {
            min: SlidingMin::new(),
            standing: SlidingMin::new(),
            min_window,
            standing_window,
        }
    }

    /// A sample, and the smoothed round-trip time with it.
    pub(super) fn on_rtt(&mut self, now: Timestamp, rtt: Duration, srtt: Duration) {
        self.min.insert(now, rtt, self.min_window);
        let window = units::duration::scale(srtt, self.standing_window);
        self.standing.insert(now, rtt, window);
    }

    /// The path may have changed: its estimates are discarded.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.min_window, self.standing_window);
    }

    /// What is known; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Rtts> {
        Some(Rtts {
            min: self.min.get()?,
            standing: self.standing.get()?,
        })
    }
}

impl Rtts {
    /// `dq`. Where `RTTmin` is over a shorter time than `RTTstanding`, it may be the greater.
    pub(super) fn queueing(&self) -> Duration {
        self.standing.saturating_sub(self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn delay() -> Delay {
        Delay::new(Duration::from_secs(10), Gain::new(1, 2))
    }

    /// `RTTmin`, `RTTstanding` and `dq` in milliseconds.
    fn known(delay: &Delay) -> [u128; 3] {
        let rtts = delay.get().unwrap();
        [rtts.min, rtts.standing, rtts.queueing()].map(|time| time.as_millis())
    }

    #[test]
    fn the_standing_queue_is_the_least_of_half_a_round_trip_above_the_least_of_ten_seconds() {
        let mut delay = delay();
        assert!(delay.get().is_none());
        for (at, rtt) in [(0, 40), (100, 70), (110, 50), (120, 90)] {
            delay.on_rtt(Timestamp::from_millis(at), ms(rtt), ms(60));
        }
        assert_eq!(known(&delay), [40, 50, 10]);
        // 31 ms later the 50 ms are older than half of 60.
        delay.on_rtt(Timestamp::from_millis(141), ms(80), ms(60));
        assert_eq!(known(&delay), [40, 80, 40]);
    }

    #[test]
    fn a_longer_path_is_believed_after_ten_seconds() {
        let mut delay = delay();
        delay.on_rtt(Timestamp::ZERO, ms(40), ms(40));
        for at in 1..=100 {
            delay.on_rtt(Timestamp::from_millis(at * 100), ms(70), ms(70));
        }
        assert_eq!(known(&delay), [40, 70, 30]);
        delay.on_rtt(Timestamp::from_millis(10_001), ms(70), ms(70));
        assert_eq!(known(&delay), [70, 70, 0]);
    }

    #[test]
    fn what_was_forgotten_is_unknown() {
        let mut delay = delay();
        delay.on_rtt(Timestamp::ZERO, ms(40), ms(40));
        delay.forget();
        assert!(delay.get().is_none());
    }
}
