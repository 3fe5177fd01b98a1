//! When datagrams came. A host that is busy with something else reads them later than that.

use crate::clock::Reading;
use std::time::{Duration, Instant};

/// Maps the times at which the kernel received datagrams to instants.
///
/// Those times are of the system's clock, which may be set, or may be another one than the
/// kernel's for this process. So one counts only if it lies between the moment at which the socket
/// was last empty and the present, and if since then the system's clock has gone on by as much as
/// the monotonic one. Where it does not count a datagram came when it was read.
#[derive(Debug)]
pub(super) struct ArrivalClock {
    /// All that came before has been read.
    emptied_at: Instant,
    /// Of the present batch, if the clocks could be read together.
    reading: Option<Reading>,
    /// The newest there is.
    former: Option<Reading>,
    /// Whether nobody has set the system's clock since the socket was empty.
    is_steady: bool,
}

impl ArrivalClock {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            emptied_at: now,
            reading: None,
            former: None,
            is_steady: false,
        }
    }

    /// The kernel was asked at `now`, and had no more than it gave. What is read from then on came
    /// by the clock as it is now.
    pub(super) fn on_emptied(&mut self, now: Instant) {
        self.emptied_at = now;
        self.is_steady = self.former.is_some();
    }

    /// Datagrams have been read from the socket: then each is asked for with
    /// [`arrived`](Self::arrived). None if the clocks could not be read together.
    pub(super) fn on_read(&mut self, reading: Option<Reading>) {
        self.reading = reading;
        if let Some(reading) = reading {
            let former = self.former.replace(reading);
            self.is_steady &= former.is_some_and(|former| is_steady(&reading, &former));
        }
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

/// Whether nobody has set the system's clock between two readings, by more than [`SLACK`]. Linux
/// slews the monotonic clock with it.
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

    /// Both clocks `ms` after `begin`, where the system's was set forward by `set_by` ms.
    fn reading(begin: Instant, ms: u32, set_by: u32) -> Option<Reading> {
        Some(Reading {
            now: begin + MS * ms,
            since_1970: BEGIN + MS * (ms + set_by),
        })
    }

    /// One that has read the clocks and found the socket empty at 0 ms, and the instant of that.
    fn begun() -> (ArrivalClock, Instant) {
        let begin = clock::now();
        let mut clock = ArrivalClock::new(begin);
        clock.on_read(reading(begin, 0, 0));
        clock.on_emptied(begin);
        (clock, begin)
    }

    #[test]
    fn a_datagram_came_when_the_kernel_received_it() {
        let (mut clock, begin) = begun();
        let now = begin + MS * 50;
        clock.on_read(reading(begin, 50, 0));
        for ms in [0, 20, 50] {
            assert_eq!(clock.arrived(now, Some(BEGIN + MS * ms)), begin + MS * ms);
        }
        assert_eq!(clock.arrived(now, None), now, "the socket does not say");
        let future = Some(BEGIN + MS * 51);
        assert_eq!(clock.arrived(now, future), now, "in the future");
    }

    #[test]
    fn none_came_before_the_socket_was_empty() {
        let (mut clock, begin) = begun();
        clock.on_emptied(begin + MS * 30);
        let now = begin + MS * 50;
        clock.on_read(reading(begin, 50, 0));
        assert_eq!(clock.arrived(now, Some(BEGIN + MS * 20)), now);
        let came = clock.arrived(now, Some(BEGIN + MS * 40));
        assert_eq!(came, begin + MS * 40, "but after that");
    }

    /// A batch of what came before the clock was set may follow one in which that was noticed.
    #[test]
    fn a_clock_that_was_set_counts_again_once_the_socket_is_empty() {
        let (mut clock, begin) = begun();
        for ms in [50, 51] {
            let now = begin + MS * ms;
            clock.on_read(reading(begin, ms, 20));
            assert_eq!(clock.arrived(now, Some(BEGIN + MS * 40)), now, "{ms} ms");
        }
        clock.on_emptied(begin + MS * 51);
        clock.on_read(reading(begin, 100, 20));
        let came = clock.arrived(begin + MS * 100, Some(BEGIN + MS * 115));
        assert_eq!(came, begin + MS * 95);
    }

    #[test]
    fn clocks_that_were_not_read_together_cost_their_batch_alone() {
        let (mut clock, begin) = begun();
        clock.on_read(None);
        let now = begin + MS * 50;
        assert_eq!(clock.arrived(now, Some(BEGIN + MS * 40)), now);
        clock.on_read(reading(begin, 51, 0));
        let came = clock.arrived(begin + MS * 51, Some(BEGIN + MS * 40));
        assert_eq!(came, begin + MS * 40);
    }
}
