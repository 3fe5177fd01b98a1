//! How much a sender writes ahead of what is acknowledged.

use std::time::Duration;
use transport::Connection;

/// The send window of a connection, kept short so that what was written stays close to what has
/// left, and wide enough that the controller is never held back.
///
/// That is twice the congestion window, as Linux sizes a TCP socket's buffer; of a window that is
/// not used, because the machine or the other side are slower, no more than what is in flight again
/// and a turn. Where packets are lost this does not do: what was sent behind a missing one stays in
/// the window until that one has come, and one that is lost thrice is five round trips in coming.
/// How much it is cannot be asked. So the window grows while the connection waits for it, and
/// shrinks slowly while it does not.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// What it never exceeds.
    most: u64,
    /// For what waits behind gaps.
    beyond: u64,
    /// What the connection said when `beyond` was looked at. What it waited for before there was
    /// anything to be sent is not for this window to mend.
    last: Option<Seen>,
    /// Whether a round trip is over. The first is no reason to grow: the peer's first credit comes
    /// in it, and may be late.
    has_begun: bool,
}

/// What a connection says of itself.
#[derive(Debug, Clone, Copy)]
struct Seen {
    cwnd: u64,
    in_flight: u64,
    rtt: Duration,
    age: Duration,
    /// How long it has had nothing to send although more was to be written.
    starved: Duration,
}

impl Backlog {
    /// One of at most `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            beyond: 0,
            last: None,
            has_begun: false,
        }
    }

    /// Gives `connection` the window that it needs now.
    pub(crate) fn keep(&mut self, connection: &Connection) {
        let stats = connection.stats();
        let seen = Seen {
            cwnd: stats.cwnd.get(),
            in_flight: stats.in_flight.get(),
            rtt: stats.path.rtt,
            age: stats.limited_by.total(),
            starved: stats.limited_by.flow_control,
        };
        connection.set_send_window(self.wanted(seen));
    }

    fn wanted(&mut self, seen: Seen) -> u64 {
        let last = *self.last.get_or_insert(seen);
        let time = seen.age.saturating_sub(last.age);
        if time > Duration::ZERO && time >= seen.rtt {
            let starved = seen.starved.saturating_sub(last.starved);
            if starved * STARVED_PART <= time {
                self.beyond -= self.beyond / DECAY;
            } else if self.has_begun {
                self.beyond = self.beyond.max(TURN / 2).saturating_mul(2).min(self.most);
            }
            (self.last, self.has_begun) = (Some(seen), true);
        }
        let again = seen.in_flight.saturating_mul(2).saturating_add(TURN);
        let usual = seen.cwnd.saturating_mul(2).min(again);
        let wanted = usual.saturating_add(self.beyond).max(LEAST);
        wanted.min(self.most)
    }
}

/// What an endpoint sends in one turn of its task.
const TURN: u64 = 1 << 20;

/// A block of the usual length: a tenth of a second at 10 Mbit/s.
const LEAST: u64 = 128 << 10;

/// A sixteenth of a round trip without data is too much.
const STARVED_PART: u32 = 16;

/// By a thirty-second in each round trip: it takes 22 of them to halve what one has doubled.
const DECAY: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// At `millis`, after so many of them without data, on a path of 100 ms.
    fn seen(cwnd: u64, in_flight: u64, millis: u32, starved: u32) -> Seen {
        Seen {
            cwnd,
            in_flight,
            rtt: MS * 100,
            age: MS * millis,
            starved: MS * starved,
        }
    }

    #[test]
    fn what_waits_is_twice_the_window_but_of_one_that_is_not_used_less() {
        let wanted = |cwnd, in_flight| {
            let mut backlog = Backlog::new(u64::MAX);
            backlog.wanted(seen(cwnd, in_flight, 1_000, 0))
        };
        assert_eq!(wanted(12_000, 12_000), 128 << 10);
        assert_eq!(wanted(400_000, 300_000), 800_000);
        assert_eq!(wanted(10 << 20, 10 << 20), 20 << 20);
        assert_eq!(wanted(10 << 20, 0), 1 << 20);
        assert_eq!(wanted(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn it_doubles_with_each_round_trip_in_which_data_is_missing() {
        let mut backlog = Backlog::new(20 << 20);
        let mut wanted = |millis, starved| backlog.wanted(seen(100_000, 0, millis, starved));
        assert_eq!(wanted(100, 10), 200_000, "that was before");
        assert_eq!(wanted(199, 19), 200_000, "no round trip is over");
        assert_eq!(wanted(200, 20), 200_000, "nor is the first a reason");
        let windows = [300, 400, 500, 600, 700, 800].map(|millis| wanted(millis, millis / 10));
        let beyond = windows.map(|window| (window - 200_000) >> 20);
        assert_eq!(beyond, [1, 2, 4, 8, 16, 19], "and has its bound");
    }

    #[test]
    fn it_shrinks_slowly_while_no_data_is_missing() {
        let mut backlog = Backlog::new(u64::MAX);
        let mut beyond =
            |millis, starved| backlog.wanted(seen(100_000, 0, millis, starved)) - 200_000;
        let full = (1..=7)
            .map(|round| beyond(round * 100, round * 10))
            .last()
            .unwrap();
        let after = |rounds: u32| 700 + rounds * 100;
        // A sixteenth of the time is no reason yet.
        let halved = (1..=22)
            .map(|round| beyond(after(round), 70 + round * 6))
            .last()
            .unwrap();
        assert!(
            (49..=51).contains(&(halved * 100 / full)),
            "{halved} of {full}"
        );
    }
}
