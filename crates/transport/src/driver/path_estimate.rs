//! What the path carries now, and what an encoder should send.
//!
//! ```text
//!  trains of packets, RTTs, losses ──▶ PathMeter ─┐
//!  the controller's bandwidth, or cwnd ÷ srtt ────┼──▶ open rate × margin × ease ──▶ hint
//!  pacing rate, max_rate ─────────────────────────┘
//! ```
//!
//! The hint is for the application alone: nothing in this crate sends by it.

use super::state::ConnectionDriver;
use crate::cc_adapter::{MEMORY, PathMeter, QUEUE_MEMORY, tolerated_queue};
use crate::clock;
use crate::path_watch::{PathEstimate, Watcher};
use cc_core::{Control, PathState, Snapshot};
use std::mem;
use std::task::Waker;
use std::time::{Duration, Instant};
use units::{Bandwidth, Bytes, Gain, Timestamp};

/// All that a hint is made of.
struct Known<'a> {
    now: Timestamp,
    snapshot: Snapshot,
    control: Control,
    max_rate: Option<Bandwidth>,
    path: PathState,
    /// Smoothed, or assumed before the first sample.
    rtt: Duration,
    meter: &'a PathMeter,
    /// Datagrams that wait to be sent.
    waiting: Bytes,
}

impl ConnectionDriver {
    /// What is known of the path now.
    pub(crate) fn path_estimate(&self, now: Instant) -> PathEstimate {
        let at = clock::timestamp(now);
        let mut congestion = self.congestion.lock();
        let snapshot = congestion.snapshot();
        let known = Known {
            now: at,
            snapshot,
            control: self.control,
            max_rate: self.max_rate,
            path: congestion.path_state(),
            rtt: self.conn.rtt(),
            meter: congestion.path_meter(),
            waiting: Bytes::new(self.datagrams.waiting_bytes() as u64),
        };
        PathEstimate {
            at,
            send_rate_hint: known.hint(),
            delivery_rate: congestion.delivery_rate(),
            pacing_rate: self.control.pacing_rate,
            min_rtt: known.min_rtt(),
            srtt: known.path.srtt,
            queueing_delay: known.queueing_delay(),
            send_queue_delay: known.send_queue_delay(known.path_rate()),
            loss: known.meter.loss(at, LOSS_TIME),
            limited_by: self.limits.until(at),
            state: snapshot.state,
        }
    }

    /// Offers estimates to `watcher` from now on.
    pub(crate) fn add_path_watcher(&mut self, watcher: Watcher) {
        self.path_watchers.retain(|watcher| !watcher.is_abandoned());
        self.path_watchers.push(watcher);
    }

    /// Offers an estimate to those who are due one.
    pub(super) fn offer_path_estimate(&mut self, now: Timestamp) {
        if !self.path_watchers.iter().any(|watcher| watcher.is_due(now)) {
            return;
        }
        self.path_watchers.retain(|watcher| !watcher.is_abandoned());
        let estimate = self.path_estimate(clock::instant(now));
        let watchers = self.path_watchers.iter_mut();
        let wakers = watchers.filter_map(|watcher| watcher.offer(&estimate));
        self.wakers.extend(wakers);
    }

    /// The connection is over: there are no more estimates, and no datagrams are sent.
    pub(crate) fn end_reports(&mut self) {
        let watchers = mem::take(&mut self.path_watchers);
        self.wakers.extend(watchers.iter().filter_map(Watcher::end));
        self.end_datagram_events();
    }

    /// Who is to be woken without the connection's lock.
    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        let mut wakers = mem::take(&mut self.wakers);
        wakers.append(&mut self.datagrams.take_wakers());
        wakers
    }
}

impl Known<'_> {
    fn hint(&self) -> Bandwidth {
        let rate = self.path_rate();
        let queues = self.queueing_delay();
        let queues = queues.saturating_add(self.send_queue_delay(rate));
        rate * MARGIN * self.ease(queues)
    }

    /// What may be sent if there is no queue.
    fn path_rate(&self) -> Bandwidth {
        let rate = self.open_rate();
        let carried = self.meter.rate_since_queue(self.now, QUEUE_MEMORY);
        let rate = rate.min(carried.unwrap_or(rate));
        rate.min(self.max_rate.unwrap_or(Bandwidth::MAX))
    }

    fn send_queue_delay(&self, rate: Bandwidth) -> Duration {
        rate.time_for(self.waiting)
    }

    /// What may be sent as far as the controller and the newest packets say.
    ///
    /// An application-limited controller knows only what it was given to send; what trains of
    /// packets have shown counts then, as far as packets are paced by it now.
    fn open_rate(&self) -> Bandwidth {
        let shown = self.meter.greatest_train_rate(self.now, MEMORY);
        // What the window admits in a round trip is no more than what came through of it.
        let window = || {
            let rate = Bandwidth::from_transfer(self.control.cwnd, self.rtt);
            let rate = rate.min(self.control.pacing_rate);
            rate.min(shown.unwrap_or(rate))
        };
        let known = self.snapshot.bandwidth.unwrap_or_else(window);
        if !self.path.is_app_limited {
            return known;
        }
        let open = known.max(shown.unwrap_or(known).min(self.control.pacing_rate));
        open.min(self.meter.spread_rate(self.now).unwrap_or(open))
    }

    fn min_rtt(&self) -> Option<Duration> {
        self.snapshot.min_rtt.or(self.path.min_rtt)
    }

    fn queueing_delay(&self) -> Duration {
        let queue = |base| self.meter.queueing_delay(self.now, base);
        self.min_rtt().map_or(Duration::ZERO, queue)
    }

    /// 1 up to the tolerated queue, falling to a half over another round trip, 50 ms at least.
    fn ease(&self, queue: Duration) -> Gain {
        let base = self.min_rtt().unwrap_or_default();
        let excess = queue.saturating_sub(tolerated_queue(base));
        let span = base.max(LEAST_SPAN);
        let share = Gain::new(micros(excess.min(span)), micros(span) * 2);
        share.complement()
    }
}

/// What a hint comes to at most where the application sends no faster than `max_rate`.
pub(super) fn greatest_hint(max_rate: Option<Bandwidth>) -> Bandwidth {
    max_rate.map_or(Bandwidth::MAX, |rate| rate * MARGIN)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 2)
}

/// Rates are those of packets. Of 1,452 bytes, QUIC takes some 30 (2 %); of a rate that is used in
/// full no queue ever drains, and frames vary in size. BBR's headroom for others is 15 %
/// (draft-ietf-ccwg-bbr-06 §2.7), with which an encoder would not come to 80 % of a link beside its
/// audio.
const MARGIN: Gain = Gain::percent(90);

const LEAST_SPAN: Duration = Duration::from_millis(50);

const LOSS_TIME: Duration = Duration::from_secs(1);
