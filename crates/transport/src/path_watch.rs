//! What a connection's path can carry now, for those who decide how much to send.

use crate::event_queue::{self, Reader};
use crate::stats::LimitedBy;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use thiserror::Error;
use units::{Bandwidth, Gain, Timestamp};

/// What is known of a connection's path at one time; `docs/live.md` says which of it an encoder is
/// to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathEstimate {
    /// When.
    pub at: Timestamp,
    /// What an encoder should send now, see
    /// [`Connection::send_rate_hint`](crate::Connection::send_rate_hint).
    pub send_rate_hint: Bandwidth,
    /// Delivery rate by the newest sample that had one: of a source with less to send than the path
    /// would carry, its own rate.
    pub delivery_rate: Option<Bandwidth>,
    /// The rate at which packets leave while there are some: [`Bandwidth::MAX`] when nothing is
    /// paced.
    pub pacing_rate: Bandwidth,
    /// Round-trip time without a queue: the controller's estimate if it has one, which forgets old
    /// paths, or the least ever seen.
    pub min_rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 9002 §5.3).
    pub srtt: Option<Duration>,
    /// The least round-trip time of the last 100 ms, or the newest if there is none, minus
    /// `min_rtt`: what stays in queues of the path, whoever filled them. Jitter is not counted.
    pub queueing_delay: Duration,
    /// How long the datagrams that wait to be sent take at the rate that the path carries.
    pub send_queue_delay: Duration,
    /// Bytes declared lost of all those acknowledged or declared lost within the last second.
    pub loss: Gain,
    /// What kept the connection from sending more, since it began; [`LimitedBy::since`] gives what
    /// has come to it since an earlier estimate.
    pub limited_by: LimitedBy,
    /// The controller's state, such as `SlowStart` or `ProbeBW_CRUISE`.
    pub state: &'static str,
}

impl PathEstimate {
    /// Whether a rate or a time differs by more than [`NOTABLE`] of what it was, or the loss by
    /// more than a percentage point.
    fn differs(&self, before: &Self) -> bool {
        let rates = |estimate: &Self| {
            let delivery = estimate.delivery_rate.map(Bandwidth::bytes_per_sec);
            let rates = [estimate.send_rate_hint, estimate.pacing_rate];
            [
                Some(rates[0].bytes_per_sec()),
                Some(rates[1].bytes_per_sec()),
                delivery,
            ]
        };
        let times = |estimate: &Self| {
            let base = estimate.min_rtt.unwrap_or_default();
            let queues = [estimate.queueing_delay, estimate.send_queue_delay];
            let [queue, send_queue] = queues.map(|queue| Some(base.saturating_add(queue)));
            [estimate.min_rtt, estimate.srtt, queue, send_queue].map(|time| time.map(nanos))
        };
        let is_notable = |(now, before): (Option<u64>, Option<u64>)| match (now, before) {
            (Some(now), Some(before)) => now.abs_diff(before) > NOTABLE.of(before),
            (now, before) => now != before,
        };
        let points = self.loss.millionths().abs_diff(before.loss.millionths());
        rates(self).into_iter().zip(rates(before)).any(is_notable)
            || times(self).into_iter().zip(times(before)).any(is_notable)
            || points > Gain::percent(1).millionths()
    }
}

/// The newest [`PathEstimate`], whenever it has changed, from
/// [`Connection::path_watch`](crate::Connection::path_watch) on.
///
/// An estimate is offered when an ACK or the loss timer has changed a rate or a time by more than
/// 5 %, or the loss by more than a percentage point, since the one before, and at most once in an
/// [interval](Self::set_interval). Only the newest is kept: who reads slowly misses what was in
/// between. It does not keep the connection open, and ends with it.
#[derive(Debug)]
pub struct PathWatch {
    reader: Reader<PathEstimate>,
    interval: Arc<AtomicU64>,
}

/// An interval between estimates that is not between 10 ms and 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("interval of {0:?} between path estimates: expected 10 ms to 10 s")]
pub struct IntervalError(Duration);

impl PathWatch {
    /// The next estimate; `None` when the connection is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, no estimate was taken.
    pub async fn next(&mut self) -> Option<PathEstimate> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next), for `futures::stream::poll_fn` and the like.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<PathEstimate>> {
        self.reader.poll_next(cx)
    }

    /// The least time from one estimate to the next, from the next one on. Default 100 ms.
    ///
    /// # Errors
    /// When it is less than 10 ms or more than 10 s.
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), IntervalError> {
        if !(MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) {
            return Err(IntervalError(interval));
        }
        self.interval.store(nanos(interval), Relaxed);
        Ok(())
    }
}

/// Where the estimates of a [`PathWatch`] come in.
#[derive(Debug)]
pub(crate) struct Watcher {
    source: event_queue::Source<PathEstimate>,
    interval: Arc<AtomicU64>,
    offered: Option<PathEstimate>,
}

