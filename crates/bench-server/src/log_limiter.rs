//! A limit on the log's lines a minute: whoever connects makes the server write them.

use crate::admission::ClientPrefix;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Counts the lines of the present minute.
#[derive(Debug)]
pub(crate) struct LogLimiter {
    begin: Instant,
    /// Lines about each prefix. Only lines that were written make an entry.
    written: BTreeMap<ClientPrefix, LineCounts>,
    lines: u32,
    left_out: u64,
}

#[derive(Debug, Default)]
struct LineCounts {
    lines: u32,
    refusals: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Session,
    Refusal,
}

impl LogLimiter {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            begin: now,
            written: BTreeMap::new(),
            lines: 0,
            left_out: 0,
        }
    }

    /// Whether a line about a client from `prefix` is to be written; it is counted if not.
    pub(crate) fn admits_line(&mut self, prefix: ClientPrefix, topic: Topic) -> bool {
        let (lines, refusals) = self
            .written
            .get(&prefix)
            .map_or((0, 0), |written| (written.lines, written.refusals));
        let is_written = self.lines < MAX_LINES
            && lines < MAX_LINES_OF_PREFIX
            && (topic != Topic::Refusal || refusals < MAX_REFUSALS_OF_PREFIX);
        if is_written {
            let written = self.written.entry(prefix).or_default();
            written.lines += 1;
            written.refusals += u32::from(topic == Topic::Refusal);
            self.lines += 1;
        } else {
            self.left_out += 1;
        }
        is_written
    }

    /// Begins a new minute if the present one is over; how many lines it has left out, if any.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.begin) < MINUTE {
            return None;
        }
        let before = std::mem::replace(self, Self::new(now));
        (before.left_out > 0).then_some(before.left_out)
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// About a megabyte a minute.
const MAX_LINES: u32 = 10_000;

/// Enough for 200 clients on one machine.
const MAX_LINES_OF_PREFIX: u32 = 2_000;

/// The first ones say everything.
const MAX_REFUSALS_OF_PREFIX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::clock;
    use std::net::IpAddr;

    fn nth(n: u32) -> ClientPrefix {
        ClientPrefix::of(IpAddr::V4(n.into()))
    }

    fn written(
        log_limiter: &mut LogLimiter,
        attempts: u32,
        nth: impl Fn(u32) -> ClientPrefix,
    ) -> u32 {
        let topic = Topic::Refusal;
        let written = (0..attempts).filter(|n| log_limiter.admits_line(nth(*n), topic));
        written.count() as u32
    }

    #[test]
    fn whoever_is_refused_again_and_again_gets_few_lines_and_silences_nobody() {
        let begin = clock::now();
        let mut log_limiter = LogLimiter::new(begin);
        assert_eq!(written(&mut log_limiter, 1_000, |_| nth(1)), 10);
        assert!(log_limiter.admits_line(nth(1), Topic::Session));
        assert!(log_limiter.admits_line(nth(2), Topic::Refusal));
        assert_eq!(log_limiter.turn(begin + Duration::from_secs(59)), None);
        assert_eq!(log_limiter.turn(begin + MINUTE), Some(990));
        assert_eq!(written(&mut log_limiter, 1_000, |_| nth(1)), 10);
        assert_eq!(log_limiter.turn(begin + 2 * MINUTE), Some(990));
        assert_eq!(log_limiter.turn(begin + 3 * MINUTE), None);
    }

    #[test]
    fn any_number_of_prefixes_fit_into_a_minute() {
        let mut log_limiter = LogLimiter::new(clock::now());
        assert_eq!(written(&mut log_limiter, 50_000, nth), MAX_LINES);
        assert_eq!(log_limiter.written.len(), MAX_LINES as usize);
    }
}
