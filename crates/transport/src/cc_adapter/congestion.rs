//! A connection's congestion control as the driver sees it.

use super::events::DeferredEvents;
use super::ledger::Ledger;
use crate::histogram::RttHistogram;
use crate::user_code;
use cc_core::{
    AckedPacket, Control, ControllerChoice, Event, Feedback, Flow, LostPacket, Observer, PathState,
    Registry, Setup, Snapshot,
};
use std::fmt;
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// Gathers quinn-proto's callbacks into one [`Feedback`] per ACK or timer and keeps one [`Flow`]
/// per network path.
pub(crate) struct Congestion {
    choice: ControllerChoice,
    seed: u64,
    paths_opened: u64,
    /// Set as soon as quinn-proto has made its connection.
    active: Option<Path>,
    /// The path before the active one: quinn-proto returns to it when validation fails.
    parked: Option<Path>,
    pub(crate) events: DeferredEvents,
    /// ACK frames that acknowledged something new.
    useful_acks: u64,
    ce_reports: u64,
    /// Whether there was a loss since anybody asked.
    has_lost: bool,
    /// Which controller has panicked, and what it said.
    panic: Option<String>,
}

#[derive(Debug)]
struct Path {
    id: u64,
    flow: Flow,
    ledger: Ledger,
    pending: Pending,
    newest_acked_sent: Option<Timestamp>,
    largest_acked: Option<u64>,
    /// quinn-proto's smoothed round-trip time at the last feedback.
    smoothed_rtt: Option<Duration>,
    /// The newest round-trip time, the peer's delay included.
    newest_raw_rtt: Duration,
    /// The most that a packet took of which a later one had arrived before.
    latest_late: Option<Duration>,
    /// The least round-trip time, the peer's delay included.
    least_raw_rtt: Option<Duration>,
    delivery_rate: Option<Bandwidth>,
    rtt_histogram: RttHistogram,
}

/// What quinn-proto has reported since the last [`Feedback`].
#[derive(Debug, Default)]
struct Pending {
    now: Option<Timestamp>,
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
    /// Round-trip time of the newest packet acknowledged, the peer's delay included.
    raw_rtt: Option<Duration>,
    rtt_samples: u32,
    ce_marked: u64,
    is_persistent_congestion: bool,
    inflight: Option<Bytes>,
}

impl Congestion {
    pub(super) fn new(choice: ControllerChoice, seed: u64) -> Self {
        Self {
            choice,
            seed,
            paths_opened: 0,
            active: None,
            parked: None,
            events: DeferredEvents::default(),
            useful_acks: 0,
            ce_reports: 0,
            has_lost: false,
            panic: None,
        }
    }

    /// quinn-proto has a new path. Its number, for [`Self::select_path`].
    pub(super) fn open_path(&mut self, now: Timestamp, mss: Bytes) -> u64 {
        let id = self.paths_opened;
        self.paths_opened += 1;
        if self.active.is_some() {
            self.flush(None);
        }
        let setup = Setup::new(now, mss, self.seed.wrapping_add(id));
        let flow = self.guard(|this| Flow::new(this.choice.build(&setup), &setup));
        self.parked = self.active.replace(Path::new(id, flow));
        id
    }

    /// quinn-proto calls for path `id`: it has become the active one if it was not.
    ///
    /// A path that is neither active nor parked has been left twice over; it goes on with what the
    /// active one knows.
    pub(super) fn select_path(&mut self, id: u64) {
        let is_active = self.active.as_ref().is_some_and(|path| path.id == id);
        if !is_active && self.parked.as_ref().is_some_and(|path| path.id == id) {
            std::mem::swap(&mut self.active, &mut self.parked);
        }
    }

    /// `bytes` that count in flight have left on path `id`. The decision in force after it.
    pub(crate) fn on_sent(
        &mut self,
        id: u64,
        now: Timestamp,
        bytes: Bytes,
        last_number: u64,
    ) -> Control {
        self.select_path(id);
        self.guard(|this| this.path_mut().on_sent(now, bytes, Some(last_number)))
    }

