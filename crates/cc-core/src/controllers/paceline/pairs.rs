//! Whether a full queue loses the packets: it loses the second of a pair more often than the first.

use super::window::Window;
use units::Timestamp;

/// Where the lost packets stood among packets that left back to back.
///
/// Before a full queue the second of two packets that arrive together needs a second place, and
/// before a policer tokens for two. Where the path itself loses packets, one by one or in bursts,
/// both are lost equally often: what arrives together cannot matter to it. So each loss counts for
/// or against a queue. The sum is the base-3 logarithm of the likelihood ratio between the
/// second of two being lost three times as often and as often as the first, bounded on both sides
/// (Page 1954).
///
/// Where more than two leave together, all but the first are seconds.
///
/// Only what leaves in Cruise counts: in Up and Down the share of seconds is another one, and an Up
/// may fill the queue itself.
///
/// Unlike the loss at half of the rate this does not depend on the flow's share of the bottleneck:
/// one of many flows sees what all of them cause.
#[derive(Debug)]
pub(super) struct PairTest {
    /// The last Cruise.
    cruise: Window,
    /// The share of packets that leave right after another.
    seconds: f64,
    /// Powers of three.
    sum: f64,
}

impl PairTest {
    pub(super) fn new() -> Self {
        Self {
            cruise: Window::default(),
            seconds: 0.0,
            sum: FIRST,
        }
    }

    /// Cruise begins.
    pub(super) fn open(&mut self, now: Timestamp) {
        self.cruise.open(now);
    }

    /// Cruise has ended, if it was under way.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.cruise.close(now);
    }

    /// A packet has left, right after another or not. Those of Startup count as well: they are the
    /// first guess.
    pub(super) fn on_sent(&mut self, is_second: bool) {
        if !self.cruise.is_closed() {
            self.seconds += (share(is_second) - self.seconds) * SMOOTHING;
        }
    }

    /// A packet that left then, right after another or not, was lost.
    ///
    /// Seconds are a share f of what is sent, and of what is lost 3f ÷ (1 + 2f) before a full
    /// queue. So a second counts 1 − log₃(1 + 2f) for it, and a first log₃(1 + 2f) against it.
    pub(super) fn on_lost(&mut self, sent_at: Timestamp, is_second: bool) {
        if !self.cruise.covers(sent_at) {
            return;
        }
        let f = self.seconds;
        // log₃(1 + 2f) from 0 to 1, within 0.01.
        let against = 1.7 * f / (1.0 + 0.7 * f);
        self.sum = (self.sum + share(is_second) - against).clamp(-MOST, MOST);
    }

    /// Whether a full queue or a policer loses packets.
    pub(super) fn is_queue(&self) -> bool {
        self.sum > SURE
    }
}

fn share(is_second: bool) -> f64 {
    f64::from(u8::from(is_second))
}

const SMOOTHING: f64 = 1.0 / 64.0;
/// Sixteen to one.
const SURE: f64 = 2.5;
/// From one bound it takes some sixty losses to be sure of the opposite.
const MOST: f64 = 5.0;
/// One of 140 flows takes a path that loses at random for a queue at first; from zero on it would
/// be one of 16.
const FIRST: f64 = -2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    /// How often a second was lost for each time that a first was where eight flows shared a queue
    /// of a tenth of a BDP, or a policer.
    const MEASURED: f64 = 3.5;

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn cruising() -> PairTest {
        let mut test = PairTest::new();
        test.open(NOW);
        test
    }

    /// After `losses`, of which those of seconds are `odds` times as likely as those of firsts, and
    /// the share of losses before which it said that there was a queue.
    fn after(losses: u32, odds: f64, seed: u64) -> (PairTest, f64) {
        let mut rng = Rng::new(seed);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut test = cruising();
        let (mut lost, mut alarmed) = (0, 0);
        while lost < losses {
            let is_second = uniform() < 0.4;
            test.on_sent(is_second);
            let loss = if is_second { 0.03 * odds } else { 0.03 };
            if uniform() < loss {
                alarmed += u32::from(test.is_queue());
                test.on_lost(NOW, is_second);
                lost += 1;
            }
        }
        (test, f64::from(alarmed) / f64::from(losses))
    }

    #[test]
    fn a_path_that_loses_either_as_often_is_no_queue() {
        let mut alarmed = 0.0;
        for seed in 0..100 {
            let (test, share) = after(1_000, 1.0, seed);
            assert!(!test.is_queue(), "{seed}");
            alarmed += share / 100.0;
        }
        assert!(alarmed < 0.01, "{alarmed}");
    }

    #[test]
    fn a_queue_shows_within_two_hundred_losses_whatever_was_before() {
        for seed in 0..100 {
            let (mut test, _) = after(200, MEASURED, seed);
            assert!(test.is_queue(), "{seed}");
            // Pairs cease, and then single packets are lost that tell nothing.
            for _ in 0..1_000 {
                test.on_sent(false);
            }
            for _ in 0..100 {
                test.on_lost(NOW, false);
            }
            assert!(test.is_queue(), "{seed}");
        }
    }

    #[test]
    fn losses_of_a_flow_without_pairs_say_nothing() {
        let mut test = cruising();
        for _ in 0..10_000 {
            test.on_sent(false);
            test.on_lost(NOW, false);
        }
        assert!(!test.is_queue());
        assert!((test.sum - FIRST).abs() < 1e-9, "{}", test.sum);
    }

    #[test]
    fn a_path_that_loses_at_random_is_found_out_after_what_a_queue_lost() {
        let mut test = after(200, MEASURED, 1).0;
        let mut rng = Rng::new(2);
        for _ in 0..300 {
            let is_second = rng.next_u64() % 10 < 4;
            test.on_sent(is_second);
            test.on_lost(NOW, is_second);
        }
        assert!(!test.is_queue());
    }

    /// In a Down, at half of the rate, hardly any packet is a second. When what was lost then of
    /// the Cruise before was judged by that, each second seemed to prove a queue.
    #[test]
    fn what_leaves_outside_of_cruise_tells_nothing_of_what_left_in_it() {
        let later = Timestamp::from_millis(2);
        let (mut test, _) = after(200, 1.0, 1);
        test.close(later);
        for _ in 0..1_000 {
            test.on_sent(false);
        }
        let before = test.sum;
        for _ in 0..100 {
            test.on_lost(later, true);
            test.on_lost(Timestamp::ZERO, true);
        }
        assert!((test.sum - before).abs() < 1e-9);
        for is_second in [true, false, true, false, false]
            .into_iter()
            .cycle()
            .take(200)
        {
            test.on_lost(NOW, is_second);
        }
        assert!(!test.is_queue(), "{}", test.sum);
    }
}
