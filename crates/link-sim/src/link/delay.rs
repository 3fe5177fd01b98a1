mod distribution;

use super::crandom::Crandom;
use super::label;
use crate::spec::{Delay, NetemDelay};
use core::time::Duration;
pub(super) use distribution::deviation;
use units::{Gain, Timestamp, duration};

/// Propagation: how much later a packet comes out than it went in.
#[derive(Debug)]
pub(super) struct DelayStage {
    delay: Option<Delay>,
    /// The latest arrival given out, for `ordered`.
    last: Timestamp,
    random: Crandom,
}

impl DelayStage {
    pub(super) fn new(delay: Option<Delay>, seed: u64) -> Self {
        Self {
            delay,
            last: Timestamp::ZERO,
            random: Crandom::new(seed, label::DELAY),
        }
    }

    pub(super) fn set(&mut self, delay: Option<Delay>) {
        self.delay = delay;
    }

    /// Whether a packet that is delayed by `next` stays behind all that came out in order so far.
    pub(super) fn preserves_order(&self, next: Option<&Delay>) -> bool {
        let now = self.delay.as_ref();
        let is_ordered = |delay: Option<&Delay>| delay.is_some_and(Delay::is_ordered);
        is_ordered(next) || !is_ordered(now) && next.map(Delay::mean) >= now.map(Delay::mean)
    }

    /// When a packet that goes in at `sent` comes out.
    pub(super) fn arrival(&mut self, sent: Timestamp) -> Timestamp {
        let time = match &self.delay {
            None => return sent,
            Some(Delay::Netem(delay)) => draw(*delay, &mut self.random),
            Some(Delay::Recorded(delay)) => delay.at(sent),
        };
        let mut arrival = sent + time;
        if self.delay.as_ref().is_some_and(Delay::is_ordered) {
            arrival = arrival.max(self.last);
        }
        self.last = arrival;
        arrival
    }
}

/// A draw below zero, which a jitter larger than the delay makes possible, is none at all.
fn draw(delay: NetemDelay, random: &mut Crandom) -> Duration {
    if delay.jitter.is_zero() {
        return delay.time;
    }
    let jitter = i128::from(duration::nanos(delay.jitter));
    let off = if delay.correlation == Gain::ZERO {
        deviation(delay.distribution, jitter, |span| random.rng().below(span))
    } else {
        let number = u64::from(random.next(delay.correlation));
        deviation(delay.distribution, jitter, |span| spread(number, span))
    };
    let nanos = i128::from(duration::nanos(delay.time)) + off;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// A 32-bit number as one below `span`: netem's remainder, which little of a correlation survives.
/// netem has no span above 32 bits (a jitter of 2.1 s); there, the number is stretched.
fn spread(number: u64, span: u64) -> u64 {
    if span <= 1 << 32 {
        number % span
    } else {
        ((u128::from(number) * u128::from(span)) >> 32) as u64
    }
}
