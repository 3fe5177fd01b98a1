use super::*;
use cc_core::{Control, Controller as CcController, Observer, PathState, RateSample, Snapshot};
use std::sync::Mutex;

const MSS: Bytes = Bytes::new(1_000);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// What a controller has been told.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    /// Batch, bytes, whether it starts a range.
    Lost(u64, u64, bool),
    /// Bytes acknowledged, send time of the newest, round-trip time, CE.
    Acked(u64, Timestamp, Option<Duration>, u64),
    PersistentCongestion,
}

/// The batch that got the stamp, counted from zero.
fn batch(stamp: &PacketStamp) -> u64 {
    stamp.sequence - 1
}

/// Decides nothing and writes down what it is told.
#[derive(Debug)]
struct Scribe(Arc<Mutex<Vec<Told>>>);

impl Scribe {
    fn note(&self, told: Told) {
        self.0.lock().unwrap().push(told);
    }
}

impl CcController for Scribe {
    fn on_lost(&mut self, _: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        let LostPacket {
            stamp,
            bytes,
            starts_range,
        } = *packet;
        self.note(Told::Lost(batch(&stamp), bytes.get(), starts_range));
    }

    fn on_ack(&mut self, _: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        let bytes = sample.newly_acked.get();
        let newest = sample.newest_sent_at;
        self.note(Told::Acked(bytes, newest, sample.rtt, sample.ce_marked));
    }

    fn on_persistent_congestion(&mut self, _: &PathState, _: &mut dyn Observer) {
        self.note(Told::PersistentCongestion);
    }

