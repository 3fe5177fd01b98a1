//! The controller: feedback to it, its decisions, and its exchange.

use super::state::ConnectionDriver;
use super::transmit_pacing::MAX_UDP_PAYLOAD;
use super::unvalidated::proves_address;
use crate::cc_adapter::{Announcement, By, Delivery, Observing, Reception};
use crate::clock;
use crate::tap::Received;
use cc_core::{Control, ControllerChoice, Snapshot};
use quinn_proto::Connection;
use std::time::{Duration, Instant};
use units::{Bandwidth, Bytes, Timestamp};

impl ConnectionDriver {
    /// The controller's state, for people.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.congestion.lock().snapshot()
    }

    /// Goes on under another controller; what is in flight stays in flight.
    pub(crate) fn set_congestion(&mut self, now: Instant, choice: &ControllerChoice) {
        let now = clock::timestamp(now);
        let control = self.congestion.lock().set_choice(now, choice);
        self.ack_frequency.on_new_controller();
        self.adopt_control(now, control);
        self.close_if_panicked();
    }

    /// Closes the connection by the next [`Self::handle_timeout`] if its controller has panicked.
    /// Whether it has.
    pub(crate) fn close_if_panicked(&mut self) -> bool {
        let panic = self.congestion.lock().take_panic();
        let has_panicked = panic.is_some();
        if let Some(reason) = panic {
            self.close_after_panic(reason);
        }
        has_panicked
    }

    /// Sends no faster than `rate` from now on.
    pub(crate) fn set_max_rate(&mut self, now: Instant, rate: Option<Bandwidth>) {
        self.max_rate = rate;
        let control = self.congestion.lock().control();
        self.adopt_control(clock::timestamp(now), control);
    }

    /// Who receives congestion control's events, too, from now on. Returns the one whose place it
    /// takes, which is to be dropped without the connection's lock.
    pub(crate) fn add_observer(&mut self, by: By) -> Option<Observing> {
        self.congestion.lock().events.add(by)
    }

    /// Delivers no more events. All who have observed, to be dropped without the connection's lock.
    pub(crate) fn dismiss_observers(&mut self) -> Vec<Observing> {
        self.congestion.lock().events.dismiss()
    }

    /// Whether [`Self::take_events`] has something to give.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    /// The observers with their events, to be called without the connection's lock.
    pub(crate) fn take_events(&mut self) -> Option<Delivery> {
        if !std::mem::take(&mut self.has_events) {
            return None;
        }
        self.congestion.lock().events.take()
    }

    /// Takes the observers back after a delivery; returns those dismissed since.
    pub(crate) fn give_back_observers(&mut self, delivery: Delivery) -> Vec<Observing> {
        self.congestion.lock().events.give_back(delivery)
    }

    /// Ends one datagram or timer: tells congestion control what it has brought, if anything, and
    /// obeys its decision from `now` on.
    pub(super) fn settle(&mut self, now: Timestamp) {
        self.settle_at(now, now);
    }

    /// The same for a datagram that `came_at` a time before.
    pub(super) fn settle_at(&mut self, now: Timestamp, came_at: Timestamp) {
        let smoothed_rtt = self.conn.rtt();
        let (conn, ack_frames) = (&self.conn, &mut self.ack_frames);
        let received = self.congestion.tap().take_received(|received| {
            self.is_validated |= proves_address(received);
            forget_unprocessed_acks(conn, ack_frames, received);
            let mut congestion = self.congestion.lock();
            let reception = Reception {
                came_at,
                read_at: now,
                smoothed_rtt,
            };
            congestion.on_received(reception, received);
            self.ack_frequency.on_received(received);
            congestion
        });
        let is_overdue = self.loss_time.is_some_and(|at| now >= at);
        if !(self.congestion.take_changed() || received.is_some() || is_overdue) {
            return;
        }
        let mut congestion = received.unwrap_or_else(|| self.congestion.lock());
        let control = congestion.settle(came_at, smoothed_rtt);
        self.loss_time = congestion.loss_time().filter(|_| !self.conn.is_closed());
        let losses = congestion.announce_losses(now, smoothed_rtt);
        self.has_events = !congestion.events.is_empty();
        let panic = congestion.take_panic();
        let acked_early = congestion.counts().acked_early;
        let path = congestion.path_state();
        let fates = congestion.take_datagram_fates();
        drop(congestion);
        self.asked_acks.on_delivered(now, path.delivered);
        if acked_early > 0 {
            self.give_up_kernel_pacing();
        }
        self.report_datagram_fates(fates);
        if path.inflight == Bytes::ZERO {
            // Most connections are idle most of the time.
            self.congestion.tap().release();
        }
        if let Some(losses) = losses {
            self.announce(losses);
        }
        self.adopt_control(now, control);
        self.tune_send_window(now, path.inflight);
        if let (Some(srtt), Some(min_rtt)) = (path.srtt, path.min_rtt) {
            let (cwnd, mss) = (self.control.cwnd, self.mss);
            self.look_for_lost_acks();
            self.ack_frequency.on_path(cwnd, mss, srtt, min_rtt);
        }
        self.offer_path_estimate(now);
        if let Some(reason) = panic {
            self.close_after_panic(reason);
        }
        #[cfg(feature = "qlog")]
        self.trace_feedback(now);
    }

    /// A side that has nothing to send has no use for ACKs, few or many.
    fn look_for_lost_acks(&mut self) {
        if self.is_app_limited || self.ack_frequency.is_needed() {
            return;
        }
        if self.congestion.tap().missing() >= MANY_MISSING
            && self.congestion.lock().wants_fewer_acks()
        {
            self.ack_frequency.need();
        }
    }

    /// Has quinn-proto declare lost what congestion control has.
    ///
    /// Its own thresholds are the most lenient ones, and cannot be changed; but what is lost
    /// depends on the time. So its loss timer is made to expire with the time at which the newest
    /// of these packets, and nothing newer, is overdue by its own threshold: at most one and a
    /// quarter round trips from now. Other timers that expire until then do so early: a delayed
    /// ACK, a PING. None of them may end anything so soon after an ACK has come.
    fn announce(&mut self, losses: Announcement) {
        let then = clock::instant(losses.sent_until + losses.max_age);
        let is_missed = self.conn.poll_timeout().is_some_and(|timer| timer <= then);
        if is_missed && self.has_confirmed_handshake() && !self.conn.is_closed() {
            self.conn.handle_timeout(then);
        }
    }

    #[cfg(feature = "qlog")]
    fn trace_feedback(&mut self, now: Timestamp) {
        if let Some(mut trace) = self.trace.take() {
            let mut congestion = self.congestion.lock();
            let (facts, changes) = (congestion.take_noted(), congestion.take_phase_changes());
            drop(congestion);
            trace.on_facts(now, &facts);
            for change in changes {
                trace.on_resume_phase(&change);
            }
            let stats = self.stats(clock::instant(now));
            trace.on_feedback(now, &stats, &self.snapshot());
            self.trace = Some(trace);
        }
    }

    pub(super) fn adopt_control(&mut self, now: Timestamp, control: Control) {
        let mss = Bytes::new(self.conn.current_mtu().into());
        let control = capped(control, self.max_rate, mss);
        if control == self.control && mss == self.mss {
            return;
        }
        (self.control, self.mss) = (control, mss);
        self.pacer.set_control(now, control, mss);
        self.adopt_window();
    }

    pub(super) fn tune_send_window(&mut self, now: Timestamp, in_flight: Bytes) {
        let (cwnd, rtt) = (self.control.cwnd, self.conn.rtt());
        if let Some(size) = self.send_window.tune(now, rtt, cwnd, in_flight) {
            self.conn.set_send_window(size);
        }
    }

    pub(super) fn adopt_window(&self) {
        self.congestion
            .gate()
            .set_window(self.control.cwnd, self.mss);
    }
}

