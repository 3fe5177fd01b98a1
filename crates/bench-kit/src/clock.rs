//! The one file of the programs that reads clocks.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The present, on the clock that never jumps.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the programs read it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Time since 1970 in UTC; zero when the system's date is before that.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the programs read it"
)]
pub(crate) fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Processor time, user and system, that the calling thread has used in its life.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// A date and time in UTC as HTTP writes it: `Fri, 20 Nov 2026 09:30:00 GMT`, iperf3's form.
pub(crate) fn http_date(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        WEEKDAYS[usize::try_from(days % 7).expect("below seven")],
        MONTHS[month],
        second / 3_600,
        second / 60 % 60,
        second % 60,
    )
}

/// Year, month from 0 and day of the month of a day counted from 1970-01-01, in the Gregorian
/// calendar.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month, days + 1)
}

/// 1970-01-01 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_gregorian_calendar() {
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(951_827_696), "Tue, 29 Feb 2000 12:34:56 GMT");
        assert_eq!(http_date(1_795_167_000), "Fri, 20 Nov 2026 09:30:00 GMT");
    }

    #[test]
    fn work_uses_processor_time() {
        let before = thread_cpu();
        let work = (0..100_000_u64).fold(0_u64, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(work);
        assert!(thread_cpu() > before);
    }
}
