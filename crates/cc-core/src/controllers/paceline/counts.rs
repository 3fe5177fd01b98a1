//! Packets that arrived and packets that did not.

use core::ops::AddAssign;

/// In packets of the largest size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) acked: f64,
    pub(super) lost: f64,
}

impl Counts {
    pub(super) fn sent(&self) -> f64 {
        self.acked + self.lost
    }

    /// What was counted before weighs `decay` of `other`.
    pub(super) fn add_decayed(&mut self, other: Self, decay: f64) {
        self.acked = self.acked * decay + other.acked;
        self.lost = self.lost * decay + other.lost;
    }

    /// What was counted before weighs less where together they were more than `most` packets.
    pub(super) fn add_bounded(&mut self, other: Self, most: f64) {
        *self += other;
        let part = (most / self.sent()).min(1.0);
        self.acked *= part;
        self.lost *= part;
    }

    /// The share that was lost; zero if there is none.
    pub(super) fn loss(&self) -> f64 {
        if self.lost > 0.0 {
            self.lost / self.sent()
        } else {
            0.0
        }
    }
}

impl Counts {
    /// Whether more was lost than a path explains that loses `ambient` of all packets in runs of
    /// `run`: by `sigmas` standard deviations, and by `margin` of what was sent.
    ///
    /// Two runs more than expected prove nothing.
    pub(super) fn exceeds(&self, ambient: f64, run: f64, sigmas: f64, margin: f64) -> bool {
        let expected = self.sent() * ambient;
        let beyond_runs = self.lost - expected - 2.0 * run;
        let variance = expected * variance_of_runs(run);
        beyond_runs > 0.0
            && beyond_runs * beyond_runs > sigmas * sigmas * variance
            && self.lost - expected > self.sent() * margin
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.acked += other.acked;
        self.lost += other.lost;
    }
}

/// The variance of runs of geometric length with mean `run`, against that of single losses.
pub(super) fn variance_of_runs(run: f64) -> f64 {
    2.0 * run - 1.0
}

/// How many packets are lost in a row.
#[derive(Debug)]
pub(super) struct LossRuns {
    mean: f64,
    current: f64,
}

impl LossRuns {
    pub(super) fn new() -> Self {
        Self {
            mean: 1.0,
            current: 0.0,
        }
    }

    /// A packet was lost; `starts_run` unless the one before it was, too.
    pub(super) fn on_lost(&mut self, starts_run: bool) {
        if starts_run {
            if self.current > 0.0 {
                self.mean += (self.current - self.mean) * SMOOTHING;
            }
            self.current = 0.0;
        }
        self.current += 1.0;
    }

    /// Mean length of a run, packets; 1 until one has ended.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }
}

const SMOOTHING: f64 = 1.0 / 16.0;
