//! Draining a queue that lasts in Cruise.

/// Sends less than the estimate until as much is drained as was there. What has not gone by then is
/// others' queue, or the path's delay.
#[derive(Debug, Default)]
pub(super) struct Trim {
    /// The queue when it began, s; zero while there is none.
    began_with: f64,
    /// What should have gone since, s.
    drained: f64,
}

impl Trim {
    /// The round trip that has ended was sent at `factor` times the estimate, and takes `time`
    /// without a queue. With one it takes longer: to count that would end the attempt before the
    /// others of many flows have begun theirs.
    pub(super) fn on_round(&mut self, factor: f64, time: f64) {
        self.drained += (1.0 - factor) * time;
    }

    /// A queue of `queue` lasts, the first one if `Trim` was stopped. Returns
    /// whether it stays although the flow has drained as much as it was.
    pub(super) fn is_in_vain(&mut self, queue: f64) -> bool {
        let is_over = self.began_with > 0.0 && self.drained >= self.began_with;
        let is_in_vain = is_over && queue > self.began_with / 2.0;
        if self.began_with == 0.0 || (is_over && !is_in_vain) {
            *self = Self {
                began_with: queue,
                drained: 0.0,
            };
        }
        is_in_vain
    }

    /// The factor on the estimate for the next round trip, which takes `time` without a queue.
    /// Below it half of the tolerance stays.
    pub(super) fn factor(queue: f64, tolerance: f64, time: f64) -> f64 {
        (1.0 - (queue - tolerance / 2.0) / time).max(LEAST_FACTOR)
    }

    pub(super) fn stop(&mut self) {
        self.began_with = 0.0;
    }
}

/// As in Drain.
const LEAST_FACTOR: f64 = 0.5;
