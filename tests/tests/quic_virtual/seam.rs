//! What the seam takes quinn-proto 0.11 to do, seen on quinn-proto itself. When one of these fails
//! after an upgrade, `docs/transport.md` says what hangs on it.

use crate::{config, connect};
use e2e::choose;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use transport::testing::{Load, Pair, PairConfig, PlainQuinn, Side};
use units::Bytes;

/// A window so large that quinn-proto neither paces nor holds anything back.
const NO_PACING: u64 = u64::MAX;
const MTU: u64 = 1_200;

/// What quinn-proto did, for all connections of a pair.
#[derive(Debug, Default)]
struct Record {
    /// How often the window was asked for since the last batch.
    asked: AtomicU64,
    /// For each batch that anything was asked for: questions, bytes.
    batches: Mutex<Vec<(u64, u64)>>,
}

#[derive(Debug, Clone)]
struct Recorder(Arc<Record>);

impl ControllerFactory for Recorder {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, _: Instant, bytes: u64, _: u64) {
        let asked = self.0.asked.swap(0, Relaxed);
        if asked > 0 {
            let mut batches = self.0.batches.lock().expect("one thread");
            batches.push((asked, bytes));
        }
    }

    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, _: &RttEstimator) {}

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.0.asked.fetch_add(1, Relaxed);
        NO_PACING
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        NO_PACING
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[test]
fn the_window_is_asked_for_twice_for_each_datagram_and_never_for_acks() {
    let record = Arc::new(Record::default());
    let mut config = PairConfig {
        plain: Some(PlainQuinn(Arc::new(Recorder(record.clone())))),
        ..config("delay 10ms rate 50mbit queue 100m", "delay 10ms", "cubic")
    };
    config.client.mtu_discovery_config(None);
    config.server.mtu_discovery_config(None);
    let mut pair = connect(&config);
    pair.run_for(Duration::from_millis(200));
    record.batches.lock().unwrap().clear();
    pair.send(Side::Client, Load::Bytes(1_000_000));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.received(Side::Server), Bytes::new(1_000_000));

    let batches = record.batches.lock().unwrap();
    assert!(batches.len() > 10, "{}", batches.len());
    for &(asked, bytes) in &*batches {
        assert_eq!(asked, 2 * bytes.div_ceil(MTU), "{bytes} bytes");
    }
    // Batches without a question are there, too: the receiver's ACKs.
    let acks = pair.proto_stats(Side::Server).udp_tx.ios;
    assert!(acks > 2 * batches.len() as u64, "{acks}");
}

/// The same link for both: 100 Mbit/s, 40 ms, a queue of one BDP.
fn transfer(plain: Option<PlainQuinn>) -> Pair {
    let config = PairConfig {
        plain,
        ..config(
            "delay 20ms rate 100mbit queue 1bdp",
            "delay 20ms",
            "new_reno",
        )
    };
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Bytes(20_000_000));
    let limit = Duration::from_secs(20);
    assert!(pair.run_until_received(Side::Server, Bytes::new(20_000_000), limit));
    pair
}

#[test]
fn a_controller_works_in_quinn_protos_hands_alone() {
    let plain = PlainQuinn::with(choose("new_reno"), 1);
    let mut alone = transfer(Some(plain));
    let path = alone.proto_stats(Side::Client).path;
    // Slow start filled the queue; without feedback the window would have stayed at the initial
    // one, which takes 27 s.
    assert!(path.lost_packets > 0 && path.cwnd > 100_000, "{path:?}");
    assert!(alone.now().as_nanos() < 4_000_000_000, "{}", alone.now());
}

#[test]
fn a_connection_closes_while_data_waits_behind_a_full_window() {
    for cc in ["fixed:pacing=off,cwnd=5000", "fixed:rate=10kbit"] {
        let config = config("delay 20ms", "delay 20ms", cc);
        let mut pair = connect(&config);
        pair.send(Side::Client, Load::Endless);
        pair.run_for(Duration::from_millis(110));
        pair.close(Side::Client);
        pair.run_for(Duration::from_millis(100));
        assert!(pair.error(Side::Server).is_some(), "{cc}: not told");
    }
}
