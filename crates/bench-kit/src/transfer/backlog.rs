//! How much a sender writes ahead of what is acknowledged.

use crate::clock;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use transport::Connection;

/// The send window of a connection, kept short so that what was written stays close to what has
/// left, and wide enough that the controller is never held back.
///
/// That is twice the congestion window, as Linux sizes a TCP socket's buffer; of a window that is
/// not used, because the machine or the other side are slower, no more than what is in flight again
/// and a turn. Where packets are lost this does not do: what was sent behind a missing one stays in
/// the window until that one has come, and one that is lost thrice is five round trips in coming.
/// How much it is cannot be asked. So the window grows as soon as the connection waits for it, and
/// shrinks slowly while it does not.
#[derive(Debug)]
pub struct Backlog {
    connection: Connection,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    size: Size,
    /// When that was last given to the connection.
    kept_at: Instant,
}

impl Backlog {
    /// That of `connection`, of at most `most` bytes.
    pub fn new(connection: &Connection, most: u64) -> Self {
        let state = State {
            size: Size::new(most),
            kept_at: clock::now(),
        };
        Self {
            connection: connection.clone(),
            state: Mutex::new(state),
        }
    }

    /// Writes, and looks after the window for as long as that waits. Where many streams wait, one
    /// look is for all of them.
    pub async fn keep_for<T>(&self, write: impl Future<Output = T>) -> T {
        let mut write = pin!(write);
        loop {
            tokio::select! {
                biased;
                written = &mut write => return written,
                () = sleep(LOOKS_APART) => {}
            }
            let mut state = self.state();
            if clock::now().duration_since(state.kept_at) >= LOOKS_APART {
                self.adjust(&mut state);
            }
        }
    }

    /// Gives the connection the window that it needs now.
    pub fn keep(&self) {
        self.adjust(&mut self.state());
    }

    fn adjust(&self, state: &mut State) {
        let stats = self.connection.stats();
        let seen = Seen {
            cwnd: stats.cwnd.get(),
            in_flight: stats.in_flight.get(),
            rtt: stats.path.rtt,
            age: stats.limited_by.total(),
            starved: stats.limited_by.flow_control,
        };
        self.connection.set_send_window(state.size.wanted(seen));
        state.kept_at = clock::now();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }
}

#[derive(Debug)]
struct Size {
    /// What it never exceeds.
    most: u64,
    /// For what waits behind gaps.
    beyond: u64,
    /// Since when waiting is counted.
    since: Option<Seen>,
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

impl Size {
    fn new(most: u64) -> Self {
        Self {
            most,
            beyond: 0,
            since: None,
        }
    }

    fn wanted(&mut self, seen: Seen) -> u64 {
        let again = seen.in_flight.saturating_mul(2).saturating_add(TURN);
        let usual = seen.cwnd.saturating_mul(2).min(again);
        self.look_beyond(seen, usual);
        let wanted = usual.saturating_add(self.beyond).max(LEAST);
        wanted.min(self.most)
    }

    fn look_beyond(&mut self, seen: Seen, usual: u64) {
        // The first round trip is no reason to grow: the peer's first credit comes in it, and may
        // be late.
        let since = self.since.get_or_insert_with(|| seen.in_a_round_trip());
        let Some(time) = seen.age.checked_sub(since.age) else {
            since.starved = seen.starved;
            return;
        };
        let starved = seen.starved.saturating_sub(since.starved);
        if starved * STARVED_PART > time.max(seen.rtt) {
            let more = self.beyond.max(usual / 2);
            self.beyond = self.beyond.saturating_add(more).min(self.most);
            // Pacing is flow control's for a round trip after it, and that is no reason again.
            *since = seen.in_a_round_trip();
        } else if !time.is_zero() && time >= seen.rtt {
            self.beyond -= self.beyond / DECAY;
            *since = seen;
        }
    }
}

impl Seen {
    fn in_a_round_trip(self) -> Self {
        Self {
            age: self.age + self.rtt,
            ..self
        }
    }
}

/// How long a write waits until the window is looked at again.
const LOOKS_APART: Duration = Duration::from_millis(5);

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
        let wanted = |cwnd, in_flight| Size::new(u64::MAX).wanted(seen(cwnd, in_flight, 1_000, 0));
        assert_eq!(wanted(12_000, 12_000), 128 << 10);
        assert_eq!(wanted(400_000, 300_000), 800_000);
        assert_eq!(wanted(10 << 20, 10 << 20), 20 << 20);
        assert_eq!(wanted(10 << 20, 0), 1 << 20);
        assert_eq!(wanted(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn it_doubles_as_soon_as_data_is_missing_but_once_in_a_round_trip() {
        let mut size = Size::new(1_000_000);
        let mut beyond = |millis, starved| size.wanted(seen(100_000, 0, millis, starved)) - 200_000;
        assert_eq!(beyond(100, 10), 0, "that was before");
        assert_eq!(beyond(199, 90), 0, "nor is the first round trip a reason");
        assert_eq!(beyond(205, 96), 0, "a sixteenth of a round trip is none");
        assert_eq!(beyond(206, 97), 100_000);
        assert_eq!(beyond(305, 196), 100_000, "that was seen before it grew");
        assert_eq!(beyond(313, 203), 200_000);
        assert_eq!(beyond(600, 490), 400_000, "whoever looks late finds more");
        assert_eq!(beyond(800, 690), 800_000, "and has its bound");
        assert_eq!(beyond(900, 790), 800_000, "and has its bound");
    }

    #[test]
    fn it_shrinks_slowly_while_no_data_is_missing() {
        let mut size = Size::new(u64::MAX);
        let mut beyond = |millis, starved| size.wanted(seen(100_000, 0, millis, starved)) - 200_000;
        beyond(0, 0);
        let full = beyond(200, 100);
        assert_eq!(full, 100_000);
        // A sixteenth of the time is no reason yet.
        let after = (1..=22).map(|round| beyond(300 + round * 100, 100 + round * 6));
        let halved = after.last().unwrap();
        assert!((49_000..=51_000).contains(&halved), "{halved}");
    }
}
