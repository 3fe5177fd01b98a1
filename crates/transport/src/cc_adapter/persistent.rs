//! Persistent congestion (RFC 9002 §7.6).

use super::sent_packets::SentPacket;
use std::time::Duration;
use units::Timestamp;

/// Watches packets as they leave flight, in the order of sending, for a run of lost ones that spans
/// several probe timeouts.
#[derive(Debug, Default)]
pub(super) struct PersistentCongestion {
    /// When the oldest ack-eliciting packet left of those lost since one was last acknowledged.
    lost_since: Option<Timestamp>,
}

impl PersistentCongestion {
    pub(super) fn on_acked(&mut self) {
        self.lost_since = None;
    }

    /// `packet` was lost, on a path whose first round-trip time was measured at `first_rtt_at`.
    /// Whether more than `threshold` lies between the first and the last of the run.
    ///
    /// MTU probes neither begin a run nor end one: their loss says nothing of congestion (RFC 9000
    /// §14.4).
    pub(super) fn on_lost(
        &mut self,
        packet: &SentPacket,
        threshold: Duration,
        first_rtt_at: Option<Timestamp>,
    ) -> bool {
        let sent_at = packet.stamp.sent_at;
        let counts = packet.is_ack_eliciting && !packet.is_mtu_probe;
        if !counts || first_rtt_at.is_none_or(|first| sent_at <= first) {
            return false;
        }
        let since = *self.lost_since.get_or_insert(sent_at);
        sent_at.since(since) > threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three probe timeouts.
    const THRESHOLD: Duration = Duration::from_millis(300);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Whether the last of packets that left at these times and were lost ends a long enough run.
    fn ends(run: &mut PersistentCongestion, lost: &[u64]) -> bool {
        let mut ends = false;
        for &millis in lost {
            let packet = SentPacket::example(millis, at(millis));
            ends = run.on_lost(&packet, THRESHOLD, Some(at(0)));
        }
        ends
    }

    #[test]
    fn losses_over_more_than_the_threshold_establish_it() {
        assert!(ends(&mut PersistentCongestion::default(), &[100, 401]));
        assert!(!ends(&mut PersistentCongestion::default(), &[100, 400]));
        assert!(ends(
            &mut PersistentCongestion::default(),
            &[100, 200, 300, 400, 500]
        ));
    }

    #[test]
    fn an_acknowledged_packet_between_them_ends_the_run() {
        let mut run = PersistentCongestion::default();
        ends(&mut run, &[100, 200]);
        run.on_acked();
        assert!(!ends(&mut run, &[401, 701]));
        assert!(ends(&mut run, &[702]));
    }

    #[test]
    fn packets_from_before_the_first_round_trip_time_do_not_count() {
        let mut run = PersistentCongestion::default();
        let lost = |run: &mut PersistentCongestion, millis, first| {
            let packet = SentPacket::example(millis, at(millis));
            run.on_lost(&packet, THRESHOLD, first)
        };
        assert!(!lost(&mut run, 100, None));
        assert!(!lost(&mut run, 200, Some(at(200))), "it left before that");
        assert!(!lost(&mut run, 500, Some(at(200))), "the first that counts");
        assert!(!lost(&mut run, 800, Some(at(200))));
        assert!(lost(&mut run, 801, Some(at(200))));
    }

    #[test]
    fn packets_that_need_no_ack_and_mtu_probes_neither_begin_nor_end_a_run() {
        let padded = |millis| SentPacket {
            is_ack_eliciting: false,
            ..SentPacket::example(millis, at(millis))
        };
        let probe = |millis| SentPacket {
            is_mtu_probe: true,
            ..SentPacket::example(millis, at(millis))
        };
        for other in [padded, probe] {
            let mut run = PersistentCongestion::default();
            run.on_lost(&other(100), THRESHOLD, Some(at(0)));
            assert!(!ends(&mut run, &[350, 450]));
            assert!(!run.on_lost(&other(800), THRESHOLD, Some(at(0))));
            assert!(ends(&mut run, &[801]), "it has not interrupted one, either");
        }
    }
}
