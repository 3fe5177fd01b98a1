//! Between quinn-proto and cc-core: the one place that knows both vocabularies.
//!
//! ```text
//!  quinn_proto::Connection ── keys ──▶ Tap ── Sent, Ack ──▶ ConnectionDriver ──▶ Congestion
//!            ▲      │                                         ▲                   │  SentPackets
//!         window()  └── path, CE, MTU ──▶ QuicController ─────┼──────────────────▶│  LossDetection
//!            │                                                │                   ▼  Flow
//!          Gate ◀─────────────────────────────────────────────┴───── Control ◀────┘
//! ```
//!
//! What left and what arrived comes from the [`Tap`], packet by packet. Of quinn-proto's callbacks
//! three are used: which path it is on, that the CE counts of an ACK are valid, and the packet
//! size. Applications that stay on quinn have no tap; [`sums`] makes do with the callbacks alone.

mod congestion;
mod counts;
mod datagram_fates;
mod event_stream;
mod events;
#[cfg_attr(
    not(feature = "testing"),
    expect(
        dead_code,
        unreachable_pub,
        reason = "facts are noted for tests and qlog"
    )
)]
mod facts;
mod loss_detection;
mod metrics;
mod path;
mod path_meter;
mod persistent;
mod reordering;
mod reports;
mod resume;
mod sent_packets;
mod spaces;
mod sums;

use crate::clock;
use crate::gate::Gate;
use crate::lock::{Guard, Lock, Locked, Rank};
use crate::quinn_proto_habits::is_ce_mark;
use crate::tap::Tap;
use cc_core::ControllerChoice;
pub(crate) use congestion::Congestion;
pub(crate) use counts::Batch;
pub(crate) use datagram_fates::DatagramFate;
pub use event_stream::CongestionEvents;
pub(crate) use events::{By, Delivery, Observing};
#[cfg(feature = "testing")]
pub(crate) use facts::Watch as FactWatch;
#[cfg(feature = "testing")]
pub use facts::{Fact, PacketId};
#[cfg(all(feature = "qlog", not(feature = "testing")))]
pub(crate) use facts::{Fact, PacketId};
pub(crate) use loss_detection::Announcement;
use metrics::metrics;
pub(crate) use path::{Reception, probe_timeout};
pub(crate) use path_meter::{MEMORY, PathMeter, QUEUE_MEMORY, tolerated_queue};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
pub(crate) use reordering::LossThresholds;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
pub(crate) use sums::SumsFactory;
use units::Bytes;

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
    tap: Arc<Tap>,
    /// Whether quinn-proto has another path or packet size since the driver last asked.
    has_changed: AtomicBool,
    congestion: Lock<Congestion>,
}

impl Locked for Congestion {
    const RANK: Rank = Rank::Congestion;
}

impl CongestionFactory {
    /// Congestion control of one connection: the factory for its configuration and the handle for
    /// its [`ConnectionDriver`](crate::driver::ConnectionDriver).
    #[expect(
        clippy::new_ret_no_self,
        reason = "the two halves of one thing are made together"
    )]
    pub(crate) fn new(
        choice: Arc<ControllerChoice>,
        seed: u64,
        thresholds: LossThresholds,
    ) -> (Arc<dyn ControllerFactory + Send + Sync>, CongestionHandle) {
        let shared = Arc::new(Shared {
            gate: Gate::default(),
            tap: Arc::default(),
            has_changed: AtomicBool::new(false),
            congestion: Lock::new(Congestion::new(choice, seed, thresholds)),
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
        shared.has_changed.store(true, Relaxed);
        Box::new(QuicController { shared, path })
    }
}

impl CongestionHandle {
    /// The gate that answers quinn-proto.
    pub(crate) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    /// What the connection's keys see.
    pub(crate) fn tap(&self) -> &Arc<Tap> {
        &self.shared.tap
    }

    /// Whether quinn-proto has another path or packet size since the last call.
    pub(crate) fn take_changed(&self) -> bool {
        let has_changed = self.shared.has_changed.load(Relaxed);
        self.shared.has_changed.store(false, Relaxed);
        has_changed
    }

    /// The state, for the driver to work on.
    pub(crate) fn lock(&self) -> Guard<'_, Congestion> {
        self.shared.lock()
    }
}

impl Shared {
    /// A panic under the lock leaves whole values behind: every step completes or not at all.
    fn lock(&self) -> Guard<'_, Congestion> {
        self.congestion.lock()
    }
}

/// What quinn-proto holds as the controller of one path.
#[derive(Debug)]
struct QuicController {
    shared: Arc<Shared>,
    path: u64,
}

impl QuicController {
    fn select_path(&self) -> Guard<'_, Congestion> {
        let mut congestion = self.shared.lock();
        congestion.select_path(self.path);
        congestion
    }
}

impl Controller for QuicController {
    fn on_sent(&mut self, _: Instant, _: u64, _: u64) {
        drop(self.select_path());
    }

    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, _: &RttEstimator) {}

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let mut congestion = self.select_path();
        congestion.on_proto_in_flight(clock::timestamp(now), Bytes::new(in_flight));
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, lost_bytes: u64) {
        let mut congestion = self.select_path();
        if is_ce_mark(lost_bytes) {
            congestion.on_ce_valid();
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.select_path().on_mtu(Bytes::new(new_mtu.into()));
        self.shared.has_changed.store(true, Relaxed);
    }

    fn window(&self) -> u64 {
        self.shared.gate.answer()
    }

    fn metrics(&self) -> ControllerMetrics {
        metrics(&self.shared.lock().snapshot())
    }

    /// The same network path under a new port: the estimates stay.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            shared: self.shared.clone(),
            path: self.path,
        })
    }

    fn initial_window(&self) -> u64 {
        self.shared.lock().control().cwnd.get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