impl Watcher {
    pub(crate) fn new() -> (PathWatch, Self) {
        let (reader, source) = event_queue::queue(1);
        let interval = Arc::new(AtomicU64::new(nanos(DEFAULT_INTERVAL)));
        let watcher = Self {
            source,
            interval: Arc::clone(&interval),
            offered: None,
        };
        (PathWatch { reader, interval }, watcher)
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.source.is_abandoned()
    }

    /// Whether an estimate may be offered at `now`.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let interval = Duration::from_nanos(self.interval.load(Relaxed));
        self.offered.is_none_or(|last| now >= last.at + interval)
    }

    /// Offers an estimate, if one is due and it is news. Returns the reader, which is to be woken
    /// without the connection's lock.
    pub(crate) fn offer(&mut self, estimate: &PathEstimate) -> Option<Waker> {
        let is_news = self.offered.is_none_or(|last| estimate.differs(&last));
        if !(self.is_due(estimate.at) && is_news) {
            return None;
        }
        self.offered = Some(*estimate);
        self.source.put([*estimate])
    }

    /// The connection is over. Returns the reader, which is to be woken without its lock.
    pub(crate) fn end(&self) -> Option<Waker> {
        self.source.end()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// By how much a rate or a time has to change to be news.
const NOTABLE: Gain = Gain::percent(5);

/// Three frames of video.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);
const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_test::{assert_pending, assert_ready, assert_ready_eq, task};

    fn estimate(millis: u64, mbit: u64) -> PathEstimate {
        PathEstimate {
            at: Timestamp::from_millis(millis),
            send_rate_hint: Bandwidth::from_bits_per_sec(mbit * 1_000_000),
            delivery_rate: None,
            pacing_rate: Bandwidth::MAX,
            min_rtt: Some(Duration::from_millis(40)),
            srtt: Some(Duration::from_millis(50)),
            queueing_delay: Duration::ZERO,
            send_queue_delay: Duration::ZERO,
            loss: Gain::percent(0),
            limited_by: LimitedBy::default(),
            state: "Startup",
        }
    }

    #[test]
    fn only_what_has_changed_is_offered_and_no_more_often_than_the_interval() {
        let (mut watch, mut watcher) = Watcher::new();
        let mut offered = |millis, mbit| {
            watcher.offer(&estimate(millis, mbit));
            match task::spawn(watch.next()).poll() {
                Poll::Ready(estimate) => {
                    estimate.map(|estimate| estimate.at.as_nanos() / 1_000_000)
                }
                Poll::Pending => None,
            }
        };
        assert_eq!(offered(0, 100), Some(0));
        assert_eq!(offered(99, 200), None, "too early");
        assert_eq!(offered(100, 105), None, "5 % are no news");
        assert_eq!(offered(110, 106), Some(110));
        assert_eq!(offered(200, 200), None, "too early");
        assert_eq!(offered(210, 200), Some(210));
    }

    #[test]
    fn times_loss_and_what_becomes_known_are_news() {
        let before = estimate(0, 10);
        let after = |change: fn(&mut PathEstimate)| {
            let mut after = before;
            change(&mut after);
            after.differs(&before)
        };
        assert!(!after(|now| now.state = "Drain"));
        assert!(!after(|now| now.loss = Gain::percent(1)));
        assert!(after(|now| now.loss = Gain::percent(2)));
        assert!(!after(|now| now.queueing_delay = Duration::from_millis(2)));
        assert!(after(|now| now.queueing_delay = Duration::from_millis(3)));
        assert!(!after(|now| now.send_queue_delay = Duration::from_millis(2)));
        assert!(after(|now| now.send_queue_delay = Duration::from_millis(3)));
        assert!(after(|now| now.send_queue_delay = Duration::MAX));
        assert!(after(|now| now.delivery_rate = Some(Bandwidth::MAX)));
        assert!(after(|now| now.srtt = Some(Duration::from_millis(53))));
    }

    #[test]
    fn a_slow_reader_gets_the_newest_and_then_the_end() {
        let (mut watch, mut watcher) = Watcher::new();
        let mut next = task::spawn(watch.next());
        assert_pending!(next.poll());
        assert!(watcher.offer(&estimate(0, 10)).is_some());
        watcher.offer(&estimate(100, 20));
        watcher.offer(&estimate(200, 30));
        assert_eq!(assert_ready!(next.poll()), Some(estimate(200, 30)));
        drop(next);
        watcher.end();
        assert_ready_eq!(task::spawn(watch.next()).poll(), None);
        drop(watch);
        assert!(watcher.is_abandoned());
    }

    #[test]
    fn an_interval_out_of_range_is_named() {
        let (mut watch, mut watcher) = Watcher::new();
        let error = watch.set_interval(Duration::from_millis(9)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "interval of 9ms between path estimates: expected 10 ms to 10 s"
        );
        watch.set_interval(Duration::from_millis(10)).unwrap();
        watcher.offer(&estimate(0, 10));
        assert!(watcher.is_due(Timestamp::from_millis(10)));
        watch.set_interval(Duration::from_secs(10)).unwrap();
        assert!(!watcher.is_due(Timestamp::from_millis(9_999)));
    }
}
