//! What connections count for metrics, in sums that tell no connection apart.

use crate::histogram::RttHistogram;
use crate::stats::ConnectionStats;
use quinn_proto::Side;
use std::array;
use std::collections::BTreeMap;
use std::time::Duration;

/// A counter of each connection, and how it is reported.
pub(crate) struct Counter {
    pub(crate) name: &'static str,
    /// What sets it apart from others of its name.
    pub(crate) label: Option<(&'static str, &'static str)>,
    pub(crate) text: &'static str,
    read: fn(&ConnectionStats) -> u64,
}

/// What was counted: by one connection since some time, or by several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Totals {
    counters: [u64; COUNTERS.len()],
    pub(crate) rtts: RttHistogram,
}

impl Totals {
    /// Since the connection began; of round-trip times, since it came to its path.
    pub(crate) fn of(stats: &ConnectionStats) -> Self {
        Self {
            counters: array::from_fn(|index| (COUNTERS[index].read)(stats)),
            rtts: stats.rtt_histogram,
        }
    }

    /// What has come to it since `before`, which is of the same connection.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let (now, then) = (&self.counters, &before.counters);
        Self {
            counters: array::from_fn(|index| now[index].saturating_sub(then[index])),
            rtts: self.rtts.since(&before.rtts),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, count) in self.counters.iter_mut().zip(other.counters) {
            *sum = sum.saturating_add(count);
        }
        self.rtts.add(&other.rtts);
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        COUNTERS.iter().zip(self.counters)
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            counters: [0; COUNTERS.len()],
            rtts: RttHistogram::default(),
        }
    }
}

/// Connections that are reported together: those of one controller, on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub(crate) controller: &'static str,
    pub(crate) side: Side,
}

/// What the connections of a group have counted since the last report.
#[derive(Debug, Default)]
pub(crate) struct GroupCounts {
    pub(crate) totals: Totals,
    /// Connections that have ended before their handshake had.
    pub(crate) failed_handshakes: u64,
}

pub(crate) type Groups = BTreeMap<Group, GroupCounts>;

/// A time as metrics count it; their counters are integers.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

const fn counter(
    name: &'static str,
    text: &'static str,
    read: fn(&ConnectionStats) -> u64,
) -> Counter {
    Counter {
        name,
        label: None,
        text,
        read,
    }
}

const fn limit(by: &'static str, read: fn(&ConnectionStats) -> u64) -> Counter {
    Counter {
        label: Some(("by", by)),
        ..counter(
            "paceline_limited_microseconds_total",
            "Time of connections by what kept them from sending more",
            read,
        )
    }
}

/// docs/metrics.md has the same list.
pub(crate) const COUNTERS: [Counter; 15] = [
    counter(
        "paceline_sent_datagrams_total",
        "UDP datagrams sent by connections",
        |stats| stats.udp_tx.datagrams,
    ),
    counter(
        "paceline_sent_bytes_total",
        "UDP payload sent by connections",
        |stats| stats.udp_tx.bytes,
    ),
    counter(
        "paceline_received_datagrams_total",
        "UDP datagrams received by connections",
        |stats| stats.udp_rx.datagrams,
    ),
    counter(
        "paceline_received_bytes_total",
        "UDP payload received by connections",
        |stats| stats.udp_rx.bytes,
    ),
    counter(
        "paceline_sent_packets_total",
        "QUIC packets sent",
        |stats| stats.path.sent_packets,
    ),
    counter(
        "paceline_lost_packets_total",
        "QUIC packets declared lost, whose data is sent again",
        |stats| stats.path.lost_packets,
    ),
    counter(
        "paceline_lost_bytes_total",
        "Bytes of QUIC packets declared lost",
        |stats| stats.path.lost_bytes,
    ),
    counter(
        "paceline_spuriously_lost_packets_total",
        "QUIC packets declared lost that arrived after all",
        |stats| stats.spurious_losses,
    ),
    counter(
        "paceline_marked_packets_total",
        "QUIC packets that the peer reported as marked Congestion Experienced",
        |stats| stats.ecn.ce_marked,
    ),
    counter(
        "paceline_congestion_events_total",
        "Times that losses or marks were taken for congestion",
        |stats| stats.path.congestion_events,
    ),
    limit("application", |stats| micros(stats.limited_by.application)),
    limit("congestion_window", |stats| {
        micros(stats.limited_by.congestion_window)
    }),
    limit("pacing", |stats| micros(stats.limited_by.pacing)),
    limit("flow_control", |stats| {
        micros(stats.limited_by.flow_control)
    }),
    limit("host", |stats| micros(stats.limited_by.host)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(bytes: u64, rtts: &[u64]) -> ConnectionStats {
        let mut counts = crate::histogram::RttCounts::default();
        for millis in rtts {
            counts.record(Duration::from_millis(*millis));
        }
        let mut stats = ConnectionStats {
            rtt_histogram: counts.histogram(),
            ..ConnectionStats::default()
        };
        stats.udp_tx.bytes = bytes;
        stats
    }

    fn sent_bytes(totals: &Totals) -> u64 {
        let mut counters = totals.counters();
        let found = counters.find(|(counter, _)| counter.name == "paceline_sent_bytes_total");
        found.unwrap().1
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let first = Totals::of(&stats(1_000, &[20, 20]));
        let second = Totals::of(&stats(1_500, &[20, 20, 20, 90]));
        let mut sum = Totals::default();
        sum.add(&first);
        sum.add(&second.since(&first));
        assert_eq!(sum, second);
        assert_eq!(sent_bytes(&sum), 1_500);
        assert_eq!(sum.rtts.count(), 4);
    }

    #[test]
    fn a_new_paths_round_trip_times_are_all_new() {
        let before = Totals::of(&stats(1_000, &[20, 20]));
        let after = Totals::of(&stats(1_500, &[90]));
        let new = after.since(&before);
        assert_eq!((sent_bytes(&new), new.rtts.count()), (500, 1));
    }
}
