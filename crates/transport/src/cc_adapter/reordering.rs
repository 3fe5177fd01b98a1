//! The reordering window: when a packet that others have overtaken counts as lost.

use std::time::Duration;
use units::Timestamp;

/// The thresholds of RFC 9002 §6.1, and how far the second may go where packets are late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LossThresholds {
    pub(crate) packets: u32,
    /// Round trips that one may take while none has been late.
    pub(crate) time: f32,
    /// Round trips that one may take at all.
    pub(crate) max_time: f32,
    /// Probe timeouts between two lost packets, all between them lost as well, that make congestion
    /// persistent (RFC 9002 §7.6.1).
    pub(crate) persistent_congestion: u32,
}

impl LossThresholds {
    /// quinn-proto's packet and time threshold, which are those of a connection's whole life. Where
    /// they are to follow the path, quinn-proto has the most lenient, and the driver declares lost
    /// earlier what is overdue.
    pub(crate) fn of_quinn(&self) -> (u32, f32) {
        if self.is_adaptive() {
            (u32::MAX, self.max_time)
        } else {
            (self.packets, self.time)
        }
    }

    fn is_adaptive(&self) -> bool {
        self.max_time > self.time
    }
}

/// The thresholds in force: RFC 9002's while nothing is late, RACK's reordering window (RFC 8985
/// §6.2) when something was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reordering {
    thresholds: LossThresholds,
    /// What packets took beyond a round trip, the most in this period and in the last one.
    latest: Option<Duration>,
    previous: Option<Duration>,
    period_ends: Option<Timestamp>,
}

/// What is lost: all that this many packets have overtaken, and all that is this old and was
/// overtaken by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overdue {
    /// Packets, if it is for their number to say.
    pub(super) packets: Option<u64>,
    /// Time since a packet left.
    pub(super) age: Duration,
    /// The time after which quinn-proto declares a packet lost by itself.
    pub(super) max_age: Duration,
}

impl Reordering {
    /// Nothing was late so far.
    pub(super) fn new(thresholds: LossThresholds) -> Self {
        Self {
            thresholds,
            latest: None,
            previous: None,
            period_ends: None,
        }
    }

    /// Whether there is anything to do that quinn-proto does not.
    pub(super) fn is_adaptive(&self) -> bool {
        self.thresholds.is_adaptive()
    }

    /// A packet that a later one had overtaken took so long to be acknowledged.
    pub(super) fn on_late(&mut self, now: Timestamp, took: Duration, rtt: Duration) {
        if self.is_adaptive() {
            self.widen(now, took.saturating_sub(rtt) + rtt / SLACK, rtt);
        }
    }

    /// What is lost on a path of this round-trip time: the newest one or the smoothed one, if that
    /// is longer.
    pub(super) fn overdue(&mut self, now: Timestamp, rtt: Duration) -> Overdue {
        self.begin_period_if_due(now, rtt);
        let max_age = age(rtt, self.thresholds.max_time);
        let least = age(rtt, self.thresholds.time);
        match self.window() {
            None => Overdue {
                packets: Some(self.thresholds.packets.into()),
                age: least,
                max_age,
            },
            Some(window) => Overdue {
                packets: None,
                age: least.max(rtt + window).min(max_age),
                max_age,
            },
        }
    }

    fn window(&self) -> Option<Duration> {
        self.latest.max(self.previous)
    }

    fn widen(&mut self, now: Timestamp, window: Duration, rtt: Duration) {
        self.begin_period_if_due(now, rtt);
        let most = age(rtt, self.thresholds.max_time).saturating_sub(rtt);
        self.latest = self.latest.max(Some(window.min(most)));
    }

    fn begin_period_if_due(&mut self, now: Timestamp, rtt: Duration) {
        if self.period_ends.is_none_or(|end| now >= end) {
            self.period_ends = Some(now + PERIOD * rtt);
            self.previous = self.latest.take();
        }
    }
}

/// As quinn-proto rounds it, so that both mean the same packets.
fn age(rtt: Duration, threshold: f32) -> Duration {
    rtt.mul_f32(threshold).max(GRANULARITY)
}

/// kGranularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// An eighth of a round trip beyond the latest packet: what RFC 9002 §6.1.2 gives to packets in
/// order.
const SLACK: u32 = 8;
/// Round trips after which a late packet is forgotten, sixteen to thirty-two. RFC 8985 §6.2 counts
/// sixteen recoveries; where each round loses something, those are sixteen round trips.
const PERIOD: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of which an eighth is exact in f32.
    const RTT: Duration = Duration::from_secs(1);
    const MS: Duration = Duration::from_millis(1);
    const THRESHOLDS: LossThresholds = LossThresholds {
        packets: 3,
        time: 1.125,
        max_time: 2.25,
        persistent_congestion: 3,
    };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn reordering() -> Reordering {
        Reordering::new(THRESHOLDS)
    }

    #[test]
    fn while_nothing_is_late_the_thresholds_are_those_of_the_rfc() {
        let expected = Overdue {
            packets: Some(3),
            age: MS * 1_125,
            max_age: MS * 2_250,
        };
        assert_eq!(reordering().overdue(at(0), RTT), expected);
    }

    #[test]
    fn a_late_packet_has_others_waited_for_as_long_and_an_eighth() {
        let mut reordering = reordering();
        reordering.on_late(at(0), RTT + MS * 300, RTT);
        reordering.on_late(at(1), RTT + MS * 50, RTT);
        let overdue = reordering.overdue(at(1), RTT);
        assert_eq!((overdue.packets, overdue.age), (None, MS * 1_425));
    }

    #[test]
    fn however_late_a_packet_is_others_are_waited_for_up_to_the_bound() {
        let mut reordering = reordering();
        reordering.on_late(at(0), RTT * 5, RTT);
        assert_eq!(reordering.overdue(at(0), RTT).age, MS * 2_250);
    }

    #[test]
    fn the_bound_is_that_of_the_round_trip_of_the_moment() {
        let mut reordering = reordering();
        reordering.on_late(at(0), RTT * 2, RTT);
        let overdue = reordering.overdue(at(1), RTT / 2);
        assert_eq!(overdue.age, MS * 1_125);
    }

    #[test]
    fn a_packet_in_time_is_no_reason_to_wait_less_than_an_eighth() {
        let mut reordering = reordering();
        reordering.on_late(at(0), RTT, RTT);
        assert_eq!(reordering.overdue(at(0), RTT).age, MS * 1_125);
    }

    #[test]
    fn what_was_late_on_a_short_path_does_not_make_a_long_one_impatient() {
        let mut reordering = reordering();
        reordering.on_late(at(0), MS * 15, MS * 10);
        assert_eq!(reordering.overdue(at(1), RTT).age, MS * 1_125);
    }

    #[test]
    fn what_was_late_is_forgotten_after_two_periods_at_most() {
        let mut reordering = reordering();
        reordering.overdue(at(0), RTT);
        reordering.on_late(at(15_999), RTT + MS * 400, RTT);
        reordering.on_late(at(16_000), RTT + MS * 200, RTT);
        let mut window = |millis| reordering.overdue(at(millis), RTT).age.as_millis();
        assert_eq!(window(16_001), 1_525, "the period before counts");
        assert_eq!(window(32_000), 1_325, "and no more");
        assert_eq!(window(48_000), 1_125);
        let is_forgotten = reordering.overdue(at(48_000), RTT).packets.is_some();
        assert!(is_forgotten);
    }

    #[test]
    fn below_a_millisecond_a_packet_has_a_millisecond() {
        let overdue = reordering().overdue(at(0), MS / 100);
        assert_eq!((overdue.age, overdue.max_age), (MS, MS));
    }

    #[test]
    fn quinn_proto_decides_alone_where_the_thresholds_are_fixed() {
        let fixed = LossThresholds {
            max_time: 1.125,
            ..THRESHOLDS
        };
        assert_eq!(fixed.of_quinn(), (3, 1.125));
        let mut reordering = Reordering::new(fixed);
        reordering.on_late(at(0), RTT * 2, RTT);
        assert_eq!(reordering.overdue(at(0), RTT).packets, Some(3));
        assert_eq!(THRESHOLDS.of_quinn(), (u32::MAX, 2.25));
    }
}
