mod distribution;

use super::label;
use crate::spec::Delay;
use core::time::Duration;
use distribution::deviation;
use units::{Rng, Timestamp, duration};

/// Propagation: how much later a packet comes out than it went in.
#[derive(Debug)]
pub(super) struct DelayStage {
    delay: Option<Delay>,
    /// The latest arrival given out, for `ordered`.
    last: Timestamp,
    rng: Rng,
}

impl DelayStage {
    pub(super) fn new(delay: Option<Delay>, seed: u64) -> Self {
        Self {
            delay,
            last: Timestamp::ZERO,
            rng: Rng::derive(seed, label::DELAY),
        }
    }

    pub(super) fn set(&mut self, delay: Option<Delay>) {
        self.delay = delay;
    }

    /// The delay without jitter.
    pub(super) fn mean(&self) -> Duration {
        self.delay.map_or(Duration::ZERO, |delay| delay.time)
    }

    /// When a packet that goes in at `sent` comes out.
    pub(super) fn arrival(&mut self, sent: Timestamp) -> Timestamp {
        let Some(delay) = self.delay else { return sent };
        let mut arrival = sent + self.draw(delay);
        if delay.ordered {
            arrival = arrival.max(self.last);
        }
        self.last = arrival;
        arrival
    }

    /// A draw below zero, which a jitter larger than the delay makes possible, is none at all.
    fn draw(&mut self, delay: Delay) -> Duration {
        if delay.jitter.is_zero() {
            return delay.time;
        }
        let jitter = i128::from(duration::nanos(delay.jitter));
        let off = deviation(delay.distribution, jitter, &mut self.rng);
        let nanos = i128::from(duration::nanos(delay.time)) + off;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}
