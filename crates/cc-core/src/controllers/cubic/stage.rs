//! One stage of congestion avoidance, from one congestion to the next.

use super::curve::Curve;
use crate::parts::loss_based::AvoidanceAck;
use crate::parts::remainder::Remainder;
use units::duration::nanos;
use units::{Bytes, Gain, Timestamp};

/// The position on the stage's curve, and the window that Reno would have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    curve: Curve,
    /// t: nanoseconds in this stage, without those in which the window was not the limit (RFC 9438
    /// §4.2, §5.8): otherwise the curve would rise during idle time.
    elapsed: u64,
    /// Until when `elapsed` has been brought up to date.
    counted_until: Timestamp,
    /// W_est: the window that Reno would have (§4.3).
    estimate: Bytes,
    /// The highest value of the curve so far.
    reached: Bytes,
    /// Nanoseconds in this stage until which the curve will be below the estimate.
    reno_until: u64,
    estimate_rest: Remainder,
    growth_rest: Remainder,
}

impl Stage {
    /// Begins at window `cwnd`, where `curve` begins.
    pub(super) fn new(curve: Curve, cwnd: Bytes, now: Timestamp) -> Self {
        Self {
            curve,
            elapsed: 0,
            counted_until: now,
            estimate: cwnd,
            reached: Bytes::ZERO,
            reno_until: 0,
            estimate_rest: Remainder::default(),
            growth_rest: Remainder::default(),
        }
    }

    pub(super) fn estimate(&self) -> Bytes {
        self.estimate
    }

    /// The time until `now` does not count.
    pub(super) fn skip_time(&mut self, now: Timestamp) {
        self.counted_until = now;
    }

    /// By how much the window grows (§4.3 to §4.5). It never shrinks: where W_est is below it,
    /// because the curve was ahead before, it does not grow.
    pub(super) fn growth(&mut self, ack: &AvoidanceAck, alpha: Gain) -> Bytes {
        let passed = ack.now.nanos_since(self.counted_until);
        self.elapsed = self.elapsed.saturating_add(passed);
        self.counted_until = ack.now;
        self.advance_estimate(ack, alpha);
        match self.target(ack) {
            None => self.estimate.saturating_sub(ack.cwnd),
            Some(target) => self.approach(target, ack),
        }
    }

    /// W_est += α · acked ÷ cwnd packets.
    fn advance_estimate(&mut self, ack: &AvoidanceAck, alpha: Gain) {
        let packets = alpha.millionths().saturating_mul(ack.mss.get());
        let product = u128::from(packets) * u128::from(ack.acked.get());
        let divisor = ack.cwnd.get().saturating_mul(1_000_000);
        let growth = self.estimate_rest.divide(product, divisor);
        self.estimate = self.estimate.saturating_add(Bytes::new(growth));
    }

    /// W_cubic(t + RTT), or `None` where W_cubic(t) < W_est: then Reno is faster.
    ///
    /// Neither the curve nor the estimate ever falls. So the curve is evaluated once per round trip
    /// where Reno is ahead by that much, and once per ACK where the curve is ahead.
    fn target(&mut self, ack: &AvoidanceAck) -> Option<Bytes> {
        if self.elapsed < self.reno_until {
            return None;
        }
        let soon = self.elapsed.saturating_add(nanos(ack.srtt));
        let target = self.curve.window_at(soon);
        if target < self.estimate {
            self.reno_until = soon;
            return None;
        }
        if self.reached < self.estimate {
            self.reached = self.curve.window_at(self.elapsed);
        }
        (self.reached >= self.estimate).then_some(target)
    }

    /// (target − cwnd) ÷ cwnd per byte, with a target of at most one and a half windows (§4.2).
    fn approach(&mut self, target: Bytes, ack: &AvoidanceAck) -> Bytes {
        let most = ack.cwnd.saturating_add(ack.cwnd / 2);
        let missing = target.min(most).saturating_sub(ack.cwnd);
        let product = u128::from(missing.get()) * u128::from(ack.acked.get());
        let growth = self.growth_rest.divide(product, ack.cwnd.get());
        // One ACK for several windows must not raise the window above its target.
        Bytes::new(growth).min(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use units::Rng;

    const MSS: Bytes = Bytes::new(1_200);
    const C: Gain = Gain::new(4, 10);
    const ALPHA: Gain = Gain::new(9, 17);

    #[test]
    fn what_it_remembers_of_the_curve_changes_nothing() {
        let mut rng = Rng::new(5);
        let (mut as_reno, mut on_curve) = (0, 0);
        for _ in 0..40 {
            let plateau = MSS * (10 + rng.below(500));
            let mut cwnd = plateau * Gain::new(7, 10);
            let mut now = Timestamp::ZERO;
            let mut stage = Stage::new(Curve::new(cwnd, plateau, C, MSS), cwnd, now);
            let mut rest = Remainder::default();
            let longest = 2 + rng.below(100);
            for _ in 0..2_000 {
                let srtt = Duration::from_millis(rng.below(longest));
                let acked = MSS * (1 + rng.below(10));
                // A window in a round trip.
                now += Duration::from_nanos(nanos(srtt) * acked.get() / cwnd.get());
                let ack = AvoidanceAck {
                    now,
                    acked,
                    cwnd,
                    mss: MSS,
                    srtt,
                };
                let growth = stage.growth(&ack, ALPHA);
                // RFC 9438 §4.3 to §4.5, with the curve evaluated each time.
                let expected = if stage.curve.window_at(stage.elapsed) < stage.estimate {
                    as_reno += 1;
                    stage.estimate.saturating_sub(cwnd)
                } else {
                    on_curve += 1;
                    let soon = stage.elapsed + nanos(ack.srtt);
                    let target = stage.curve.window_at(soon).min(cwnd + cwnd / 2);
                    let missing = target.saturating_sub(cwnd).get();
                    let product = u128::from(missing) * u128::from(ack.acked.get());
                    Bytes::new(rest.divide(product, cwnd.get()).min(missing))
                };
                assert_eq!(growth, expected);
                cwnd += growth.min(ack.acked);
            }
        }
        assert!(as_reno > 5_000 && on_curve > 5_000, "{as_reno} {on_curve}");
    }
}
