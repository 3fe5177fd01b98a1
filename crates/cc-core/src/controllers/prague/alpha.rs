//! Moving average of ECN feedback (draft-briscoe-iccrg-prague-congestion-control-04 §2.3.2).

use super::params::Tuning;
use crate::controller::PathState;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bytes, Gain, Timestamp};

/// alpha: which share of what arrives is marked, on average over the last round trips.
///
/// alpha += gain × (share of this round trip − alpha). It is kept in 10⁻¹², each step rounded down:
/// with a gain of 1/16 that errs by less than 16 × 10⁻¹², and without marks it ends at zero.
#[derive(Debug)]
pub(super) struct Alpha {
    gain: Gain,
    /// In 10⁻¹², as the average.
    initial: u64,
    /// `None` before the first mark: it is not known yet that a queue on this path marks, and an
    /// average that fell meanwhile would make the first reduction too small.
    average: Option<u64>,
    /// Of the present round trip.
    acked: Bytes,
    marked: Bytes,
    since: Timestamp,
    /// The round trip is over with a packet that left after this much was delivered.
    until: Bytes,
}

impl Alpha {
    pub(super) fn new(now: Timestamp, tuning: &Tuning) -> Self {
        Self {
            gain: tuning.alpha_gain,
            initial: tuning.initial_alpha.millionths() * MILLION,
            average: None,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            since: now,
            until: Bytes::ZERO,
        }
    }

    /// The average, to a millionth; `None` before the first mark.
    pub(super) fn get(&self) -> Option<Gain> {
        let millionths = |average| Gain::from_millionths(average / MILLION);
        self.average.map(millionths)
    }

    /// A mark: the average to respond to it with, in 10⁻¹².
    pub(super) fn on_mark(&mut self) -> u64 {
        *self.average.get_or_insert(self.initial)
    }

    /// Counts an ACK; returns whether it ends a round trip, which lasts at least `min_round`.
    pub(super) fn on_ack(
        &mut self,
        path: &PathState,
        sample: &RateSample,
        marked: Bytes,
        min_round: Duration,
    ) -> bool {
        self.acked += sample.newly_acked;
        self.marked += marked;
        let is_over =
            sample.prior_delivered >= self.until && path.now.since(self.since) >= min_round;
        if is_over {
            self.average = self.average.map(|average| self.next(average));
            (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
            (self.since, self.until) = (path.now, path.delivered);
        }
        is_over
    }

    fn next(&self, average: u64) -> u64 {
        let share = u128::from(self.marked.get()) * u128::from(ONE);
        let share = share / u128::from(self.acked.get().max(1));
        let (gain, old) = (u128::from(self.gain.millionths()), u128::from(average));
        let million = u128::from(MILLION);
        let sum = old * million.saturating_sub(gain) + share * gain;
        u64::try_from(sum / million).expect("an average of shares is a share")
    }
}

/// Half of the share `alpha`, in 10⁻¹², of a window, rounded down.
pub(super) fn half_of(alpha: u64, cwnd: Bytes) -> Bytes {
    let cut = u128::from(cwnd.get()) * u128::from(alpha) / (2 * u128::from(ONE));
    Bytes::new(u64::try_from(cut).expect("half of a window is less than the window"))
}

const MILLION: u64 = 1_000_000;
/// Every packet is marked.
const ONE: u64 = MILLION * MILLION;