    /// An MTU probe has left; quinn-proto does not report those.
    pub(crate) fn on_mtu_probe_sent(&mut self, now: Timestamp, bytes: Bytes) -> Control {
        self.guard(|this| this.path_mut().on_sent(now, bytes, None))
    }

    /// An ACK was read: `acked` bytes by time of sending; `in_flight` are left before losses.
    pub(super) fn on_acked(
        &mut self,
        now: Timestamp,
        acked: impl Iterator<Item = (Timestamp, Bytes)>,
        in_flight: Bytes,
        largest: Option<u64>,
    ) {
        self.useful_acks += 1;
        self.path_mut().on_acked(now, acked, in_flight, largest);
    }

    /// `bytes` were declared lost, the newest of which left at `newest`.
    pub(super) fn on_lost(
        &mut self,
        now: Timestamp,
        newest: Timestamp,
        bytes: Bytes,
        is_persistent_congestion: bool,
    ) {
        self.has_lost = true;
        self.path_mut()
            .on_lost(now, newest, bytes, is_persistent_congestion);
    }

    /// The peer reports at least one more packet marked CE; quinn-proto does not say how many.
    pub(super) fn on_ce_marked(&mut self, now: Timestamp) {
        self.ce_reports += 1;
        let pending = &mut self.path_mut().pending;
        pending.now = Some(now);
        pending.ce_marked += 1;
    }

    /// Packets may now be as large as `mss`.
    pub(super) fn on_mtu(&mut self, mss: Bytes) {
        self.guard(|this| {
            let flow = &mut this.path_mut().flow;
            flow.on_mtu(flow.path_state().now, mss);
        });
    }

    /// Passes to the controller what has been gathered, as one ACK or one expiry of the loss timer.
    ///
    /// `smoothed_rtt` is quinn-proto's present one, where the caller knows it. The decision in
    /// force after it.
    pub(crate) fn flush(&mut self, smoothed_rtt: Option<Duration>) -> Control {
        self.guard(|this| {
            let path = this.active.as_mut().expect(OPENED);
            path.flush(smoothed_rtt, &mut this.events);
            path.flow.control()
        })
    }

    /// There was nothing to send although the window had room.
    pub(crate) fn on_app_limited(&mut self) {
        self.path_mut().flow.on_app_limited();
    }

    /// Goes on under another controller, on every path. Its first decision.
    pub(crate) fn set_choice(&mut self, now: Timestamp, choice: &ControllerChoice) -> Control {
        for path in [&mut self.active, &mut self.parked].into_iter().flatten() {
            path.flow
                .change_controller(now, |setup| choice.build(setup));
        }
        self.choice = choice.clone();
        self.control()
    }

    /// The decision in force.
    pub(crate) fn control(&self) -> Control {
        self.path().flow.control()
    }

