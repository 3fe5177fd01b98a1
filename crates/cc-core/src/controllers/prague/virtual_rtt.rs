//! Reduced RTT-dependence (draft-briscoe-iccrg-prague-congestion-control-04 §2.4.4).

use super::params::Tuning;
use crate::parts::cwnd::min_window;
use core::time::Duration;
use units::Bytes;

/// The round-trip time that a flow behaves as if it had, where its own is shorter.
///
/// A window that grows by a packet per round trip grows its rate by 1 ÷ RTT² in a second, and marks
/// cut it 1 ÷ RTT times in a second: of flows that see the same marks those with short round trips
/// get more. With growth scaled by (RTT ÷ virtual RTT)², and averages and cuts once per virtual
/// RTT, all flows below it grow and reduce alike. For some time after slow start, while a flow does
/// not have its share yet, this does not apply.
#[derive(Debug)]
pub(super) struct VirtualRtt {
    floor: Duration,
    /// Round trips after slow start from which on it holds.
    transition: u64,
    rounds: u64,
}

impl VirtualRtt {
    pub(super) fn new(tuning: &Tuning) -> Self {
        Self {
            floor: tuning.virtual_rtt,
            transition: tuning.rtt_transition,
            rounds: 0,
        }
    }

    /// A round trip after slow start is over.
    pub(super) fn on_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    fn holds(&self) -> bool {
        self.rounds >= self.transition
    }

    /// What a round trip lasts at least, as far as averages and cuts are concerned.
    pub(super) fn min_round(&self) -> Duration {
        if self.holds() {
            self.floor
        } else {
            Duration::ZERO
        }
    }

    /// The window that marks leave at least: RFC 9002's two packets, but per virtual round trip, so
    /// that where the real one is shorter it may be less than a packet (RFC 9331 §4.3). Many flows
    /// then share a short path without a queue that all of them together fill and none may leave.
    pub(super) fn least_window(&self, mss: Bytes, srtt: Option<Duration>) -> Bytes {
        let two = min_window(mss);
        match srtt {
            Some(srtt) if srtt < self.floor => {
                let share = u128::from(two.get()) * srtt.as_nanos() / self.floor.as_nanos();
                Bytes::new(u64::try_from(share).expect("a share of what fits")).max(Bytes::new(1))
            }
            _ => two,
        }
    }

    /// By how much a window grows in a round trip of `srtt` without marks, in millionths of a byte,
    /// rounded down: `mss`, or (srtt ÷ virtual RTT)² of it.
    pub(super) fn increase(&self, mss: Bytes, srtt: Option<Duration>) -> u64 {
        let whole = mss.get().saturating_mul(MILLION);
        match srtt {
            Some(srtt) if self.holds() && srtt < self.floor => {
                let (srtt, floor) = (srtt.as_nanos(), self.floor.as_nanos());
                let scaled = u128::from(whole) * srtt / floor * srtt / floor;
                u64::try_from(scaled).expect("a share of what fits")
            }
            _ => whole,
        }
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::prague::params::PARAMS;
    use crate::params::Params;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn growth_shrinks_with_the_square_of_the_round_trip_below_the_virtual_one() {
        let mut rtt = VirtualRtt::new(&Tuning::new(&Params::defaults(PARAMS)));
        let mut increase = |rounds, micros| {
            rtt.rounds = rounds;
            rtt.increase(Bytes::new(1_000), Some(Duration::from_micros(micros)))
        };
        assert_eq!(increase(499, 10_000), 1_000_000_000);
        // (10 ÷ 25)² = 0.16; (0.1 ÷ 25)² = 16 × 10⁻⁶.
        assert_eq!(increase(500, 10_000), 160_000_000);
        assert_eq!(increase(500, 100), 16_000);
        assert_eq!(increase(500, 25_000), 1_000_000_000);
        assert_eq!(increase(500, 100_000), 1_000_000_000);
    }

    #[test]
    fn a_window_is_two_packets_per_virtual_round_trip_at_least() {
        let rtt = VirtualRtt::new(&Tuning::new(&Params::defaults(PARAMS)));
        let least = |millis| rtt.least_window(Bytes::new(1_000), Some(MS * millis)).get();
        assert_eq!(
            [0, 5, 24, 25, 100].map(least),
            [1, 400, 1_920, 2_000, 2_000]
        );
        assert_eq!(rtt.least_window(Bytes::new(1_000), None).get(), 2_000);
    }

    #[test]
    fn only_an_old_flow_waits_for_the_virtual_round_trip() {
        let mut rtt = VirtualRtt::new(&Tuning::new(&Params::defaults(PARAMS)));
        for _ in 0..499 {
            rtt.on_round();
        }
        assert_eq!(rtt.min_round(), Duration::ZERO);
        rtt.on_round();
        assert_eq!(rtt.min_round(), MS * 25);
    }
}
