//! Round-trip time estimates (RFC 9002 §5).

use core::time::Duration;

/// Smoothed, newest and least round-trip time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rtt {
    estimates: Option<Estimates>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimates {
    pub(crate) latest: Duration,
    pub(crate) smoothed: Duration,
    pub(crate) deviation: Duration,
    pub(crate) min: Duration,
}

impl Rtt {
    pub(crate) fn get(&self) -> Option<Estimates> {
        self.estimates
    }

    /// Exponentially weighted averages with 1/8 for the mean and 1/4 for the deviation.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        self.estimates = Some(match self.estimates {
            None => Estimates {
                latest: rtt,
                smoothed: rtt,
                deviation: rtt / 2,
                min: rtt,
            },
            Some(old) => Estimates {
                latest: rtt,
                smoothed: (old.smoothed * 7 + rtt) / 8,
                deviation: (old.deviation * 3 + old.smoothed.abs_diff(rtt)) / 4,
                min: old.min.min(rtt),
            },
        });
    }
}
