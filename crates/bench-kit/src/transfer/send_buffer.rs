//! The size of a connection's send buffer: how much is written ahead of what is acknowledged.

use crate::clock;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use transport::Connection;

/// Sizes the send buffer of a connection: short, so that what was written stays close to what has
/// left, and long enough that the controller is never limited by it.
///
/// That is twice the congestion window, as Linux sizes a TCP socket's buffer; where the window is
/// not used, because the machine or the other side are slower, no more than twice what is in flight
/// and one turn of the endpoint's task. With losses this is too little: what was sent behind a
/// missing packet stays in the buffer until that one has come, and one that is lost three times
/// takes five round trips. How much it is cannot be asked. So the buffer grows as soon as the
/// connection waits for it, and shrinks slowly while it does not.
#[derive(Debug)]
pub struct SendBufferTuner {
    connection: Connection,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    size: TargetSize,
    /// When the connection last got a new size.
    tuned_at: Instant,
}

impl SendBufferTuner {
    /// For `connection`, with at most `max` bytes.
    pub fn new(connection: &Connection, max: u64) -> Self {
        let state = State {
            size: TargetSize::new(max),
            tuned_at: clock::now(),
        };
        Self {
            connection: connection.clone(),
            state: Mutex::new(state),
        }
    }

    /// Writes, and tunes the buffer for as long as that waits: once for all streams that wait.
    pub async fn tune_during<T>(&self, write: impl Future<Output = T>) -> T {
        let mut write = pin!(write);
        loop {
            tokio::select! {
                biased;
                written = &mut write => return written,
                () = sleep(TUNING_INTERVAL) => {}
            }
            let mut state = self.state();
            if clock::now().duration_since(state.tuned_at) >= TUNING_INTERVAL {
                self.adjust(&mut state);
            }
        }
    }

    pub fn tune(&self) {
        self.adjust(&mut self.state());
    }

    fn adjust(&self, state: &mut State) {
        let stats = self.connection.stats();
        let observed = Observation {
            cwnd: stats.cwnd.get(),
            in_flight: stats.in_flight.get(),
            rtt: stats.path.rtt,
            age: stats.limited_by.total(),
            starved: stats.limited_by.flow_control,
        };
        self.connection.set_send_window(state.size.wanted(observed));
        state.tuned_at = clock::now();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }
}

#[derive(Debug)]
struct TargetSize {
    max: u64,
    /// Added for what waits behind gaps.
    gap_allowance: u64,
    /// Since when waiting is counted.
    since: Option<Observation>,
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    cwnd: u64,
    in_flight: u64,
    rtt: Duration,
    age: Duration,
    /// How long it has had nothing to send although more was to be written.
    starved: Duration,
}

impl TargetSize {
    fn new(max: u64) -> Self {
        Self {
            max,
            gap_allowance: 0,
            since: None,
        }
    }

    fn wanted(&mut self, observed: Observation) -> u64 {
        let again = observed
            .in_flight
            .saturating_mul(2)
            .saturating_add(TASK_TURN);
        let usual = observed.cwnd.saturating_mul(2).min(again);
        self.update_gap_allowance(observed, usual);
        let wanted = usual.saturating_add(self.gap_allowance).max(MIN_SIZE);
        wanted.min(self.max)
    }

    fn update_gap_allowance(&mut self, observed: Observation, usual: u64) {
        // The first round trip is no reason to grow: the peer's first credit comes in it, and may
        // be late.
        let since = self
            .since
            .get_or_insert_with(|| observed.one_round_trip_later());
        let Some(time) = observed.age.checked_sub(since.age) else {
            since.starved = observed.starved;
            return;
        };
        let starved = observed.starved.saturating_sub(since.starved);
        if starved * STARVED_PART > time.max(observed.rtt) {
            let more = self.gap_allowance.max(usual / 2);
            self.gap_allowance = self.gap_allowance.saturating_add(more).min(self.max);
            // Pacing is flow control's for a round trip after it, and that is no reason again.
            *since = observed.one_round_trip_later();
        } else if !time.is_zero() && time >= observed.rtt {
            self.gap_allowance -= self.gap_allowance / DECAY;
            *since = observed;
        }
    }
}

impl Observation {
    fn one_round_trip_later(self) -> Self {
        Self {
            age: self.age + self.rtt,
            ..self
        }
    }
}

/// How long a write waits until the buffer is tuned again.
const TUNING_INTERVAL: Duration = Duration::from_millis(5);

/// What an endpoint sends in one turn of its task.
const TASK_TURN: u64 = 1 << 20;

/// A block of the usual length: a tenth of a second at 10 Mbit/s.
const MIN_SIZE: u64 = 128 << 10;

/// A sixteenth of a round trip without data is too much.
const STARVED_PART: u32 = 16;

/// By a thirty-second in each round trip: it takes 22 of them to halve what one has doubled.
const DECAY: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// At `millis`, after so many of them without data, on a path of 100 ms.
    fn observed(cwnd: u64, in_flight: u64, millis: u32, starved: u32) -> Observation {
        Observation {
            cwnd,
            in_flight,
            rtt: MS * 100,
            age: MS * millis,
            starved: MS * starved,
        }
    }

    #[test]
    fn what_waits_is_twice_the_window_but_of_one_that_is_not_used_less() {
        let wanted =
            |cwnd, in_flight| TargetSize::new(u64::MAX).wanted(observed(cwnd, in_flight, 1_000, 0));
        assert_eq!(wanted(12_000, 12_000), 128 << 10);
        assert_eq!(wanted(400_000, 300_000), 800_000);
        assert_eq!(wanted(10 << 20, 10 << 20), 20 << 20);
        assert_eq!(wanted(10 << 20, 0), 1 << 20);
        assert_eq!(wanted(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn it_doubles_as_soon_as_data_is_missing_but_once_in_a_round_trip() {
        let mut size = TargetSize::new(1_000_000);
        let mut gap_allowance =
            |millis, starved| size.wanted(observed(100_000, 0, millis, starved)) - 200_000;
        assert_eq!(gap_allowance(100, 10), 0, "that was before");
        assert_eq!(
            gap_allowance(199, 90),
            0,
            "nor is the first round trip a reason"
        );
        assert_eq!(
            gap_allowance(205, 96),
            0,
            "a sixteenth of a round trip is none"
        );
        assert_eq!(gap_allowance(206, 97), 100_000);
        assert_eq!(
            gap_allowance(305, 196),
            100_000,
            "that was seen before it grew"
        );
        assert_eq!(gap_allowance(313, 203), 200_000);
        assert_eq!(
            gap_allowance(600, 490),
            400_000,
            "whoever looks late finds more"
        );
        assert_eq!(gap_allowance(800, 690), 800_000, "and has its bound");
        assert_eq!(gap_allowance(900, 790), 800_000, "and has its bound");
    }

    #[test]
    fn it_shrinks_slowly_while_no_data_is_missing() {
        let mut size = TargetSize::new(u64::MAX);
        let mut gap_allowance =
            |millis, starved| size.wanted(observed(100_000, 0, millis, starved)) - 200_000;
        gap_allowance(0, 0);
        let full = gap_allowance(200, 100);
        assert_eq!(full, 100_000);
        // A sixteenth of the time is no reason yet.
        let after = (1..=22).map(|round| gap_allowance(300 + round * 100, 100 + round * 6));
        let halved = after.last().unwrap();
        assert!((49_000..=51_000).contains(&halved), "{halved}");
    }
}
