//! How much more than expected ACKs deliver at once (draft-ietf-ccwg-bbr-06 §5.5.9).

use crate::parts::windowed_max::WindowedMax;
use units::{Bandwidth, Bytes, Timestamp};

/// Measures bursts of acknowledgements against the estimated bandwidth.
///
/// A period is one or more round trips, as the owner counts; `PERIODS` of them are remembered.
#[derive(Debug)]
pub(crate) struct AckAggregation<const PERIODS: usize> {
    /// Start of the burst: `extra_acked_interval_start`.
    started_at: Timestamp,
    /// Acknowledged since then: `extra_acked_delivered`.
    acked: Bytes,
    /// Excess by period: `extra_acked_filter`.
    filter: WindowedMax<Bytes, PERIODS>,
}

impl<const PERIODS: usize> AckAggregation<PERIODS> {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            started_at: now,
            acked: Bytes::ZERO,
            filter: WindowedMax::new(),
        }
    }

    /// UpdateACKAggregation: `newly_acked` came in period `period` while the path was expected
    /// to deliver at `bw`. More than `most` cannot have been in flight: the window, or less where
    /// the owner knows better.
    pub(crate) fn on_ack(
        &mut self,
        now: Timestamp,
        period: u64,
        newly_acked: Bytes,
        bw: Bandwidth,
        most: Bytes,
    ) {
        let mut expected = bw * now.since(self.started_at);
        if self.acked <= expected {
            self.acked = Bytes::ZERO;
            self.started_at = now;
            expected = Bytes::ZERO;
        }
        self.acked += newly_acked;
        let extra = self.acked.saturating_sub(expected).min(most);
        self.filter.advance_to(period);
        self.filter.insert(extra);
    }

    /// `extra_acked`: the maximum excess in the newest `periods` periods.
    pub(crate) fn extra_acked(&self, periods: u64) -> Bytes {
        self.filter.max_of(periods).unwrap_or_default()
    }

    /// The flow sends again after it was idle: silence until now was not the network's, and what
    /// came before it is no part of the next burst (Linux 5.x tcp_bbr.c, `bbr_cwnd_event`).
    ///
    /// The draft's HandleRestartFromIdle (draft-ietf-ccwg-bbr-06 §5.4.1) moves the start alone.
    /// Then what is acknowledged adds up over restarts while the expectation begins anew, so that
    /// a flow which is idle once in a round trip has an excess, and a window, without bound.
    pub(crate) fn on_restart(&mut self, now: Timestamp) {
        self.started_at = now;
        self.acked = Bytes::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// One byte per microsecond.
    const BW: Bandwidth = Bandwidth::from_bytes_per_sec(1_000_000);
    const CWND: Bytes = Bytes::new(50_000);

    #[test]
    fn a_burst_beyond_the_expected_rate_is_the_excess() {
        let mut aggregation = AckAggregation::<10>::new(Timestamp::ZERO);
        let burst = |a: &mut AckAggregation<10>, ms| {
            a.on_ack(Timestamp::from_millis(ms), 0, Bytes::new(10_000), BW, CWND);
        };
        // Ten milliseconds' worth at once, every ten milliseconds.
        burst(&mut aggregation, 10);
        assert_eq!(aggregation.extra_acked(1), Bytes::new(10_000));
        burst(&mut aggregation, 20);
        assert_eq!(aggregation.extra_acked(1), Bytes::new(10_000));
        // Twice as fast as expected: the excess grows by half of each burst.
        burst(&mut aggregation, 25);
        assert_eq!(aggregation.extra_acked(1), Bytes::new(15_000));
    }

    #[test]
    fn bursts_between_which_the_flow_was_idle_do_not_add_up() {
        let mut aggregation = AckAggregation::<10>::new(Timestamp::ZERO);
        for burst in 1..=5 {
            let now = Timestamp::from_millis(burst * 5);
            aggregation.on_restart(now - Duration::from_millis(5));
            aggregation.on_ack(now, 0, Bytes::new(10_000), BW, CWND);
        }
        assert_eq!(aggregation.extra_acked(1), Bytes::new(10_000));
    }

    #[test]
    fn the_excess_is_at_most_the_window_and_is_forgotten_with_its_rounds() {
        let mut aggregation = AckAggregation::<10>::new(Timestamp::ZERO);
        let at = Timestamp::from_millis;
        aggregation.on_ack(at(1), 0, Bytes::new(90_000), BW, CWND);
        assert_eq!(aggregation.extra_acked(10), CWND);
        aggregation.on_ack(at(200), 9, Bytes::new(1_000), BW, CWND);
        assert_eq!(aggregation.extra_acked(10), CWND);
        assert_eq!(aggregation.extra_acked(1), Bytes::new(1_000));
        aggregation.on_ack(at(400), 10, Bytes::new(1_000), BW, CWND);
        assert_eq!(aggregation.extra_acked(10), Bytes::new(1_000));
    }
}
