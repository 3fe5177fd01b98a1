//! Loss, reordering and jitter, as a receiver of numbered datagrams counts them.

use crate::sample::Arrivals;
use std::time::Duration;

/// The account of one stream of datagrams, as iperf3 keeps it for UDP.
///
/// A number that is skipped is taken for lost until it comes after all; then it counts as out of
/// order. Jitter is RFC 3550's (§6.4.1, as RFC 1889's): of the differences D in transit time
/// between a datagram and the one that arrived before it, `J += (|D| − J) / 16`, here in whole
/// nanoseconds, rounded towards zero.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    arrivals: Arrivals,
    jitter: i64,
    /// Arrival by this side's clock less departure by the other's, in nanoseconds: their
    /// difference is of no matter.
    transit: Option<i64>,
}

impl Ledger {
    /// Datagram `number`, from 1, which left at `sent` and arrived at `received`.
    pub(super) fn arrive(&mut self, number: u64, sent: Duration, received: Duration) -> Arrivals {
        if number > self.arrivals.packets {
            let skipped = number - self.arrivals.packets - 1;
            self.arrivals.lost = self.arrivals.lost.saturating_add(skipped);
            self.arrivals.packets = number;
        } else {
            self.arrivals.out_of_order += 1;
            self.arrivals.lost = self.arrivals.lost.saturating_sub(1);
        }
        let transit = nanos(received).wrapping_sub(nanos(sent));
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(before).saturating_abs();
            self.jitter += (difference.saturating_sub(self.jitter)) / 16;
        }
        self.arrivals.jitter = Duration::from_nanos(self.jitter.unsigned_abs());
        self.arrivals
    }

    /// The sender says that it has sent so many in all.
    pub(super) fn end(&mut self, sent: u64) -> Arrivals {
        let missing = sent.saturating_sub(self.arrivals.packets);
        self.arrivals.lost = self.arrivals.lost.saturating_add(missing);
        self.arrivals.packets += missing;
        self.arrivals
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(ledger: &mut Ledger, number: u64, sent_ms: u64, received_ms: u64) -> Arrivals {
        let [sent, received] = [sent_ms, received_ms].map(Duration::from_millis);
        ledger.arrive(number, sent, received)
    }

    #[test]
    fn what_is_skipped_is_lost_until_it_comes() {
        let mut ledger = Ledger::default();
        for number in [1, 2, 5, 6] {
            arrive(&mut ledger, number, number, number + 10);
        }
        let reported =
            |arrivals: Arrivals| (arrivals.packets, arrivals.lost, arrivals.out_of_order);
        assert_eq!(reported(ledger.arrivals), (6, 2, 0));
        assert_eq!(reported(arrive(&mut ledger, 4, 4, 17)), (6, 1, 1));
        assert_eq!(reported(ledger.end(9)), (9, 4, 1));
        assert_eq!(reported(ledger.end(0)), (9, 4, 1));
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut ledger = Ledger::default();
        assert_eq!(arrive(&mut ledger, 1, 0, 50).jitter, Duration::ZERO);
        // 16 ms later in transit than the one before: a sixteenth of it.
        assert_eq!(
            arrive(&mut ledger, 2, 10, 76).jitter,
            Duration::from_millis(1)
        );
        // As long in transit as the one before: fifteen sixteenths remain.
        let jitter = arrive(&mut ledger, 3, 20, 86).jitter;
        assert_eq!(jitter, Duration::from_nanos(937_500));
        // Earlier counts like later.
        let jitter = arrive(&mut ledger, 4, 30, 80).jitter;
        assert_eq!(
            jitter,
            Duration::from_nanos(937_500 + (16_000_000 - 937_500) / 16)
        );
    }

    #[test]
    fn numbers_and_times_that_make_no_sense_overflow_nothing() {
        let mut ledger = Ledger::default();
        ledger.arrive(u64::MAX, Duration::MAX, Duration::ZERO);
        ledger.arrive(1, Duration::ZERO, Duration::MAX);
        ledger.arrive(0, Duration::MAX, Duration::ZERO);
        assert_eq!(ledger.end(u64::MAX).packets, u64::MAX);
    }
}
