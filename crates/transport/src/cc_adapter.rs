//! Between quinn-proto's congestion callbacks and cc-core: the one file that knows both
//! vocabularies.
//!
//! ```text
//!  quinn_proto::Connection ── on_sent, on_ack, on_end_acks, on_congestion_event ──▶ QuicController
//!            ▲                                                                          │
//!            └── window() ◀── Gate                          Congestion { Ledger, Flow } ◀┘
//!                              ▲                                   │ Control
//!                              └────────── ConnectionDriver ◀──────┘
//! ```

mod congestion;
mod events;
mod ledger;

use crate::gate::Gate;
use crate::{clock, random};
use cc_core::ControllerChoice;
pub(crate) use congestion::Congestion;
pub(crate) use events::Delivery;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use units::{Bandwidth, Bytes, Timestamp};

/// Makes quinn-proto's controllers, one per network path, for one connection.
#[derive(Debug)]
pub(crate) struct CongestionFactory {
    shared: Arc<Shared>,
}

/// The driver's side of a connection's congestion control.
#[derive(Debug, Clone)]
pub(crate) struct CongestionHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    gate: Gate,
    /// Whether quinn-proto has reported anything since the driver last asked.
    has_feedback: AtomicBool,
    congestion: Mutex<Congestion>,
}

impl CongestionFactory {
    /// Congestion control of one connection: the factory for its configuration and the handle for
    /// its [`ConnectionDriver`](crate::driver::ConnectionDriver).
    #[expect(
        clippy::new_ret_no_self,
        reason = "the two halves of one thing are made together"
    )]
    pub(crate) fn new(
        choice: ControllerChoice,
        seed: u64,
    ) -> (Arc<dyn ControllerFactory + Send + Sync>, CongestionHandle) {
        let shared = Arc::new(Shared {
            gate: Gate::default(),
            has_feedback: AtomicBool::new(false),
            congestion: Mutex::new(Congestion::new(choice, seed)),
        });
        let handle = CongestionHandle {
            shared: shared.clone(),
        };
        (Arc::new(Self { shared }), handle)
    }
}

impl ControllerFactory for CongestionFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let shared = self.shared.clone();
        let mss = Bytes::new(current_mtu.into());
        let path = {
            let mut congestion = shared.lock();
            let path = congestion.open_path(clock::timestamp(now), mss);
            shared.gate.set_window(congestion.control().cwnd, mss);
            path
        };
        shared.has_feedback.store(true, Relaxed);
        Box::new(QuicController {
            shared,
            path,
            acked: Vec::new(),
        })
    }
}

/// Makes controllers for connections without a driver, which quinn-proto runs alone.
#[derive(Debug)]
pub(crate) struct UndrivenFactory {
    choice: ControllerChoice,
    seed: Option<u64>,
}

impl UndrivenFactory {
    /// Without a seed, each controller draws one from the operating system.
    #[expect(clippy::new_ret_no_self, reason = "quinn-proto wants it like this")]
    pub(crate) fn new(
        choice: ControllerChoice,
        seed: Option<u64>,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(Self { choice, seed })
    }
}

/// Each path's controller stands alone, so that any number of connections can share the factory.
impl ControllerFactory for UndrivenFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let seed = self.seed.unwrap_or_else(random::u64);
        let (factory, _) = CongestionFactory::new(self.choice.clone(), seed);
        factory.build(now, current_mtu)
    }
}

impl CongestionHandle {
    /// The gate that answers quinn-proto.
    pub(crate) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    /// Whether quinn-proto has reported anything since the last call.
    pub(crate) fn take_feedback(&self) -> bool {
        let has_feedback = self.shared.has_feedback.load(Relaxed);
        self.shared.has_feedback.store(false, Relaxed);
        has_feedback
    }

    /// The state, for the driver to work on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Congestion> {
        self.shared.lock()
    }
}

impl Shared {
    /// A panic under the lock leaves whole values behind: every step completes or not at all.
    fn lock(&self) -> MutexGuard<'_, Congestion> {
        self.congestion
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Without a driver: what was reported until now is complete, and the window changes at once.
    fn send_undriven(&self, path: u64, now: Timestamp, bytes: Bytes, last_number: u64) {
        let mut congestion = self.lock();
        congestion.flush(None);
        let control = congestion.on_sent(path, now, bytes, last_number);
        self.gate
            .set_window(control.cwnd, congestion.path_state().mss);
    }
}

/// What quinn-proto holds as the controller of one path.
#[derive(Debug)]
struct QuicController {
    shared: Arc<Shared>,
    path: u64,
    /// Acknowledged bytes by time of sending, until the ACK frame has been read.
    acked: Vec<(Instant, u64)>,
}

impl Controller for QuicController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_number: u64) {
        if !self.shared.gate.take_built(self.path, bytes, last_number) {
            let (now, bytes) = (clock::timestamp(now), Bytes::new(bytes));
            self.shared
                .send_undriven(self.path, now, bytes, last_number);
        }
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        match self.acked.last_mut() {
            Some((last, sum)) if *last == sent => *sum += bytes,
            _ => self.acked.push((sent, bytes)),
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, largest: Option<u64>) {
        let mut congestion = self.shared.lock();
        congestion.select_path(self.path);
        let acked = self
            .acked
            .drain(..)
            .map(|(sent, bytes)| (clock::timestamp(sent), Bytes::new(bytes)));
        let in_flight = Bytes::new(in_flight);
        self.shared.has_feedback.store(true, Relaxed);
        congestion.on_acked(clock::timestamp(now), acked, in_flight, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut congestion = self.shared.lock();
        congestion.select_path(self.path);
        let now = clock::timestamp(now);
        self.shared.has_feedback.store(true, Relaxed);
        if lost_bytes == 0 {
            congestion.on_ce_marked(now);
        } else {
            let newest = clock::timestamp(sent);
            congestion.on_lost(
                now,
                newest,
                Bytes::new(lost_bytes),
                is_persistent_congestion,
            );
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mut congestion = self.shared.lock();
        congestion.select_path(self.path);
        self.shared.has_feedback.store(true, Relaxed);
        congestion.on_mtu(Bytes::new(new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.shared.gate.answer()
    }

    fn metrics(&self) -> ControllerMetrics {
        let snapshot = self.shared.lock().snapshot();
        let control = snapshot.control;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = control.cwnd.get();
        metrics.ssthresh = snapshot.ssthresh.map(Bytes::get);
        metrics.pacing_rate =
            (control.pacing_rate != Bandwidth::MAX).then(|| control.pacing_rate.bits_per_sec());
        metrics
    }

    /// The same network path under a new port: the estimates stay.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            shared: self.shared.clone(),
            path: self.path,
            acked: Vec::new(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.shared.lock().control().cwnd.get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
