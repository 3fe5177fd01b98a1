//! The one place of this crate that reads clocks.

use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use units::Timestamp;

/// Time since the link began, and the kernel's receive times on that scale.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "real time enters links here and nowhere else"
    )]
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
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
    pub(crate) now: Timestamp,
    wall: Duration,
}

impl WallClock {
    /// When the wall clock showed `wall`; now if that is in the future.
    pub(crate) fn moment(self, wall: Duration) -> Timestamp {
        self.now - self.wall.saturating_sub(wall)
    }
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
    fn a_wall_time_becomes_ours_and_the_future_is_now() {
        let clock = WallClock {
            now: Timestamp::from_millis(500),
            wall: Duration::from_secs(1_000),
        };
        let earlier = clock.wall - Duration::from_millis(2);
        assert_eq!(clock.moment(earlier), Timestamp::from_millis(498));
        assert_eq!(clock.moment(clock.wall * 2), clock.now);
    }
}
