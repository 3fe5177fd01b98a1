//! The one place of this crate that reads clocks.

use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use units::Timestamp;

/// Time since the link began, and the kernel's receive times on that scale.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
    epoch: Duration,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "real time enters links here and nowhere else"
    )]
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            epoch: since_epoch(),
        }
    }

    /// What the wall clock showed when the link began.
    pub(crate) fn epoch(&self) -> Duration {
        self.epoch
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.origin.elapsed()
    }

    /// What takes a time of the wall clock, which is how the kernel stamps datagrams, to ours.
    pub(crate) fn wall(&self) -> WallClock {
        WallClock {
            now: self.now(),
            wall: since_epoch(),
        }
    }
}

/// One moment on both clocks. It is taken anew for every batch, so that a wall clock that is
/// being set does no lasting harm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallClock {
    now: Timestamp,
    wall: Duration,
}

impl WallClock {
    /// When the wall clock showed `wall`; now if that is in the future or not known.
    pub(crate) fn moment(self, wall: Option<Duration>) -> Timestamp {
        let ago = wall.map_or(Duration::ZERO, |wall| self.wall.saturating_sub(wall));
        self.now - ago
    }
}

/// The processor time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or(Duration::ZERO)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel stamps datagrams with the wall clock"
)]
fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_time_becomes_ours_and_one_in_the_future_is_now() {
        let clock = WallClock {
            now: Timestamp::from_millis(500),
            wall: Duration::from_secs(1_000),
        };
        let earlier = clock.wall - Duration::from_millis(2);
        assert_eq!(clock.moment(Some(earlier)), Timestamp::from_millis(498));
        assert_eq!(clock.moment(Some(clock.wall * 2)), clock.now);
        assert_eq!(clock.moment(None), clock.now);
    }
}
