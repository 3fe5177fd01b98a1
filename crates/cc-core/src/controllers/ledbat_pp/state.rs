//! The states, what each one owns, and which may follow which (§4.3, §4.4).

use crate::parts::transition::Machine;
use core::time::Duration;
use units::{Bytes, Timestamp};

/// Where a flow is; a variant owns what is known only there.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// The initial slow start, and the one after persistent congestion.
    SlowStart {
        /// It ends here at the latest.
        ssthresh: Bytes,
    },
    /// Grows by GAIN, reduces with delay.
    CongestionAvoidance(SlowdownTimer),
    /// The minimum window, so that the queue drains.
    Slowdown {
        /// The window of before.
        ssthresh: Bytes,
        /// When the ramp up begins.
        until: Timestamp,
        duration: SlowdownDuration,
    },
    /// Slow start back to the window of before.
    RampUp {
        ssthresh: Bytes,
        duration: SlowdownDuration,
    },
}

impl Machine for State {
    fn name(&self) -> &'static str {
        match self {
            Self::SlowStart { .. } => "SlowStart",
            Self::CongestionAvoidance(_) => "CongestionAvoidance",
            Self::Slowdown { .. } => "Slowdown",
            Self::RampUp { .. } => "RampUp",
        }
    }

    fn may_become(&self, next: &Self) -> bool {
        match next {
            Self::SlowStart { .. } => true,
            Self::CongestionAvoidance(_) => self.is_slow_start(),
            Self::Slowdown { .. } => matches!(self, Self::CongestionAvoidance(_)),
            // From congestion avoidance where the loss that ended it is undone.
            Self::RampUp { .. } => {
                matches!(self, Self::Slowdown { .. } | Self::CongestionAvoidance(_))
            }
        }
    }
}

impl State {
    /// The window at which slow start, or the one to come, ends.
    pub(super) fn ssthresh(&self) -> Option<Bytes> {
        match *self {
            Self::CongestionAvoidance(_) => None,
            Self::SlowStart { ssthresh }
            | Self::Slowdown { ssthresh, .. }
            | Self::RampUp { ssthresh, .. } => Some(ssthresh),
        }
    }

    /// The window that the path is known to carry, of which `cwnd` is the present part.
    pub(super) fn full_window(&self, cwnd: Bytes) -> Bytes {
        match *self {
            Self::SlowStart { .. } | Self::CongestionAvoidance(_) => cwnd,
            Self::Slowdown { ssthresh, .. } | Self::RampUp { ssthresh, .. } => ssthresh,
        }
    }

    /// Whether this is the minimum window of a slowdown.
    pub(super) fn is_slowdown(&self) -> bool {
        matches!(self, Self::Slowdown { .. })
    }

    /// Whether the window grows exponentially.
    pub(super) fn is_slow_start(&self) -> bool {
        matches!(self, Self::SlowStart { .. } | Self::RampUp { .. })
    }
}

/// The time until the next slowdown.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowdownTimer {
    /// When it is due.
    pub(super) until: Timestamp,
    /// The interval to the next one where it was not needed.
    pub(super) interval: Duration,
}

/// How long a slowdown has taken, without the time in which there was little to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowdownDuration {
    spent: Duration,
    counted_until: Timestamp,
}

impl SlowdownDuration {
    /// Begins to count.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            spent: Duration::ZERO,
            counted_until: now,
        }
    }

    /// The time up to `now` counts.
    pub(super) fn count(&mut self, now: Timestamp) {
        self.spent += now.since(self.counted_until);
        self.counted_until = now;
    }

    /// The time up to `now` does not count.
    pub(super) fn skip(&mut self, now: Timestamp) {
        self.counted_until = now;
    }

    pub(super) fn spent(&self) -> Duration {
        self.spent
    }
}
