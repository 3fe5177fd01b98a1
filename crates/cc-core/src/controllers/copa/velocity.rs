//! Velocity: how fast the window approaches its target (§2.1, step 4).

use units::Bytes;

/// The direction in which the window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The velocity parameter `v`: it doubles while the window keeps its direction.
#[derive(Debug)]
pub(super) struct Velocity {
    /// `v`, at least one.
    factor: u64,
    /// Direction of the window in the newest round trip; `None` if it did not change.
    direction: Option<Direction>,
    /// Consecutive round trips in the direction of the one before.
    same: u64,
    /// The window when the present round trip began.
    cwnd: Bytes,
    patience: u64,
}

impl Velocity {
    /// `v` = 1 at window `cwnd`; doubling waits for `patience` round trips in one direction.
    pub(super) fn new(patience: u64, cwnd: Bytes) -> Self {
        Self {
            factor: 1,
            direction: None,
            same: 0,
            cwnd,
            patience,
        }
    }

    /// `v`.
    pub(super) fn get(&self) -> u64 {
        self.factor
    }

    /// A round trip ends at window `cwnd`.
    pub(super) fn on_round(&mut self, cwnd: Bytes) {
        let direction = match cwnd.cmp(&self.cwnd) {
            core::cmp::Ordering::Greater => Some(Direction::Up),
            core::cmp::Ordering::Less => Some(Direction::Down),
            core::cmp::Ordering::Equal => None,
        };
        if direction.is_none() || direction != self.direction {
            self.factor = 1;
            self.same = 0;
        } else {
            self.same += 1;
            if self.same >= self.patience {
                self.factor = self.factor.saturating_mul(2);
            }
        }
        self.direction = direction;
        self.cwnd = cwnd;
    }

    /// The window has to go `towards`: the velocity of the other direction is discarded.
    pub(super) fn turn(&mut self, towards: Direction, cwnd: Bytes) {
        if self.direction != Some(towards) {
            self.stop(cwnd);
        }
    }

    /// Resets `v` at window `cwnd`, where it is more than one.
    pub(super) fn stop(&mut self, cwnd: Bytes) {
        if self.factor > 1 {
            *self = Self::new(self.patience, cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `v` after each of the round trips that ended at these windows, the first being where it
    /// began.
    fn velocities(windows: &[u64]) -> alloc::vec::Vec<u64> {
        let mut velocity = Velocity::new(3, Bytes::new(windows[0]));
        let after = |window: &u64| {
            velocity.on_round(Bytes::new(*window));
            velocity.get()
        };
        windows[1..].iter().map(after).collect()
    }

    #[test]
    fn it_doubles_from_the_round_trip_after_three_in_one_direction() {
        let up = [10, 11, 12, 13, 14, 16, 20, 28];
        assert_eq!(velocities(&up), [1, 1, 1, 2, 4, 8, 16]);
        let down = [100, 98, 96, 94, 92, 88];
        assert_eq!(velocities(&down), [1, 1, 1, 2, 4]);
    }

    #[test]
    fn another_direction_and_none_begin_anew() {
        let turns = [10, 11, 12, 13, 14, 13, 12, 11, 10];
        assert_eq!(velocities(&turns), [1, 1, 1, 2, 1, 1, 1, 2]);
        let rests = [10, 11, 12, 13, 14, 14, 15, 16, 17, 18];
        assert_eq!(velocities(&rests), [1, 1, 1, 2, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn two_and_a_half_round_trips_of_the_steady_state_double_nothing() {
        let cycle = [10, 12, 14, 15, 13, 11, 10, 12, 14, 15, 13, 11];
        assert!(velocities(&cycle).iter().all(|v| *v == 1));
    }

    #[test]
    fn a_turn_takes_the_speed_away_but_not_a_steady_state() {
        let mut velocity = Velocity::new(0, Bytes::new(10));
        velocity.on_round(Bytes::new(11));
        velocity.on_round(Bytes::new(12));
        velocity.turn(Direction::Up, Bytes::new(12));
        assert_eq!(velocity.get(), 2);
        velocity.turn(Direction::Down, Bytes::new(13));
        assert_eq!(velocity.get(), 1);
        // Where there is no speed, round trips in one direction go on being counted.
        velocity.stop(Bytes::new(900));
        // Counted from the turn: 12 is below 13.
        velocity.on_round(Bytes::new(12));
        velocity.on_round(Bytes::new(11));
        assert_eq!(velocity.get(), 2);
    }
}
