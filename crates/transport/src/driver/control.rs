//! The controller: feedback to it, its decisions, and its exchange.

use super::state::ConnectionDriver;
use super::transmit_pacing::MAX_UDP_PAYLOAD;
use crate::cc_adapter::Delivery;
use crate::clock;
use cc_core::{Control, ControllerChoice, Observer, Snapshot};
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
        self.adopt_control(now, control);
    }

    /// Sends no faster than `rate` from now on.
    pub(crate) fn set_max_rate(&mut self, now: Instant, rate: Option<Bandwidth>) {
        self.max_rate = rate;
        let control = self.congestion.lock().control();
        self.adopt_control(clock::timestamp(now), control);
    }

    /// Who receives congestion control's events from now on. Returns the observer before, which
    /// is to be dropped without the connection's lock.
    pub(crate) fn set_observer(
        &mut self,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Option<Box<dyn Observer + Send>> {
        self.congestion.lock().events.set_observer(observer)
    }

    /// Whether [`Self::take_events`] has something to give.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    /// The observer with its events, to be called without the connection's lock.
    pub(crate) fn take_events(&mut self) -> Option<Delivery> {
        if !std::mem::take(&mut self.has_events) {
            return None;
        }
        self.congestion.lock().events.take()
    }

    /// Takes the observer back after a delivery; returns it if another has been set since.
    pub(crate) fn give_back_observer(&mut self, delivery: Delivery) -> Option<Delivery> {
        self.congestion.lock().events.give_back(delivery)
    }

    /// Ends one ACK or timer: passes it to the controller, whose decision holds from `now` on.
    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.congestion.take_feedback() {
            return;
        }
        let smoothed_rtt = self.conn.rtt();
        let mut congestion = self.congestion.lock();
        if congestion.take_has_lost() {
            self.spurious_losses.on_loss(now, smoothed_rtt);
        }
        let control = congestion.flush(Some(smoothed_rtt));
        self.has_events = !congestion.events.is_empty();
        let panic = congestion.take_panic();
        drop(congestion);
        self.adopt_control(now, control);
        if let Some(reason) = panic {
            self.close_after_panic(reason);
        }
        #[cfg(feature = "qlog")]
        self.trace_feedback(now);
    }

    #[cfg(feature = "qlog")]
    fn trace_feedback(&mut self, now: Timestamp) {
        if let Some(mut trace) = self.trace.take() {
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
        self.adopt_send_window();
    }

    pub(super) fn adopt_send_window(&mut self) {
        if let Some(size) = self.send_window.tune(self.control.cwnd) {
            self.conn.set_send_window(size);
        }
    }

    pub(super) fn adopt_window(&self) {
        self.congestion
            .gate()
            .set_window(self.control.cwnd, self.mss);
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

const MILLISECOND: Duration = Duration::from_millis(1);
