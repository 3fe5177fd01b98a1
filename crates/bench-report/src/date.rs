//! Dates in UTC, for people.

use time::{OffsetDateTime, PrimitiveDateTime};

/// A moment in seconds since 1970 as `2026-11-21 00:28 UTC`.
pub fn utc(unix_seconds: u64) -> String {
    let date = date(unix_seconds);
    format!(
        "{}-{:02}-{:02} {:02}:{:02} UTC",
        date.year(),
        u8::from(date.month()),
        date.day(),
        date.hour(),
        date.minute()
    )
}

/// A moment in seconds since 1970 as `2026-11-21T00:28:05Z` (RFC 3339).
pub fn rfc3339(unix_seconds: u64) -> String {
    let date = date(unix_seconds);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        date.year(),
        u8::from(date.month()),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

/// A moment in seconds since 1970 as `20261121T002805Z`, for names of files: they sort by it.
pub fn compact(unix_seconds: u64) -> String {
    rfc3339(unix_seconds).replace(['-', ':'], "")
}

/// A moment in seconds since 1970 as HTTP and iperf3 write it: `Sat, 21 Nov 2026 00:28:05 GMT`.
pub fn http(unix_seconds: u64) -> String {
    let date = date(unix_seconds);
    format!(
        "{:.3}, {:02} {:.3} {} {:02}:{:02}:{:02} GMT",
        date.weekday().to_string(),
        date.day(),
        date.month().to_string(),
        date.year(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

/// The last second of the year 9999 for whatever is later.
fn date(unix_seconds: u64) -> OffsetDateTime {
    let date = i64::try_from(unix_seconds).map(OffsetDateTime::from_unix_timestamp);
    let date = date.ok().and_then(Result::ok);
    date.unwrap_or(PrimitiveDateTime::MAX.assume_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(rfc3339(1_795_653_965), "2026-11-26T00:46:05Z");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(utc(1_795_219_200), "2026-11-21 00:00 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
        assert_eq!(utc(u64::MAX), "9999-12-31 23:59 UTC");
        assert_eq!(compact(951_827_696), "20000229T123456Z");
    }
    #[test]
    fn days_of_the_week_follow_each_other() {
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http(951_827_696), "Tue, 29 Feb 2000 12:34:56 GMT");
        assert_eq!(http(1_795_167_000), "Fri, 20 Nov 2026 09:30:00 GMT");
    }
}
