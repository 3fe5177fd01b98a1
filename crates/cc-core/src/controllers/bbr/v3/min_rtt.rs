//! The round-trip time without queues, and when to empty the queues to see it again
//! (draft-ietf-ccwg-bbr-06 §2.16, §5.3.4.3, §5.5.7).

use core::time::Duration;
use units::Timestamp;
use units::duration::nanos;

use super::params::Tuning;

/// Two nested minima: one over the ProbeRTT interval, which schedules ProbeRTT, and one over the
/// filter window, which is the estimate.
#[derive(Debug)]
pub(super) struct MinRtt {
    /// The estimate, `min_rtt`, in nanoseconds; `None` before the first sample.
    estimate: Option<u64>,
    /// When `estimate` was measured: `min_rtt_stamp`.
    measured_at: Timestamp,
    /// Minimum sample of the ProbeRTT interval, `probe_rtt_min_delay`, in nanoseconds; `None`
    /// before the first.
    recent: Option<u64>,
    /// When `recent` was measured, or the last ProbeRTT ended: `probe_rtt_min_stamp`.
    recent_at: Timestamp,
    /// Whether `recent` has not been undercut for the whole interval: `probe_rtt_expired`.
    pub(super) is_probe_due: bool,
}

impl MinRtt {
    /// `srtt` is the estimate to begin with, where a connection has one already.
    pub(super) fn new(now: Timestamp, srtt: Option<Duration>) -> Self {
        Self {
            estimate: srtt.map(nanos),
            measured_at: now,
            recent: None,
            recent_at: now,
            is_probe_due: false,
        }
    }

    /// The estimate; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        self.estimate.map(Duration::from_nanos)
    }

    /// The estimate in nanoseconds.
    pub(super) fn nanos(&self) -> Option<u64> {
        self.estimate
    }

    /// UpdateMinRTT. Where there was no sample, none can be out of date.
    pub(super) fn on_ack(&mut self, now: Timestamp, rtt: Option<Duration>, tuning: &Tuning) {
        self.is_probe_due = self.recent.is_some()
            && now.nanos_since(self.recent_at) > nanos(tuning.probe_rtt_interval);
        if let Some(rtt) = rtt.map(nanos)
            && (self.is_probe_due || self.recent.is_none_or(|recent| rtt < recent))
        {
            self.recent = Some(rtt);
            self.recent_at = now;
        }
        let is_expired = now.nanos_since(self.measured_at) > nanos(tuning.min_rtt_window);
        if let Some(recent) = self.recent
            && (is_expired || self.estimate.is_none_or(|estimate| recent < estimate))
        {
            self.estimate = Some(recent);
            self.measured_at = self.recent_at;
        }
    }

    /// A ProbeRTT has ended; the next is due an interval from now.
    pub(super) fn on_probed(&mut self, now: Timestamp) {
        self.recent_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::DRAFT_06;
    use super::*;
    use crate::params::Params;

    fn min_rtt() -> (MinRtt, Tuning) {
        let tuning = Tuning::new(&Params::defaults(DRAFT_06));
        (MinRtt::new(Timestamp::ZERO, None), tuning)
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn no_sample_yet_is_not_an_expired_one() {
        let (mut min_rtt, tuning) = min_rtt();
        min_rtt.on_ack(at(20_000), None, &tuning);
        assert!(!min_rtt.is_probe_due);
        min_rtt.on_ack(at(20_001), Some(ms(30)), &tuning);
        assert!(!min_rtt.is_probe_due);
        assert_eq!(min_rtt.get(), Some(ms(30)));
    }

    #[test]
    fn a_probe_is_due_when_the_minimum_was_not_undercut_for_the_interval() {
        let (mut min_rtt, tuning) = min_rtt();
        min_rtt.on_ack(at(0), Some(ms(30)), &tuning);
        min_rtt.on_ack(at(5_000), Some(ms(40)), &tuning);
        assert!(!min_rtt.is_probe_due);
        min_rtt.on_ack(at(5_001), Some(ms(40)), &tuning);
        assert!(min_rtt.is_probe_due);
        // What is due is the probe; the estimate lives on.
        assert_eq!(min_rtt.get(), Some(ms(30)));
    }

    #[test]
    fn the_estimate_rises_only_after_the_long_window_and_to_what_was_measured_lately() {
        let (mut min_rtt, tuning) = min_rtt();
        min_rtt.on_ack(at(0), Some(ms(30)), &tuning);
        min_rtt.on_ack(at(5_001), Some(ms(40)), &tuning);
        min_rtt.on_ack(at(10_000), Some(ms(50)), &tuning);
        assert_eq!(min_rtt.get(), Some(ms(30)));
        min_rtt.on_ack(at(10_001), Some(ms(50)), &tuning);
        assert_eq!(min_rtt.get(), Some(ms(40)));
    }

    #[test]
    fn a_smoothed_time_from_before_stands_in_until_undercut() {
        let tuning = Tuning::new(&Params::defaults(DRAFT_06));
        let mut min_rtt = MinRtt::new(at(0), Some(ms(35)));
        min_rtt.on_ack(at(1), Some(ms(40)), &tuning);
        assert_eq!(min_rtt.get(), Some(ms(35)));
        min_rtt.on_ack(at(2), Some(ms(30)), &tuning);
        assert_eq!(min_rtt.get(), Some(ms(30)));
    }
}