/// Forgets the ACKs of a datagram of which quinn-proto has dropped a packet after decrypting it, as
/// it does with duplicates. It has not checked them: such a packet may acknowledge what has not
/// arrived, even numbers that were skipped to find that out (RFC 9000 §21.4). The peer repeats an
/// honest one. `ack_frames` is how many it had processed before.
fn forget_unprocessed_acks(conn: &Connection, ack_frames: &mut u64, received: &mut Received) {
    if received.frames == 0 {
        return;
    }
    let processed = conn.stats().frame_rx.acks;
    let new = processed - std::mem::replace(ack_frames, processed);
    if new < received.frames {
        received.forget_acks();
    }
}

/// `control` with no more than `max_rate`, and with bursts of a millisecond of it, two packets at
/// least: as small as controllers make them at that rate.
pub(super) fn capped(control: Control, max_rate: Option<Bandwidth>, mss: Bytes) -> Control {
    match max_rate {
        Some(rate) if rate < control.pacing_rate => Control {
            pacing_rate: rate,
            send_quantum: control
                .send_quantum
                .min(rate * MILLISECOND)
                .min(MAX_UDP_PAYLOAD)
                .max(mss * 2),
            ..control
        },
        _ => control,
    }
}

/// Of the peer's last 128 packets. So many ACKs are lost where the return path is too slow by an
/// eighth, and not where it reorders or loses a few percent.
const MANY_MISSING: u32 = 16;
const MILLISECOND: Duration = Duration::from_millis(1);
