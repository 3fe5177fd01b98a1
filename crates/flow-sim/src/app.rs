//! What the application writes, and when.

use core::time::Duration;
use std::collections::VecDeque;
use units::Timestamp;

/// A stretch of an application's life.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// So many bytes at once; over when they are acknowledged.
    Bytes(u64),
    /// Always something to send.
    Backlogged(Duration),
    /// A write every `interval`; over one interval after the last.
    Bursts {
        count: u64,
        size: u64,
        interval: Duration,
    },
    /// Nothing.
    Pause(Duration),
}

/// How far the stream of bytes is written.
#[derive(Debug)]
pub(crate) struct App {
    /// The phases to come, the present one first.
    phases: VecDeque<Phase>,
    /// When the present phase began; `None` before it did.
    since: Option<Timestamp>,
    /// Writes of the present phase so far.
    writes: u64,
    /// End of the stream of bytes: `u64::MAX` while backlogged.
    written: u64,
}

impl App {
    pub(crate) fn new(phases: &[Phase]) -> Self {
        let forever = [Phase::Backlogged(Duration::MAX)];
        let phases = if phases.is_empty() { &forever } else { phases };
        Self {
            phases: phases.iter().copied().collect(),
            since: None,
            writes: 0,
            written: 0,
        }
    }

    /// Writes what is due. `sent` is how much of the stream has left, `is_drained` whether all of
    /// that is acknowledged.
    pub(crate) fn advance(&mut self, now: Timestamp, sent: u64, is_drained: bool) {
        while let Some(phase) = self.phases.front().copied() {
            let since = *self.since.get_or_insert(now);
            let next = match phase {
                Phase::Bytes(bytes) => self.write_once(bytes, sent, is_drained).then_some(now),
                Phase::Backlogged(time) => {
                    self.written = u64::MAX;
                    let end = ended(since, time, now);
                    self.written = if end.is_some() { sent } else { u64::MAX };
                    end
                }
                Phase::Bursts {
                    count,
                    size,
                    interval,
                } => {
                    self.write_bursts(now.since(since), count, size, interval);
                    let span = times(interval, count);
                    ended(since, span, now)
                }
                Phase::Pause(time) => ended(since, time, now),
            };
            let Some(next) = next else { return };
            self.phases.pop_front();
            self.since = (!self.phases.is_empty()).then_some(next);
            self.writes = 0;
        }
    }

    /// End of the stream of bytes as far as it is written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// When [`advance`](Self::advance) has something to do; `None` if time alone brings nothing.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let (phase, since) = (self.phases.front()?, self.since?);
        match *phase {
            Phase::Bytes(_) => None,
            Phase::Bursts { interval, .. } => Some(since + times(interval, self.writes)),
            Phase::Backlogged(time) | Phase::Pause(time) => {
                Some(since + time).filter(|end| *end != Timestamp::MAX)
            }
        }
    }

    /// The length of the whole stream, once nothing more will be written.
    pub(crate) fn final_length(&self) -> Option<u64> {
        let is_last = self.phases.len() <= 1;
        let is_written = match self.phases.front() {
            None | Some(Phase::Pause(_)) => true,
            Some(Phase::Bytes(_)) => self.writes == 1,
            Some(Phase::Bursts { count, .. }) => self.writes == *count,
            Some(Phase::Backlogged(_)) => false,
        };
        (is_last && is_written).then_some(self.written)
    }

    fn write_once(&mut self, bytes: u64, sent: u64, is_drained: bool) -> bool {
        if self.writes == 0 {
            self.writes = 1;
            self.written += bytes;
        }
        sent == self.written && is_drained
    }

    fn write_bursts(&mut self, elapsed: Duration, count: u64, size: u64, interval: Duration) {
        while self.writes < count && times(interval, self.writes) <= elapsed {
            self.writes += 1;
            self.written += size;
        }
    }
}

/// The end of a stretch that began at `since`, once it is over.
fn ended(since: Timestamp, span: Duration, now: Timestamp) -> Option<Timestamp> {
    let end = since + span;
    (end <= now && end != Timestamp::MAX).then_some(end)
}

fn times(interval: Duration, count: u64) -> Duration {
    Duration::from_nanos(units::duration::nanos(interval).saturating_mul(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn bursts_come_on_time_and_are_followed_by_the_next_phase() {
        let bursts = Phase::Bursts {
            count: 2,
            size: 100,
            interval: MS * 10,
        };
        let mut app = App::new(&[bursts, Phase::Bytes(1_000)]);
        app.advance(at(5), 0, true);
        assert_eq!((app.written(), app.next()), (100, Some(at(15))));
        app.advance(at(15), 100, true);
        assert_eq!((app.written(), app.next()), (200, Some(at(25))));
        assert_eq!(app.final_length(), None);
        app.advance(at(25), 200, true);
        assert_eq!((app.written(), app.next()), (1_200, None));
        assert_eq!(app.final_length(), Some(1_200));
    }

    #[test]
    fn a_backlog_ends_where_the_sender_is() {
        let mut app = App::new(&[Phase::Backlogged(MS * 3), Phase::Pause(MS * 2)]);
        app.advance(at(0), 0, true);
        assert_eq!((app.written(), app.next()), (u64::MAX, Some(at(3))));
        app.advance(at(3), 7_000, false);
        assert_eq!((app.written(), app.next()), (7_000, Some(at(5))));
        app.advance(at(5), 7_000, true);
        assert_eq!(app.final_length(), Some(7_000));
    }

    #[test]
    fn without_phases_the_backlog_never_ends() {
        let mut app = App::new(&[]);
        app.advance(at(0), 0, true);
        assert_eq!((app.written(), app.next()), (u64::MAX, None));
        app.advance(Timestamp::MAX, 9, true);
        assert_eq!(app.written(), u64::MAX);
    }
}
