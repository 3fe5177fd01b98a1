//! The one file of the programs that reads clocks.

#[cfg(target_os = "linux")]
use nix::sys::resource::{UsageWho, getrusage};
#[cfg(target_os = "linux")]
use nix::sys::time::TimeValLike as _;
use rustix::time::{ClockId, clock_gettime};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The present, on the clock that never jumps.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the programs read it"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Time since 1970 in UTC; zero when the system's date is before that.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the programs read it"
)]
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Time since this process first asked for it, on the clock that never jumps.
pub fn process_time() -> Duration {
    now().saturating_duration_since(EPOCH.0)
}

/// The moment at which [`process_time`] says `time`.
pub fn at(time: Duration) -> Instant {
    EPOCH.0 + time
}

/// What tells this process's clock from that of another: its date of birth, never zero.
pub fn process_id() -> u64 {
    EPOCH.1
}

static EPOCH: LazyLock<(Instant, u64)> =
    LazyLock::new(|| (now(), units::duration::nanos(since_1970()).max(1)));

/// Processor time, user and system, that the calling thread has used in its life.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The user's part of the processor time that the calling thread has used in its life, where the
/// system tells: Linux divides the time by what its ticks have met.
#[cfg(target_os = "linux")]
pub(crate) fn thread_user_cpu() -> Option<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let micros = usage.user_time().num_microseconds();
    u64::try_from(micros).ok().map(Duration::from_micros)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_user_cpu() -> Option<Duration> {
    None
}

/// A number that the calling thread has to itself in this process.
pub(crate) fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static NUMBER: u32 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_uses_processor_time() {
        let before = thread_cpu();
        let work = (0..100_000_u64).fold(0_u64, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(work);
        assert!(thread_cpu() > before);
        // A tick may not have come yet.
        if let Some(user) = thread_user_cpu() {
            assert!(user <= thread_cpu());
        }
    }
}
