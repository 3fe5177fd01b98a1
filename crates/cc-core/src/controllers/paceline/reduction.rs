//! Reductions on loss, and whether they helped.

use super::counts::Counts;
use super::round::Round;
use core::time::Duration;
use units::Timestamp;

/// Loss beyond the path's own reduces the estimate to 90 % of what is delivered, once in three
/// round trips. A reduction that leaves the loss as it was did not reduce its cause: that loss is
/// the path's, and the reduction is taken back.
#[derive(Debug, Default)]
pub(super) struct Reductions {
    /// Round trips until all that is acknowledged in one, and in the one before, left after the
    /// last.
    hold: u32,
    trial: Option<Trial>,
    fall: Option<Fall>,
}

/// Reductions one after the other.
#[derive(Debug, Clone, Copy)]
struct Fall {
    /// The estimate before the first, B/s.
    from: f64,
    /// When the last was.
    last: Timestamp,
}

/// From a reduction until it is known whether it helped.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// The estimate before, B/s.
    estimate: f64,
    /// The loss that caused it.
    loss: f64,
    rounds: u32,
    counts: Counts,
}

/// A reduction that did not help.
#[derive(Debug, Clone, Copy)]
pub(super) struct Futile {
    /// The estimate before it, B/s.
    pub(super) estimate: f64,
    pub(super) counts: Counts,
}

impl Reductions {
    pub(super) fn on_round(&mut self) {
        self.hold = self.hold.saturating_sub(1);
    }

    /// Whether what two round trips show is of packets that left since the last reduction. Before,
    /// they prove no estimate, and no other reduction follows.
    pub(super) fn is_effective(&self) -> bool {
        self.hold == 0
    }

    pub(super) fn on_reduced(&mut self, now: Timestamp, estimate: f64, loss: f64, is_tried: bool) {
        self.hold = HOLD_ROUNDS;
        let from = self.fall_at(now).map_or(0.0, |fall| fall.from);
        self.fall = Some(Fall {
            from: from.max(estimate),
            last: now,
        });
        if is_tried && self.trial.is_none() {
            self.trial = Some(Trial {
                estimate,
                loss,
                rounds: 0,
                counts: Counts::default(),
            });
        }
    }

    /// Whether reductions one after the other have left so little of the estimate that `rate`, B/s,
    /// is a fifth of it at most. Who loses as much then as before does not cause that loss.
    pub(super) fn have_left_little(&self, now: Timestamp, rate: f64) -> bool {
        let fall = self.fall_at(now);
        fall.is_some_and(|fall| rate <= fall.from * LITTLE)
    }

    fn fall_at(&self, now: Timestamp) -> Option<Fall> {
        self.fall.filter(|fall| now.since(fall.last) < FALL)
    }

    /// How far it is from `rate`, B/s, to the estimate before reductions of late, as a share.
    pub(super) fn taken(&self, now: Timestamp, rate: f64) -> f64 {
        let fall = self.fall_at(now);
        fall.map_or(0.0, |fall| fall.from / rate.max(1.0) - 1.0)
    }

    /// Whether the trial under way ends with this round trip, its loss as it was before.
    pub(super) fn try_round(&mut self, round: &Round, mss: f64) -> Option<Futile> {
        let trial = self.trial.as_mut()?;
        // Before that, what was lost left before the reduction.
        if trial.rounds >= 2 {
            trial.counts += round.counts(mss);
        }
        trial.rounds += 1;
        let trial = *trial;
        let is_enough = trial.counts.sent() >= TRIAL_PACKETS || trial.rounds >= TRIAL_ROUNDS;
        if trial.rounds < 4 || !is_enough {
            return None;
        }
        self.trial = None;
        (trial.counts.loss() > UNCHANGED * trial.loss).then_some(Futile {
            estimate: trial.estimate,
            counts: trial.counts,
        })
    }
}

/// Factor on the delivery rate: that of CUBIC is 0.7 of a window that has a queue in it
/// (RFC 9438 §4.6). A policer has none; below 0.9 a flow alone leaves more of its rate than others
/// gain beside it.
pub(super) const REDUCTION: f64 = 0.9;
/// Of flows that share a queue many fall to a half, and would excuse what they lose together.
const LITTLE: f64 = 0.2;
/// Longest time between two reductions of one fall.
const FALL: Duration = Duration::from_secs(3);
const HOLD_ROUNDS: u32 = 3;
const TRIAL_PACKETS: f64 = 50.0;
const TRIAL_ROUNDS: u32 = 6;
const UNCHANGED: f64 = 0.6;