    /// The controller's state, for people.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.guard(|this| this.path().flow.snapshot())
    }

    /// Bytes in flight.
    pub(crate) fn in_flight(&self) -> Bytes {
        self.path().flow.path_state().inflight
    }

    /// The connection's state as of the newest event.
    pub(crate) fn path_state(&self) -> PathState {
        self.path().flow.path_state()
    }

    /// Delivery rate by the newest sample that had one.
    pub(crate) fn delivery_rate(&self) -> Option<Bandwidth> {
        self.path().delivery_rate
    }

    /// Round-trip times by how often they were measured.
    pub(crate) fn rtt_histogram(&self) -> RttHistogram {
        self.path().rtt_histogram
    }

    /// ACK frames that acknowledged something new.
    pub(crate) fn useful_acks(&self) -> u64 {
        self.useful_acks
    }

    /// ACKs that reported more CE marks.
    pub(crate) fn ce_reports(&self) -> u64 {
        self.ce_reports
    }

    /// The newest round-trip time or `smoothed`, if that is longer: what quinn-proto measures a
    /// packet's age by.
    pub(crate) fn conservative_rtt(&self, smoothed: Duration) -> Duration {
        smoothed.max(self.path().newest_raw_rtt)
    }

    /// The most that a packet took since the last call that had been overtaken.
    pub(crate) fn take_latest_late(&mut self) -> Option<Duration> {
        self.path_mut().latest_late.take()
    }

    /// See [`Ledger::missing_since`].
    pub(crate) fn missing_since(&self) -> Option<Timestamp> {
        let path = self.path();
        let mss = path.flow.path_state().mss;
        path.ledger.missing_since(path.largest_acked?, mss)
    }

    /// See [`Ledger::overdue`].
    pub(crate) fn overdue(&self, packets: Option<u64>, sent_until: Timestamp) -> Option<Timestamp> {
        let path = self.path();
        let mss = path.flow.path_state().mss;
        path.ledger
            .overdue(path.largest_acked?, mss, packets, sent_until)
    }

    /// What was reported since the last [`Self::flush`] happened at `now`, whatever time
    /// quinn-proto was called with.
    pub(crate) fn correct_time(&mut self, now: Timestamp) {
        let reported = &mut self.path_mut().pending.now;
        *reported = reported.and(Some(now));
    }

    /// Whether packets were declared lost since the last call.
    pub(crate) fn take_has_lost(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    /// Which controller has panicked since the last call, and what it said.
    pub(crate) fn take_panic(&mut self) -> Option<String> {
        self.panic.take()
    }

    /// Does something that calls the controller, which may be the application's. If that panics,
    /// does it again under NewReno, which controls the connection until it is closed.
    fn guard<T>(&mut self, call: impl Fn(&mut Self) -> T) -> T {
        match user_code::call(|| call(self)) {
            Ok(value) => value,
            Err(message) => {
                self.replace_controller(&message);
                call(self)
            }
        }
    }

    #[cold]
    fn replace_controller(&mut self, message: &str) {
        let reason = format!("controller {} panicked: {message}", self.choice.name());
        tracing::error!("{reason}");
        self.panic.get_or_insert(reason);
        let choice = Registry::standard().choose("new_reno");
        self.choice = choice.expect("a standard controller");
        for path in [&mut self.active, &mut self.parked].into_iter().flatten() {
            path.pending = Pending::default();
            let now = path.flow.path_state().now;
            path.flow
                .change_controller(now, |setup| self.choice.build(setup));
        }
    }

    fn path(&self) -> &Path {
        self.active.as_ref().expect(OPENED)
    }

    fn path_mut(&mut self) -> &mut Path {
        self.active.as_mut().expect(OPENED)
    }
}

impl fmt::Debug for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Congestion")
            .field("choice", &format_args!("{}", self.choice))
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

impl Path {
    fn new(id: u64, flow: Flow) -> Self {
        Self {
            id,
            flow,
            ledger: Ledger::default(),
            pending: Pending::default(),
            newest_acked_sent: None,
            largest_acked: None,
            smoothed_rtt: None,
            newest_raw_rtt: Duration::ZERO,
            latest_late: None,
            least_raw_rtt: None,
            delivery_rate: None,
            rtt_histogram: RttHistogram::default(),
        }
    }

    fn on_sent(&mut self, now: Timestamp, bytes: Bytes, last_number: Option<u64>) -> Control {
        let stamp = self.flow.on_sent(now, bytes);
        self.ledger.push(stamp, bytes, last_number);
        self.flow.control()
    }

