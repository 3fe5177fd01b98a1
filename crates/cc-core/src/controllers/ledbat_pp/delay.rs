//! Delays: what the path takes by itself, and what its queues add (§4.5; RFC 6817 §2.4.2).

use super::params::{MAX_FILTER, MAX_HISTORY, Tuning};
use crate::parts::windowed_max::WindowedMax;
use core::cmp::Reverse;
use core::time::Duration;
use units::Timestamp;

/// Two minimum round-trip times: of the last minutes and of the last samples.
///
/// Round-trip times, not one-way delays: clocks need not agree, and the price is that a queue on
/// the way back counts too.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    /// base_delays, one minimum per minute in which there were samples. Idle time does not age
    /// them.
    base: WindowedMax<Reverse<Duration>, { MAX_HISTORY as usize }>,
    /// The minute of the newest sample.
    minute: u64,
    /// Minutes that had samples.
    minutes: u64,
    /// current_delays, one sample each.
    current: WindowedMax<Reverse<Duration>, { MAX_FILTER as usize }>,
    samples: u64,
}

impl Delay {
    pub(super) fn new() -> Self {
        Self {
            base: WindowedMax::new(),
            minute: 0,
            minutes: 0,
            current: WindowedMax::new(),
            samples: 0,
        }
    }

    /// A round-trip time was measured.
    pub(super) fn on_rtt(&mut self, now: Timestamp, rtt: Duration) {
        let minute = now.as_nanos() / NANOS_PER_MINUTE;
        if minute != self.minute {
            self.minute = minute;
            self.minutes += 1;
            self.base.advance_to(self.minutes);
        }
        self.base.insert(Reverse(rtt));
        self.samples += 1;
        self.current.advance_to(self.samples);
        self.current.insert(Reverse(rtt));
    }

    /// The path's own delay; `None` before the first sample.
    pub(super) fn base(&self, tuning: &Tuning) -> Option<Duration> {
        self.base
            .max_of(tuning.base_history)
            .map(|Reverse(rtt)| rtt)
    }

    /// What the queues add now; zero before the first sample.
    pub(super) fn queueing(&self, tuning: &Tuning) -> Duration {
        let current = self.current.max_of(tuning.delay_filter);
        match (current, self.base(tuning)) {
            (Some(Reverse(current)), Some(base)) => current.saturating_sub(base),
            _ => Duration::ZERO,
        }
    }

    /// 1 ÷ GAIN = min(16, ⌈2 · TARGET ÷ base⌉): how many times slower than Reno's the increase
    /// is, the more so the shorter the path (§4.1).
    pub(super) fn gain_divisor(&self, tuning: &Tuning) -> u64 {
        let target = units::duration::nanos(tuning.target);
        match self.base(tuning).map(units::duration::nanos) {
            None | Some(0) => tuning.gain_divisor,
            Some(base) => (2 * target).div_ceil(base).min(tuning.gain_divisor),
        }
    }
}

const NANOS_PER_MINUTE: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::ledbat_pp::params::PARAMS;
    use crate::params::Params;

    const MS: Duration = Duration::from_millis(1);

    fn tuning() -> Tuning {
        Tuning::new(&Params::defaults(&PARAMS))
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_least_of_the_last_four_samples_counts() {
        let mut delay = Delay::new();
        assert_eq!(delay.queueing(&tuning()), Duration::ZERO);
        for rtt in [30, 90, 70, 80] {
            delay.on_rtt(at(1), MS * rtt);
        }
        assert_eq!(delay.queueing(&tuning()), Duration::ZERO);
        delay.on_rtt(at(1), MS * 90);
        assert_eq!(delay.queueing(&tuning()), MS * 40);
    }

    #[test]
    fn the_base_is_forgotten_after_ten_minutes_with_samples() {
        let mut delay = Delay::new();
        delay.on_rtt(at(0), MS * 20);
        for second in 1..600 {
            delay.on_rtt(at(second), MS * 50);
        }
        assert_eq!(delay.base(&tuning()), Some(MS * 20));
        delay.on_rtt(at(600), MS * 50);
        assert_eq!(delay.base(&tuning()), Some(MS * 50));
    }

    #[test]
    fn an_hour_of_silence_ages_the_base_by_one_minute() {
        let mut delay = Delay::new();
        delay.on_rtt(at(0), MS * 20);
        delay.on_rtt(at(3_600), MS * 50);
        assert_eq!(delay.base(&tuning()), Some(MS * 20));
    }

    #[test]
    fn the_gain_is_that_of_reno_from_a_base_of_twice_the_target_on() {
        let divisor = |rtt| {
            let mut delay = Delay::new();
            delay.on_rtt(at(0), rtt);
            delay.gain_divisor(&tuning())
        };
        assert_eq!(Delay::new().gain_divisor(&tuning()), 16);
        assert_eq!(divisor(Duration::ZERO), 16);
        // 120 ÷ 5 = 24; 120 ÷ 20 = 6; 120 ÷ 50 = 2.4.
        let short = [5, 20, 50].map(|millis| divisor(MS * millis));
        assert_eq!(short, [16, 6, 3]);
        let long = [119, 120, 300].map(|millis| divisor(MS * millis));
        assert_eq!(long, [2, 1, 1]);
    }
}
