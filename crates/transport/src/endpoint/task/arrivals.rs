//! When datagrams came. A host that is busy with something else reads them later than that.

use crate::clock::Reading;
use std::time::{Duration, Instant};

/// Maps the times at which the kernel received datagrams to instants.
///
/// Those times are of the system's clock, which may be set, or may be another one than the
/// kernel's for this process. So one counts only if it lies between the moment at which the socket
/// was last empty and the present, and if the system's clock has since the reading before gone on
/// by as much as the monotonic one. Where it does not count a datagram came when it was read.
#[derive(Debug)]
pub(super) struct ArrivalClock {
    /// All that came before has been read.
    emptied_at: Instant,
    reading: Option<Reading>,
    /// Whether the last reading fits the one before.
    is_steady: bool,
}

impl ArrivalClock {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            emptied_at: now,
            reading: None,
            is_steady: false,
        }
    }

    /// Nothing was left in the socket at `now`.
    pub(super) fn on_emptied(&mut self, now: Instant) {
        self.emptied_at = now;
    }

    /// Datagrams have been read from the socket: then each is asked for with
    /// [`arrived`](Self::arrived). None if the clocks could not be read together.
    pub(super) fn on_read(&mut self, reading: Option<Reading>) {
        let former = std::mem::replace(&mut self.reading, reading);
        self.is_steady = reading
            .zip(former)
            .is_some_and(|(reading, former)| is_steady(&reading, &former));
    }

    /// When a datagram came that was read at `now` and has this time of the kernel's.
    pub(super) fn arrived(&self, now: Instant, since_1970: Option<Duration>) -> Instant {
        let reading = self.reading.filter(|_| self.is_steady);
        let arrived = reading.zip(since_1970).and_then(|(reading, received)| {
            let age = reading.since_1970.checked_sub(received)?;
            reading.now.checked_sub(age)
        });
        match arrived {
            Some(arrived) if arrived + SLACK >= self.emptied_at => arrived.min(now),
            _ => now,
        }
    }
}

/// Whether nobody has set the system's clock between two readings. One that is slewed by 500 ppm
/// fits for two seconds.
fn is_steady(reading: &Reading, former: &Reading) -> bool {
    let passed = reading.now.saturating_duration_since(former.now);
    let other = reading.since_1970.checked_sub(former.since_1970);
    other.is_some_and(|other| passed.abs_diff(other) < SLACK)
}

/// The kernel notes the time before it puts a datagram into the socket.
const SLACK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const MS: Duration = Duration::from_millis(1);
    /// Of the system's clock when a test begins.
    const BEGIN: Duration = Duration::from_secs(1_700_000_000);

    /// One that has read the clocks at 0 ms, and the instant of that.
    fn begun() -> (ArrivalClock, Instant) {
        let begin = clock::now();
        let mut clock = ArrivalClock::new(begin);
        clock.on_read(Some(Reading {
            now: begin,
            since_1970: BEGIN,
        }));
        (clock, begin)
    }

    #[test]
    fn a_datagram_came_when_the_kernel_received_it() {
        let (mut clock, begin) = begun();
        let now = begin + MS * 50;
        clock.on_read(Some(Reading {
            now,
            since_1970: BEGIN + MS * 50,
        }));
        for ms in [0, 20, 50] {
            assert_eq!(clock.arrived(now, Some(BEGIN + MS * ms)), begin + MS * ms);
        }
        assert_eq!(clock.arrived(now, None), now, "the socket does not say");
        assert_eq!(
            clock.arrived(now, Some(BEGIN + MS * 51)),
            now,
            "in the future"
        );
    }

    #[test]
    fn none_came_before_the_socket_was_empty() {
        let (mut clock, begin) = begun();
        clock.on_emptied(begin + MS * 30);
        let now = begin + MS * 50;
        clock.on_read(Some(Reading {
            now,
            since_1970: BEGIN + MS * 50,
        }));
        assert_eq!(clock.arrived(now, Some(BEGIN + MS * 20)), now);
        assert_eq!(
            clock.arrived(now, Some(BEGIN + MS * 40)),
            begin + MS * 40,
            "but after that"
        );
    }

    #[test]
    fn a_system_clock_that_was_set_counts_from_the_next_reading_on() {
        let (mut clock, begin) = begun();
        for (ms, set_by) in [(50, 10), (100, 10)] {
            let now = begin + MS * ms;
            clock.on_read(Some(Reading {
                now,
                since_1970: BEGIN + MS * (ms + set_by),
            }));
            let came = clock.arrived(now, Some(BEGIN + MS * (ms + set_by - 5)));
            let expected = if ms == 50 { now } else { now - MS * 5 };
            assert_eq!(came, expected);
        }
        clock.on_read(None);
        assert_eq!(
            clock.arrived(begin + MS * 150, Some(BEGIN + MS * 155)),
            begin + MS * 150
        );
    }
}