    fn control(&self) -> Control {
        Control {
            cwnd: MSS * 10,
            pacing_rate: units::Bandwidth::MAX,
            send_quantum: MSS,
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new("scribe", "", self.control())
    }
}

struct Scene {
    sums: Sums,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Scene {
    /// Batches of `bytes` that left at 0, 1, 2 … ms.
    fn sent(batches: &[u64]) -> Self {
        let told = Arc::default();
        let setup = Setup::new(at(0), MSS, 7);
        let sums = Sums::new(Flow::new(Box::new(Scribe(Arc::clone(&told))), &setup));
        let mut scene = Self { sums, told };
        for (millis, bytes) in (0..).zip(batches) {
            scene.sums.on_sent(at(millis), Bytes::new(*bytes));
        }
        scene
    }

    /// What the controller has been told since the last call, all that was reported included.
    fn told(&mut self) -> Vec<Told> {
        self.sums.flush();
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// The stamps and bytes of what was acknowledged and not told yet.
    fn acked(&mut self, now: Timestamp, sent_at: Timestamp, bytes: u64) -> Vec<(u64, u64)> {
        self.sums.on_acked(now, sent_at, Bytes::new(bytes));
        let acked = std::mem::take(&mut self.sums.pending.acked);
        let figures = |packet: &AckedPacket| (batch(&packet.stamp), packet.bytes.get());
        acked.iter().map(figures).collect()
    }

    fn lost(&mut self, newest: Timestamp, bytes: u64) -> Vec<(u64, u64, bool)> {
        self.sums.on_lost(newest, Bytes::new(bytes));
        let lost = std::mem::take(&mut self.sums.pending.lost);
        let figures = |packet: &LostPacket| {
            (
                batch(&packet.stamp),
                packet.bytes.get(),
                packet.starts_range,
            )
        };
        lost.iter().map(figures).collect()
    }

    fn in_flight(&self) -> u64 {
        self.sums.flow.path_state().inflight.get()
    }
}

#[test]
fn the_callbacks_of_one_ack_are_one_feedback() {
    let mut scene = Scene::sent(&[5_000, 5_000]);
    let sums = &mut scene.sums;
    sums.on_acked(at(40), at(0), MSS);
    sums.on_acked(at(40), at(1), MSS * 5);
    sums.on_end_acks(at(40), MSS * 4);
    sums.on_lost(at(0), MSS * 2);
    assert_eq!(*scene.told.lock().unwrap(), [], "the ACK may have more");
    let rtt = Some(Duration::from_millis(39));
    let expected = [
        Told::Lost(0, 1_000, true),
        Told::Lost(0, 1_000, false),
        Told::Acked(6_000, at(1), rtt, 0),
    ];
    assert_eq!(scene.told(), expected);
    assert_eq!(scene.in_flight(), 2_000);
    assert_eq!(scene.told(), [], "nothing new");
}

#[test]
fn what_is_pending_is_told_before_the_next_packet_leaves() {
    let mut scene = Scene::sent(&[1_000]);
    scene.sums.on_acked(at(40), at(0), MSS);
    scene.sums.on_end_acks(at(40), Bytes::ZERO);
    scene.sums.on_sent(at(41), MSS);
    assert_eq!(scene.told.lock().unwrap().len(), 1);
    assert_eq!(scene.in_flight(), 1_000);
}

#[test]
fn an_ack_of_older_packets_gives_no_round_trip_time() {
    let mut scene = Scene::sent(&[1_000, 1_000]);
    scene.sums.on_acked(at(50), at(1), MSS);
    scene.sums.on_end_acks(at(50), MSS);
    scene.told();
    scene.sums.on_acked(at(90), at(0), MSS);
    scene.sums.on_end_acks(at(90), Bytes::ZERO);
    assert_eq!(scene.told(), [Told::Acked(1_000, at(0), None, 0)]);
}

#[test]
fn acknowledged_bytes_get_the_stamp_of_their_send_time() {
    let mut scene = Scene::sent(&[3_000, 3_000, 3_000]);
    assert_eq!(scene.acked(at(40), at(1), 2_000), [(1, 2_000)]);
    assert_eq!(scene.acked(at(40), at(2), 3_000), [(2, 3_000)]);
    assert_eq!(scene.acked(at(40), at(0), 1_000), [(0, 1_000)]);
    assert_eq!(scene.sums.outstanding, Bytes::new(3_000));
}

#[test]
fn batches_of_one_send_time_are_acknowledged_in_order() {
    let mut scene = Scene::sent(&[]);
    scene.sums.on_sent(at(5), Bytes::new(1_000));
    scene.sums.on_sent(at(5), Bytes::new(2_000));
    assert_eq!(scene.acked(at(40), at(5), 1_500), [(0, 1_000), (1, 500)]);
}

#[test]
fn bytes_that_nobody_reported_as_sent_are_ignored() {
    let mut scene = Scene::sent(&[1_000, 1_000]);
    assert!(scene.acked(at(40), at(7), 1_452).is_empty());
    let between = at(0) + Duration::from_micros(1);
    assert!(scene.acked(at(40), between, 1_452).is_empty());
    assert_eq!(scene.acked(at(40), at(0), 9_000), [(0, 1_000)]);
    assert_eq!(scene.sums.outstanding, Bytes::new(1_000));
}

#[test]
fn losses_take_the_oldest_outstanding_bytes() {
    let mut scene = Scene::sent(&[2_000, 1_500, 2_000]);
    scene.acked(at(40), at(0), 1_000);
    let expected = [(0, 1_000, true), (1, 1_000, false), (1, 500, false)];
    assert_eq!(scene.lost(at(1), 2_500), expected);
    assert_eq!(scene.sums.outstanding, Bytes::new(2_000));
}

#[test]
fn nothing_newer_than_the_newest_lost_packet_is_lost() {
    let mut scene = Scene::sent(&[1_000, 1_000, 1_000]);
    let expected = [(0, 1_000, true), (1, 1_000, false)];
    assert_eq!(scene.lost(at(1), 9_000), expected);
    assert_eq!(scene.sums.outstanding, Bytes::new(1_000));
}

#[test]
fn bytes_that_left_flight_unreported_are_the_oldest() {
    let mut scene = Scene::sent(&[1_000, 1_000, 1_000]);
    scene.sums.on_end_acks(at(40), Bytes::new(1_200));
    assert_eq!(scene.sums.outstanding, Bytes::new(1_200));
    assert!(scene.acked(at(40), at(0), 1_000).is_empty());
    assert_eq!(scene.acked(at(40), at(1), 1_000), [(1, 200)]);
    scene.sums.on_end_acks(at(41), Bytes::new(50_000));
    assert_eq!(scene.sums.outstanding, Bytes::new(1_000));
}

#[test]
fn quinn_protos_own_reckoning_of_flight_wins() {
    let mut scene = Scene::sent(&[10_000]);
    scene.sums.on_acked(at(40), at(0), MSS);
    scene.sums.on_end_acks(at(40), MSS * 6);
    scene.sums.on_lost(at(0), MSS);
    scene.told();
    assert_eq!(scene.in_flight(), 5_000);
}

#[test]
fn a_congestion_event_without_lost_bytes_is_a_mark() {
    let scene = Scene::sent(&[1_000, 1_000]);
    let mut controller = SumsController(Arc::new(Mutex::new(scene.sums)));
    let instant = |millis| clock::instant(at(millis));
    controller.lock().on_acked(at(40), at(0), MSS);
    controller.lock().on_end_acks(at(40), MSS);
    controller.on_congestion_event(instant(40), instant(0), false, 0);
    controller.lock().flush();
    let rtt = Some(Duration::from_millis(40));
    let marked = Told::Acked(1_000, at(0), rtt, 1);
    assert_eq!(*scene.told.lock().unwrap(), [marked]);
    scene.told.lock().unwrap().clear();
    controller.on_congestion_event(instant(90), instant(1), true, 1_000);
    controller.lock().flush();
    let lost = [Told::Lost(1, 1_000, true), Told::PersistentCongestion];
    assert_eq!(*scene.told.lock().unwrap(), lost);
}

#[test]
fn of_batches_beyond_the_limit_the_oldest_are_no_longer_told_apart() {
    let mut scene = Scene::sent(&[]);
    let batches = MAX_BATCHES as u64 + 10;
    for millis in 0..batches {
        scene.sums.on_sent(at(millis), MSS);
    }
    assert_eq!(scene.sums.batches.len(), MAX_BATCHES);
    assert!(scene.acked(at(batches), at(9), 1_000).is_empty());
    assert_eq!(scene.acked(at(batches), at(10), 1_000), [(10, 1_000)]);
    let left = MSS * (MAX_BATCHES as u64 - 1);
    assert_eq!(scene.sums.outstanding, left);
}
