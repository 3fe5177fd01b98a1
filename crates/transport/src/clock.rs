//! The one place that reads the clock, and how its instants map to timestamps.
//!
//! quinn-proto counts in [`Instant`], cc-core in [`Timestamp`]. Every connection of a process
//! counts from the same epoch, so that times of two connections can be compared. Virtual time
//! counts from it as well: virtual second 3 is the epoch plus 3 s.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};
use units::Timestamp;

/// The present, by the system's monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the transport's event loop takes its time from here and hands it on as an argument"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds since 1970, by the system's clock, which may be set; 0 before that.
#[expect(
    clippy::disallowed_methods,
    reason = "what servers share says until when it is good in the time that they share"
)]
pub(crate) fn unix_seconds() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_secs())
}

/// `instant` as time since the epoch; an instant before the epoch is the epoch.
pub(crate) fn timestamp(instant: Instant) -> Timestamp {
    Timestamp::ZERO + instant.saturating_duration_since(epoch())
}

/// The instant at `timestamp`; the far future, a century from the epoch, if it is later still.
pub(crate) fn instant(timestamp: Timestamp) -> Instant {
    epoch() + timestamp.since(Timestamp::ZERO).min(CENTURY)
}

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(now)
}

/// Instants far beyond it overflow on some systems.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_timestamps_map_to_each_other() {
        for nanos in [0, 1, 1_000_000_007] {
            let timestamp = Timestamp::from_nanos(nanos);
            assert_eq!(super::timestamp(instant(timestamp)), timestamp);
        }
    }

    #[test]
    fn the_end_of_time_is_an_instant_too() {
        assert!(instant(Timestamp::MAX) > now());
    }
}
