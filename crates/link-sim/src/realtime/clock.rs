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
        let readings = core::iter::repeat_with(|| WallClock {
            before: self.now(),
            wall: since_epoch(),
            now: self.now(),
        });
        WallClock::narrowest(readings.take(READINGS))
    }
}

/// One moment on both clocks. It is taken anew for every batch, so that a wall clock that is
/// being set does no lasting harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WallClock {
    /// Ours before the wall clock was read.
    before: Timestamp,
    wall: Duration,
    /// Ours after it.
    now: Timestamp,
}

impl WallClock {
    /// The first reading between which and the wall clock's hardly any time can have passed, or
    /// the best of all: a thread may have to wait for its processor in between.
    fn narrowest(readings: impl Iterator<Item = Self>) -> Self {
        let mut best: Option<Self> = None;
        for reading in readings {
            if best.is_none_or(|best| reading.width() < best.width()) {
                best = Some(reading);
            }
            if reading.width() <= NARROW {
                break;
            }
        }
        best.expect("there is a reading")
    }

    fn width(self) -> Duration {
        self.now.since(self.before)
    }

    /// When the wall clock showed `wall`, or up to the width of the reading later, so that nothing
    /// comes before it came; now if that is in the future or not known.
    pub(crate) fn to_timestamp(self, wall: Option<Duration>) -> Timestamp {
        let ago = wall.map_or(Duration::ZERO, |wall| self.wall.saturating_sub(wall));
        self.now - ago
    }
}

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

/// Reading two clocks takes less than a tenth of it.
const NARROW: Duration = Duration::from_micros(5);
const READINGS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Both clocks read, ours showing `at` ms after it showed `width` us less.
    fn reading(at: u64, width: u64) -> WallClock {
        WallClock {
            before: Timestamp::from_millis(at) - Duration::from_micros(width),
            wall: Duration::from_secs(1_000),
            now: Timestamp::from_millis(at),
        }
    }

    #[test]
    fn a_wall_time_becomes_ours_and_one_in_the_future_is_now() {
        let clock = reading(500, 0);
        let earlier = clock.wall - Duration::from_millis(2);
        assert_eq!(
            clock.to_timestamp(Some(earlier)),
            Timestamp::from_millis(498)
        );
        assert_eq!(clock.to_timestamp(Some(clock.wall * 2)), clock.now);
        assert_eq!(clock.to_timestamp(None), clock.now);
    }

    #[test]
    fn a_reading_that_was_interrupted_is_made_again_and_no_more_than_needed() {
        let mut readings = [9_000, 2_000, 5, 0]
            .map(|width| reading(500, width))
            .into_iter();
        let clock = WallClock::narrowest(readings.by_ref());
        assert_eq!(clock, reading(500, 5));
        assert_eq!(readings.len(), 1);
        let all = [9_000, 2_000, 3_000].map(|width| reading(500, width));
        assert_eq!(WallClock::narrowest(all.into_iter()), reading(500, 2_000));
    }

    #[test]
    fn nothing_comes_before_it_came() {
        // Two milliseconds passed on the wall clock, and anything up to six on ours.
        let clock = reading(500, 4_000);
        let came = clock.wall - Duration::from_millis(2);
        assert_eq!(clock.to_timestamp(Some(came)), Timestamp::from_millis(498));
    }
}
