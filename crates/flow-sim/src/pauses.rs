//! When the process of a sender has no CPU.

use core::time::Duration;
use units::Timestamp;

/// When a process does not run: for `pause` in each `period`, at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    pub(crate) period: Duration,
    pub(crate) pause: Duration,
}

impl Pauses {
    /// When the process next runs, from `now` on.
    pub(crate) fn runs_from(&self, now: Timestamp) -> Timestamp {
        let period = self.period.as_nanos() as u64;
        let phase = now.as_nanos() % period;
        if phase < period - self.pause.as_nanos() as u64 {
            now
        } else {
            Timestamp::from_nanos(now.as_nanos() - phase + period)
        }
    }
}
