//! One stage of congestion avoidance, from one congestion to the next.

use super::curve::Curve;
use crate::carry::Carry;
use crate::loss_based::AvoidanceAck;
use core::time::Duration;
use units::{Bytes, Gain, Timestamp};

/// Where a stage is on its curve, and where Reno would be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    curve: Curve,
    /// t: time in this stage, without that in which the window was not the limit (RFC 9438 §4.2,
    /// §5.8): an idle hour would otherwise lift the curve to the sky.
    elapsed: Duration,
    /// Until when `elapsed` has been brought up to date.
    counted_until: Timestamp,
    /// W_est: the window that Reno would have (§4.3).
    estimate: Bytes,
    estimate_rest: Carry,
    growth_rest: Carry,
}

impl Stage {
    /// Begins at window `cwnd`, where `curve` begins.
    pub(super) fn new(curve: Curve, cwnd: Bytes, now: Timestamp) -> Self {
        Self {
            curve,
            elapsed: Duration::ZERO,
            counted_until: now,
            estimate: cwnd,
            estimate_rest: Carry::default(),
            growth_rest: Carry::default(),
        }
    }

    pub(super) fn estimate(&self) -> Bytes {
        self.estimate
    }

    /// What passed until `now` does not count.
    pub(super) fn skip_time(&mut self, now: Timestamp) {
        self.counted_until = now;
    }

    /// By how much the window grows (§4.3 to §4.5). It never shrinks: where W_est is below it,
    /// because the curve was ahead before, it waits.
    pub(super) fn growth(&mut self, ack: &AvoidanceAck, alpha: Gain) -> Bytes {
        self.elapsed += ack.now.since(self.counted_until);
        self.counted_until = ack.now;
        self.advance_estimate(ack, alpha);
        if self.curve.window_at(self.elapsed) < self.estimate {
            return self.estimate.saturating_sub(ack.cwnd);
        }
        let most = ack.cwnd.saturating_add(ack.cwnd / 2);
        let target = self.curve.window_at(self.elapsed + ack.srtt).min(most);
        let missing = target.saturating_sub(ack.cwnd);
        let product = u128::from(missing.get()) * u128::from(ack.acked.get());
        let growth = self.growth_rest.divide(product, ack.cwnd.get());
        // One ACK for several windows must not carry the window beyond its target.
        Bytes::new(growth).min(missing)
    }

    /// W_est += α · acked ÷ cwnd packets.
    fn advance_estimate(&mut self, ack: &AvoidanceAck, alpha: Gain) {
        let packets = u128::from(alpha.millionths()) * u128::from(ack.mss.get());
        let product = packets.saturating_mul(u128::from(ack.acked.get()));
        let divisor = ack.cwnd.get().saturating_mul(1_000_000);
        let growth = self.estimate_rest.divide(product, divisor);
        self.estimate = self.estimate.saturating_add(Bytes::new(growth));
    }
}
