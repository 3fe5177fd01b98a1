//! The one place that reads the clock, and how its instants map to timestamps.
//!
//! quinn-proto counts in [`Instant`], cc-core in [`Timestamp`]. Every connection of a process
//! counts from the same epoch, so that times of two connections can be compared. Virtual time
//! counts from it as well: virtual second 3 is the epoch plus 3 s.

#[cfg(feature = "testing")]
use crate::virtual_time;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};
use units::Timestamp;

/// The present, by the system's monotonic clock, or that of a thread's virtual time.
#[expect(
    clippy::disallowed_methods,
    reason = "the transport's event loop takes its time from here and hands it on as an argument"
)]
pub(crate) fn now() -> Instant {
    #[cfg(feature = "testing")]
    if let Some(now) = virtual_time::with(|world| world.now()) {
        return instant(now);
    }
    Instant::now()
}

/// The time since 1970, by the system's clock, which may be set, or in virtual time; 0 before that.
#[expect(
    clippy::disallowed_methods,
    reason = "what servers share says until when it is good in the time that they share"
)]
fn since_1970() -> Duration {
    #[cfg(feature = "testing")]
    if let Some(time) = virtual_time::with(|world| world.since_1970()) {
        return time;
    }
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.unwrap_or_default()
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) now: Instant,
    pub(crate) since_1970: Duration,
}

/// Both clocks after `before`, which was read right before. None if the thread had no CPU in
/// between, or may not have had one. The reading is early for the system's clock, if anything, so
/// that nothing seems to have come before it did.
pub(crate) fn read_both(before: Instant) -> Option<Reading> {
    let since_1970 = since_1970();
    let now = now();
    let took = now.saturating_duration_since(before);
    (took < READ_TOGETHER).then_some(Reading { now, since_1970 })
}

/// Whole seconds since 1970, as [`since_1970`] has them.
pub(crate) fn unix_seconds() -> u64 {
    since_1970().as_secs()
}

/// The clock of tokens and tickets: the system's, or that of virtual time.
#[derive(Debug)]
pub(crate) struct WallClock;

impl quinn_proto::TimeSource for WallClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + since_1970()
    }
}

impl rustls::time_provider::TimeProvider for WallClock {
    fn current_time(&self) -> Option<rustls::pki_types::UnixTime> {
        Some(rustls::pki_types::UnixTime::since_unix_epoch(since_1970()))
    }
}

/// `instant` as time since the epoch; an instant before the epoch is the epoch.
pub(crate) fn timestamp(instant: Instant) -> Timestamp {
    Timestamp::ZERO + instant.saturating_duration_since(epoch())
}

/// The instant at `timestamp`; the far future, a century from the epoch, if it is later still.
pub(crate) fn instant(timestamp: Timestamp) -> Instant {
    epoch() + timestamp.since(Timestamp::ZERO).min(CENTURY)
}

/// `instant` in nanoseconds of CLOCK_MONOTONIC, whose readings std's instants are on Linux without
/// showing them.
#[cfg(target_os = "linux")]
pub(crate) fn monotonic_nanos(instant: Instant) -> u64 {
    static READINGS: OnceLock<(Instant, u64)> = OnceLock::new();
    let (read, nanos) = READINGS.get_or_init(|| read_twice(16));
    match instant.checked_duration_since(*read) {
        Some(since) => nanos.saturating_add(units::duration::nanos(since)),
        None => nanos.saturating_sub(units::duration::nanos(*read - instant)),
    }
}

/// One moment in both ways: the middle of the closest two of so many pairs of readings, tens of
/// nanoseconds apart.
#[cfg(target_os = "linux")]
fn read_twice(attempts: u32) -> (Instant, u64) {
    use rustix::time::{ClockId, clock_gettime};
    let read = |_| {
        let before = now();
        let raw = clock_gettime(ClockId::Monotonic);
        let width = now() - before;
        let seconds = u64::try_from(raw.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(raw.tv_nsec).unwrap_or(0);
        (width, before + width / 2, seconds * 1_000_000_000 + nanos)
    };
    let readings = (0..attempts).map(read);
    let closest = readings.min_by_key(|&(width, ..)| width);
    let (_, instant, nanos) = closest.expect("there is an attempt");
    (instant, nanos)
}

#[expect(
    clippy::disallowed_methods,
    reason = "virtual time counts from it, too"
)]
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// A hundred times as long as it takes.
const READ_TOGETHER: Duration = Duration::from_micros(10);

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
    #[cfg(target_os = "linux")]
    fn instants_are_readings_of_the_kernels_monotonic_clock() {
        use rustix::time::{ClockId, clock_gettime};
        let raw = || {
            let raw = clock_gettime(ClockId::Monotonic);
            raw.tv_sec as u64 * 1_000_000_000 + raw.tv_nsec as u64
        };
        // It is as far off as its readings were apart, at most.
        let (before, read, after) = (raw(), now(), raw());
        let nanos = monotonic_nanos(read);
        let tolerance = 50_000;
        assert!(before <= nanos + tolerance && nanos <= after + tolerance);
        let later = read + Duration::from_secs(3);
        assert_eq!(monotonic_nanos(later) - nanos, 3_000_000_000);
        let earlier = read - Duration::from_millis(1);
        assert_eq!(nanos - monotonic_nanos(earlier), 1_000_000);
    }

    // A token that is good for less than a second expires within it.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "it is what the clock is compared with"
    )]
    fn the_clock_of_tokens_knows_parts_of_a_second() {
        let before = SystemTime::now();
        let now = quinn_proto::TimeSource::now(&WallClock);
        assert!(before <= now && now <= SystemTime::now());
    }

    #[test]
    fn the_end_of_time_is_an_instant_too() {
        assert!(instant(Timestamp::MAX) > now());
    }
}
