//! Detection of a classic queue that marks ECT(1) (RFC 9331 §4.3).

use crate::parts::sliding_min::SlidingMin;
use core::time::Duration;
use units::Timestamp;

/// Whether marks come from a classic queue (RFC 3168) and not from one of L4S.
///
/// A classic queue marks ECT(1) as it marks ECT(0), rarely, and when it is long: CoDel beyond 5 ms,
/// PIE around 15 ms. One of L4S marks from about a millisecond on, and all that waits there is
/// short. So round trips are counted whose marks came from a long queue: even the least delayed
/// packet among those marked had waited for more than [`long_queue`]. The least of a round trip,
/// because noise only adds to it.
///
/// After [`ROUNDS`] more of these than of others the queue is taken for a classic one, and after as
/// many more of the others for one of L4S again. Round trips without a mark say nothing.
#[derive(Debug)]
pub(super) struct ClassicEcn {
    is_enabled: bool,
    /// What a round trip takes without a queue. It forgets, because a path may become longer.
    min_rtt: SlidingMin,
    /// The shortest round trip of a marked packet in the present round.
    marked_rtt: Option<Duration>,
    /// Rounds with long queues more than with short ones, from zero to [`ROUNDS`].
    score: u32,
    is_classic: bool,
}

impl ClassicEcn {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self {
            is_enabled,
            min_rtt: SlidingMin::new(),
            marked_rtt: None,
            score: 0,
            is_classic: false,
        }
    }

    pub(super) fn is_classic(&self) -> bool {
        self.is_classic
    }

    /// An ACK, which reports marks on ECT(1) or none. A receiver acknowledges a marked packet at
    /// once (RFC 9000 §13.2.1), so that the round-trip time is that packet's.
    pub(super) fn on_ack(&mut self, now: Timestamp, rtt: Option<Duration>, is_marked: bool) {
        let (true, Some(rtt)) = (self.is_enabled, rtt) else {
            return;
        };
        self.min_rtt.insert(now, rtt, MIN_RTT_WINDOW);
        if is_marked {
            self.marked_rtt = Some(self.marked_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// A round trip after slow start is over, in which a packet left every `packet_time`.
    pub(super) fn on_round(&mut self, packet_time: Duration) {
        let (Some(marked), Some(min)) = (self.marked_rtt.take(), self.min_rtt.get()) else {
            return;
        };
        self.score = if marked.saturating_sub(min) > long_queue(packet_time) {
            (self.score + 1).min(ROUNDS)
        } else {
            self.score.saturating_sub(1)
        };
        self.is_classic = match self.score {
            0 => false,
            ROUNDS => true,
            _ => self.is_classic,
        };
    }

    /// Slow start fills any queue before the first mark is known: it says nothing of the queue.
    pub(super) fn on_slow_start(&mut self) {
        self.marked_rtt = None;
    }
}

/// What only a classic queue makes a marked packet wait for: 3 ms, or two packets' time where that
/// is longer, but at most 6 ms, since CoDel's queues are no longer.
fn long_queue(packet_time: Duration) -> Duration {
    (packet_time * 2).clamp(LEAST_LONG, MOST_LONG)
}

/// Three times the usual step threshold of a millisecond: another packet ahead, and the grain of
/// hosts' clocks, are within.
const LEAST_LONG: Duration = Duration::from_millis(3);
const MOST_LONG: Duration = Duration::from_millis(6);
/// Slow start's overshoot and a rate that drops make long queues for two to four round trips in any
/// queue.
const ROUNDS: u32 = 8;
/// Longer than it takes a classic queue to run empty once.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::controller_driver::at;

    const MS: Duration = Duration::from_millis(1);

    /// Rounds of a path of 20 ms, whose marked packets have these round-trip times.
    fn after(
        rounds: impl IntoIterator<Item = &'static [u32]>,
        packet_time: Duration,
    ) -> ClassicEcn {
        let mut classic = ClassicEcn::new(true);
        let mut millis = 0;
        for marked in rounds {
            classic.on_ack(at(millis), Some(MS * 20), false);
            for rtt in marked {
                classic.on_ack(at(millis), Some(MS * *rtt), true);
            }
            classic.on_round(packet_time);
            millis += 20;
        }
        classic
    }

    fn is_classic(marked: &'static [u32], rounds: usize, packet_time: Duration) -> bool {
        after([marked].repeat(rounds), packet_time).is_classic()
    }

    #[test]
    fn the_least_delayed_mark_of_a_round_trip_decides() {
        assert!(is_classic(&[30, 24, 30], 8, MS));
        assert!(!is_classic(&[30, 23, 30], 80, MS));
    }

    #[test]
    fn a_queue_of_two_packets_is_no_long_one() {
        assert!(!is_classic(&[25], 80, MS * 5 / 2));
        assert!(is_classic(&[26], 8, MS * 5 / 2));
        // But one of 7 ms is, however slowly packets leave.
        assert!(is_classic(&[27], 8, MS * 50));
        assert!(!is_classic(&[26], 80, MS * 50));
    }

    #[test]
    fn the_verdict_stays_until_as_many_rounds_say_the_opposite() {
        let (long, short): (&[u32], &[u32]) = (&[40], &[21]);
        let classic = |rounds: &[(&'static [u32], usize)]| {
            let rounds = rounds
                .iter()
                .flat_map(|(kind, count)| [*kind].repeat(*count));
            after(rounds, MS).is_classic()
        };
        assert!(!classic(&[(long, 7)]));
        assert!(classic(&[(long, 8)]));
        assert!(!classic(&[(long, 7), (short, 2), (long, 2)]));
        assert!(classic(&[(long, 100), (short, 7)]));
        assert!(!classic(&[(long, 100), (short, 8)]));
        assert!(!classic(&[(long, 100), (short, 8), (long, 7)]));
        // Rounds without a mark are none.
        assert!(classic(&[(long, 8), (&[], 100)]));
    }

    #[test]
    fn a_path_that_has_become_longer_has_no_queue() {
        let mut classic = ClassicEcn::new(true);
        classic.on_ack(at(0), Some(MS * 20), false);
        let mut seen = false;
        for round in 1..2_000 {
            let now = at(round * 60);
            classic.on_ack(now, Some(MS * 60), false);
            classic.on_ack(now, Some(MS * 61), true);
            classic.on_round(MS);
            seen |= classic.is_classic();
        }
        // At first it looks like one, for as long as the shorter path is remembered.
        assert!(seen && !classic.is_classic());
    }

    #[test]
    fn what_slow_start_has_filled_is_not_counted() {
        let mut classic = after([], MS);
        for round in 0..20 {
            classic.on_ack(at(round * 20), Some(MS * 20), false);
            classic.on_ack(at(round * 20), Some(MS * 60), true);
            classic.on_slow_start();
            classic.on_round(MS);
        }
        assert!(!classic.is_classic());
    }
}
