//! Dates in UTC, for people.

/// A moment in seconds since 1970 as `2026-11-21 00:28 UTC`.
pub fn utc(unix_seconds: u64) -> String {
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (seconds / 3_600, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// A moment in seconds since 1970 as HTTP and iperf3 write it: `Sat, 21 Nov 2026 00:28:05 GMT`.
pub fn http(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days);
    let name = |names: &[&'static str], index: u64| names[index as usize];
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        name(&WEEKDAYS, days % 7),
        name(&MONTHS, month - 1),
        second / 3_600,
        second / 60 % 60,
        second % 60,
    )
}

/// The Gregorian date of a number of days since 1970-01-01.
///
/// Years are taken to begin in March, so that the leap day is their last, and grouped into eras of
/// 400 years, which all have 146 097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    // From 0000-03-01, the first day of an era.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // March to January have 153 days in every five months.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
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
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(utc(1_795_219_200), "2026-11-21 00:00 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
    }
    #[test]
    fn days_of_the_week_follow_each_other() {
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http(951_827_696), "Tue, 29 Feb 2000 12:34:56 GMT");
        assert_eq!(http(1_795_167_000), "Fri, 20 Nov 2026 09:30:00 GMT");
    }
}
