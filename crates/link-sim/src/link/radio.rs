use super::label;
use crate::spec;
use core::time::Duration;
use units::{Rng, Timestamp, duration};

/// What a radio adds: each packet waits for the channel, and now and then nothing is sent at all.
///
/// Both are exponential, so that neither has a memory: the wait of a packet has the mean that was
/// asked for, and so has the time between two suspensions. Packets keep their order.
#[derive(Debug)]
pub(super) struct RadioStage {
    radio: Option<spec::Radio>,
    /// The suspension that comes next, or is on.
    suspended_from: Timestamp,
    suspended_until: Timestamp,
    last: Timestamp,
    rng: Rng,
}

impl RadioStage {
    pub(super) fn new(radio: Option<spec::Radio>, seed: u64) -> Self {
        let mut stage = Self {
            radio: None,
            suspended_from: Timestamp::ZERO,
            suspended_until: Timestamp::ZERO,
            last: Timestamp::ZERO,
            rng: Rng::derive(seed, label::RADIO),
        };
        stage.set(Timestamp::ZERO, radio);
        stage
    }

    /// Another radio from `now` on.
    pub(super) fn set(&mut self, now: Timestamp, radio: Option<spec::Radio>) {
        if radio != self.radio {
            self.radio = radio;
            self.schedule(now);
        }
    }

    /// Whether a packet under `next` stays behind all that came out so far.
    pub(super) fn preserves_order(&self, next: Option<spec::Radio>) -> bool {
        self.radio.is_none() || next.is_some()
    }

    /// When a transmission can begin that could at `ready`.
    pub(super) fn clear_at(&mut self, ready: Timestamp) -> Timestamp {
        let Some(suspension) = self.radio.and_then(|radio| radio.suspension) else {
            return ready;
        };
        if ready.since(self.suspended_until)
            > (suspension.every + suspension.length) * MAX_DRAWN_SUSPENSIONS
        {
            self.resample(ready, suspension);
        }
        // At the end of time none comes after another.
        while ready >= self.suspended_until && self.suspended_until < Timestamp::MAX {
            self.schedule(self.suspended_until);
        }
        if ready < self.suspended_from {
            ready
        } else {
            self.suspended_until
        }
    }

    /// When a packet comes out that would have at `sent`.
    pub(super) fn arrival(&mut self, sent: Timestamp) -> Timestamp {
        let Some(radio) = self.radio else {
            return sent;
        };
        let access = exponential(radio.access, &mut self.rng);
        self.last = self.last.max(sent + access);
        self.last
    }

    /// Draws the next suspension after `from`.
    fn schedule(&mut self, from: Timestamp) {
        let suspension = self.radio.and_then(|radio| radio.suspension);
        let (every, length) = suspension.map_or((Duration::ZERO, Duration::ZERO), |suspension| {
            (suspension.every, suspension.length)
        });
        self.suspended_from = from + exponential(every, &mut self.rng);
        self.suspended_until = self.suspended_from + length.max(Duration::from_nanos(1));
    }

    /// After a long silence, what the radio does at `now` is drawn at once instead of through all
    /// the suspensions in between.
    fn resample(&mut self, now: Timestamp, suspension: spec::Suspension) {
        let cycle = duration::nanos(suspension.every + suspension.length);
        let place = Duration::from_nanos(self.rng.below(cycle));
        if place < suspension.length {
            self.suspended_from = now;
            self.suspended_until = now + (suspension.length - place);
        } else {
            self.schedule(now);
        }
    }
}

/// An exponential draw, without a logarithm that machines might round differently: runs of falling
/// uniform numbers, as J. von Neumann found (1951).
fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    let mean = u128::from(duration::nanos(mean));
    let mut whole = 0_u128;
    loop {
        let first = rng.next_u64();
        let (mut last, mut is_odd) = (first, true);
        loop {
            let next = rng.next_u64();
            if next >= last {
                break;
            }
            (last, is_odd) = (next, !is_odd);
        }
        if is_odd {
            let fraction = (mean * u128::from(first)) >> 64;
            let nanos = (mean * whole).saturating_add(fraction);
            return Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
        whole += 1;
    }
}

const MAX_DRAWN_SUSPENSIONS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_draws_have_their_moments() {
        let mut rng = Rng::new(1);
        let draws: Vec<f64> = (0..100_000)
            .map(|_| exponential(Duration::from_secs(1), &mut rng).as_secs_f64())
            .collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let above_two = draws.iter().filter(|draw| **draw > 2.0).count() as f64 / n;
        assert!((mean - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        assert!(
            (above_two - 0.1353).abs() < 5.0 * 0.342 / n.sqrt(),
            "{above_two}"
        );
    }

    fn stage(access: u64, length: u64, every: u64) -> RadioStage {
        let suspension = spec::Suspension {
            length: Duration::from_millis(length),
            every: Duration::from_millis(every),
        };
        let radio = spec::Radio {
            access: Duration::from_millis(access),
            suspension: Some(suspension),
        };
        RadioStage::new(Some(radio), 1)
    }

    #[test]
    fn a_radio_is_suspended_for_its_share_of_the_time() {
        for step in [1, 100_000] {
            let mut radio = stage(0, 20, 80);
            let count = 200_000;
            let suspended = (0..count)
                .map(|i| Timestamp::from_millis(i * step))
                .filter(|now| radio.clear_at(*now) > *now)
                .count();
            let share = suspended as f64 / count as f64;
            assert!((share - 0.2).abs() < 0.02, "{share} at every {step} ms");
        }
    }

    #[test]
    fn nothing_is_sent_in_a_suspension_and_packets_keep_their_order() {
        let mut radio = stage(3, 20, 80);
        let mut last = Timestamp::ZERO;
        for millis in 0..10_000 {
            let now = Timestamp::from_millis(millis);
            let start = radio.clear_at(now);
            assert!(start >= now && start <= now + Duration::from_millis(20));
            let arrival = radio.arrival(start);
            assert!(arrival >= last && arrival >= start);
            last = arrival;
        }
    }
}