    fn on_acked(
        &mut self,
        now: Timestamp,
        acked: impl Iterator<Item = (Timestamp, Bytes)>,
        in_flight: Bytes,
        largest: Option<u64>,
    ) {
        let pending = &mut self.pending;
        pending.now = Some(now);
        let mut newest = None;
        for (sent_at, bytes) in acked {
            newest = newest.max(Some(sent_at));
            if self
                .newest_acked_sent
                .is_some_and(|newest| sent_at < newest)
            {
                self.latest_late = self.latest_late.max(Some(now.since(sent_at)));
            }
            self.ledger
                .take_acked(sent_at, bytes, |packet| pending.acked.push(packet));
        }
        self.ledger.reconcile(in_flight);
        pending.inflight = Some(in_flight);
        let is_new_largest = largest != self.largest_acked && newest >= self.newest_acked_sent;
        if let Some(newest) = newest.filter(|_| is_new_largest) {
            self.newest_raw_rtt = now.since(newest);
            pending.raw_rtt = Some(self.newest_raw_rtt);
            pending.rtt_samples += 1;
            self.newest_acked_sent = Some(newest);
        }
        self.largest_acked = largest;
    }

    fn on_lost(
        &mut self,
        now: Timestamp,
        newest: Timestamp,
        bytes: Bytes,
        is_persistent_congestion: bool,
    ) {
        let pending = &mut self.pending;
        pending.now = Some(now);
        pending.is_persistent_congestion |= is_persistent_congestion;
        let mss = self.flow.path_state().mss;
        self.ledger.take_lost(newest, bytes, mss, |packet| {
            pending.lost.push(packet);
            if let Some(inflight) = &mut pending.inflight {
                *inflight = inflight.saturating_sub(packet.bytes);
            }
        });
    }

    fn flush(&mut self, smoothed_rtt: Option<Duration>, observer: &mut DeferredEvents) {
        let Some(now) = self.pending.now.take() else {
            return;
        };
        let rtt = self.take_rtt(smoothed_rtt);
        if let Some(rtt) = rtt {
            self.rtt_histogram.record(rtt);
        }
        let pending = &mut self.pending;
        let feedback = Feedback {
            now,
            acked: &pending.acked,
            lost: &pending.lost,
            rtt,
            ce_marked: std::mem::take(&mut pending.ce_marked),
            is_persistent_congestion: std::mem::take(&mut pending.is_persistent_congestion),
            inflight: pending.inflight.take(),
        };
        let mut tap = RateTap {
            delivery_rate: &mut self.delivery_rate,
            observer,
        };
        self.flow.on_feedback(&feedback, &mut tap);
        pending.acked.clear();
        pending.lost.clear();
    }

    /// The gathered round-trip time less the peer's delay.
    ///
    /// quinn-proto subtracts the delay that the ACK frame reported (RFC 9002 §5.3) but shows only
    /// the average that follows: new = (7 × old + sample) / 8. Solved for the sample, which is
    /// exact to the 8 ns that the division dropped. The least round-trip time bounds it, as the
    /// same section asks.
    fn take_rtt(&mut self, smoothed_rtt: Option<Duration>) -> Option<Duration> {
        // Also with an ACK that gives no sample here: quinn-proto may have taken one, of packets
        // of another number space.
        let old = std::mem::replace(&mut self.smoothed_rtt, smoothed_rtt);
        let is_single = std::mem::take(&mut self.pending.rtt_samples) == 1;
        let raw = self.pending.raw_rtt.take()?;
        let least = self.least_raw_rtt.map_or(raw, |least| least.min(raw));
        self.least_raw_rtt = Some(least);
        match (old, smoothed_rtt) {
            (Some(old), Some(new)) if is_single => {
                Some((new * 8).saturating_sub(old * 7).clamp(least, raw))
            }
            _ => Some(raw),
        }
    }
}

/// Keeps the newest delivery rate, and passes events on.
struct RateTap<'a> {
    delivery_rate: &'a mut Option<Bandwidth>,
    observer: &'a mut DeferredEvents,
}

impl Observer for RateTap<'_> {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            *self.delivery_rate = sample.delivery_rate.or(*self.delivery_rate);
        }
        self.observer.on_event(event);
    }
}

const OPENED: &str = "quinn-proto makes a controller before it does anything else";

#[cfg(test)]
mod tests;
