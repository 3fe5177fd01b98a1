//! What noq holds: the factory in its configuration, and a controller per network path.

use crate::path::Path;
use cc_core::{ControllerChoice, Flow, Setup, Snapshot};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use units::{Bandwidth, Bytes, Timestamp};

/// Makes noq's controllers. Any number of connections may share it.
#[derive(Debug, Clone)]
pub struct Factory {
    choice: ControllerChoice,
    seed: Option<u64>,
}

impl Factory {
    /// Controllers of this choice, each with a random seed.
    pub fn new(choice: ControllerChoice) -> Self {
        Self { choice, seed: None }
    }

    /// The same with this seed for every controller, so that runs can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        // The standard library seeds its hashers from the operating system.
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let mss = Bytes::new(current_mtu.into());
        let setup = Setup::new(timestamp(now, now), mss, seed);
        let flow = Flow::new(self.choice.build(&setup), &setup);
        Box::new(PathController {
            epoch: now,
            path: Arc::new(Mutex::new(Path::new(flow))),
        })
    }
}

/// The controller of one network path, which noq owns.
///
/// `noq::Connection::congestion_state` gives a second handle to it, to read its state by:
/// `state.into_any().downcast::<PathController>()`.
#[derive(Debug)]
pub struct PathController {
    /// When it was made.
    epoch: Instant,
    path: Arc<Mutex<Path>>,
}

impl PathController {
    /// The state as of the newest event.
    pub fn snapshot(&self) -> Snapshot {
        self.path().snapshot()
    }

    /// A panic in a controller ends its connection; whoever asks after that gets the last decision.
    fn path(&self) -> MutexGuard<'_, Path> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, time: Instant) -> Timestamp {
        timestamp(time, self.epoch)
    }
}

impl Controller for PathController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.at(now);
        self.path().on_sent(now, pn, Bytes::new(bytes.into()));
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.at(now), self.at(sent));
        self.path().on_acked(now, sent, pn, Bytes::new(bytes));
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.at(now);
        let in_flight = Bytes::new(in_flight);
        self.path().on_acks_ended(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let now = self.at(now);
        if is_ecn {
            self.path().on_marked(now);
        }
        if is_persistent_congestion {
            self.path().on_persistent_congestion(now);
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.at(now);
        self.path().on_lost(now, pn, Bytes::new(lost_bytes.into()));
    }

    fn on_spurious_congestion_event(&mut self) {
        self.path().on_late();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.path().on_mss(Bytes::new(new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.path().control().cwnd.get()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut path = self.path();
        let control = path.control();
        let snapshot = path.snapshot();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = control.cwnd.get();
        metrics.ssthresh = snapshot.ssthresh.map(Bytes::get);
        metrics.pacing_rate = Some(control.pacing_rate.min(MAX_RATE).bytes_per_sec());
        metrics.send_quantum = Some(control.send_quantum.get());
        metrics.bandwidth_estimate = snapshot.bandwidth.map(Bandwidth::bits_per_sec);
        metrics
    }

    /// The same network path under a new port: the estimates stay.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            epoch: self.epoch,
            path: Arc::clone(&self.path),
        })
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Nanoseconds since `epoch`, or none for what was before.
fn timestamp(time: Instant, epoch: Instant) -> Timestamp {
    Timestamp::ZERO + time.saturating_duration_since(epoch)
}

/// What "as fast as the window allows" is as a rate: noq would pace by window and RTT if it got
/// none. 8 Tbit/s.
const MAX_RATE: Bandwidth = Bandwidth::from_bytes_per_sec(1_000_000_000_000);
