//! When Startup ends.

use super::counts::variance_of_runs;
use super::round::Round;

/// Startup ends when the delivery rate has stopped growing by a quarter per round trip for three
/// (draft-ietf-ccwg-bbr-06 §5.3.1.2), for one where a queue shows, or when more than a fifth is
/// lost, by more than chance. A path that loses packets in runs loses a fifth of few packets by
/// chance more often than one that loses single ones; a queue that overflows loses runs of few
/// packets, for the flow sends at most some three times what passes.
#[derive(Debug, Default)]
pub(super) struct Startup {
    /// The delivery rate when it grew last, B/s.
    full_rate: f64,
    flat_rounds: u32,
}

impl Startup {
    /// Whether the pipe is full. `is_queued` if a queue of an eighth of the RTT shows, in the
    /// second round trip in a row with a sign of congestion.
    pub(super) fn is_over(&mut self, round: &Round, rate: f64, is_queued: bool, mss: f64) -> bool {
        if !round.is_limited {
            if rate >= self.full_rate * GROWTH {
                self.full_rate = rate;
                self.flat_rounds = 0;
            } else {
                self.flat_rounds += 1;
            }
        }
        let sent = (round.acked + round.lost) / mss;
        let beyond = round.lost / mss - sent * MOST_LOSS;
        let variance = sent * MOST_LOSS * (1.0 - MOST_LOSS);
        let by_runs = variance * variance_of_runs(round.lost_run(mss).min(LONGEST_RUN));
        let exceeds = |variance: f64| beyond > 0.0 && beyond * beyond > SIGMAS * SIGMAS * variance;
        let may_be_queue = self.flat_rounds >= 1 || round.lost_runs >= MANY_RUNS;
        let is_lossy =
            round.lost > 8.0 * mss && (exceeds(by_runs) || (may_be_queue && exceeds(variance)));
        self.flat_rounds >= FLAT_ROUNDS || (is_queued && self.flat_rounds >= 1) || is_lossy
    }
}

const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;
const MOST_LOSS: f64 = 0.2;
/// Runs of losses that are a queue's: BBRStartupFullLossCnt (draft-ietf-ccwg-bbr-06 §5.3.1.3).
const MANY_RUNS: u32 = 6;
/// Packets that a path which is not silent loses in a row. A window of thousands that overflows a
/// queue loses more.
const LONGEST_RUN: f64 = 32.0;
/// A path that loses 15 % at random loses a fifth of few packets in one of four round trips.
const SIGMAS: f64 = 2.0;
/// Of the reference: a queue longer than that shows.
pub(super) const QUEUE: f64 = 1.0 / 8.0;
