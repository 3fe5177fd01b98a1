use super::*;
use crate::events::AckedPacket;
use crate::registry::Registry;
use crate::sampler::RateSample;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

const MSS: Bytes = Bytes::new(1_000);
const MS: Duration = Duration::from_millis(1);

/// Writes down what it is told, in a window that a test sets.
#[derive(Debug, Default)]
struct Recorder {
    window: Arc<AtomicU64>,
}

/// Lines of what was told, from the observer's side of the controller.
#[derive(Default)]
struct Told(Vec<String>);

impl Observer for Told {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::StateChanged { to, .. } => self.0.push(String::from(*to)),
            Event::ControlChanged { .. } => self.0.push(String::from("control")),
            Event::Sampled { .. } => self.0.push(String::from("sample")),
        }
    }
}

fn tell(observer: &mut dyn Observer, path: &PathState, to: &'static str) {
    observer.on_event(&Event::StateChanged {
        at: path.now,
        from: "",
        to,
    });
}

impl Controller for Recorder {
    fn on_lost(&mut self, path: &PathState, _: &LostPacket, observer: &mut dyn Observer) {
        tell(observer, path, "lost");
    }
    fn on_ack(&mut self, path: &PathState, _: &RateSample, observer: &mut dyn Observer) {
        tell(observer, path, "ack");
    }
    fn on_persistent_congestion(&mut self, path: &PathState, observer: &mut dyn Observer) {
        tell(observer, path, "persistent");
    }
    fn control(&self) -> Control {
        Control::unpaced(Bytes::new(self.window.load(Ordering::Relaxed)))
    }
    fn snapshot(&self) -> Snapshot {
        Snapshot::new("recorder", "Recording", self.control())
    }
}

/// A flow with a window of so many packets, which stays adjustable.
fn flow(packets: u64) -> (Flow, Arc<AtomicU64>) {
    let window = Arc::new(AtomicU64::new(packets * MSS.get()));
    let controller = Recorder {
        window: Arc::clone(&window),
    };
    let setup = Setup::new(Timestamp::ZERO, MSS, 9);
    (Flow::new(Box::new(controller), &setup), window)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn send(flow: &mut Flow, now: Timestamp, packets: u64) -> Vec<AckedPacket> {
    let mut one = || AckedPacket {
        stamp: flow.on_sent(now, MSS),
        bytes: MSS,
    };
    (0..packets).map(|_| one()).collect()
}

fn ack(flow: &mut Flow, now: Timestamp, acked: &[AckedPacket]) {
    let feedback = Feedback {
        acked,
        rtt: Some(MS * 10),
        ..Feedback::at(now)
    };
    flow.on_feedback(&feedback, &mut ());
}

fn lost(packet: &AckedPacket) -> LostPacket {
    LostPacket {
        stamp: packet.stamp,
        bytes: packet.bytes,
        starts_range: true,
    }
}

#[test]
fn losses_are_told_before_the_collapse_and_the_ack_after_both() {
    let (mut flow, window) = flow(10);
    let sent = send(&mut flow, at(0), 4);
    window.store(7_000, Ordering::Relaxed);
    let losses = [lost(&sent[0]), lost(&sent[1])];
    let mut told = Told::default();
    let feedback = Feedback {
        acked: &sent[2..],
        lost: &losses,
        is_persistent_congestion: true,
        ..Feedback::at(at(10))
    };
    flow.on_feedback(&feedback, &mut told);
    let order = ["lost", "lost", "persistent", "sample", "ack", "control"];
    assert_eq!(told.0, order);
    let path = flow.path_state();
    assert_eq!(
        (path.inflight, path.delivered, path.lost),
        (Bytes::ZERO, MSS * 2, MSS * 2)
    );
}

#[test]
fn a_packet_that_arrives_late_is_delivered_and_not_lost() {
    let (mut flow, _) = flow(10);
    let sent = send(&mut flow, at(0), 2);
    let losses = [lost(&sent[0])];
    let feedback = Feedback {
        lost: &losses,
        ..Feedback::at(at(10))
    };
    flow.on_feedback(&feedback, &mut ());
    flow.on_spurious_loss(at(11), &losses[0], &mut ());
    let path = flow.path_state();
    assert_eq!(
        (path.inflight, path.delivered, path.lost),
        (MSS, MSS, Bytes::ZERO)
    );
}

/// Marks of each sample.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Observer for Marks {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            self.0.push(sample.ce_marked);
        }
    }
}

#[test]
fn marks_of_packets_that_only_arrived_late_come_with_the_next_sample_and_once() {
    let (mut flow, _) = flow(10);
    let sent = send(&mut flow, at(0), 3);
    let mut marks = Marks::default();
    for (acked, ce_marked) in [(&sent[..0], 2), (&sent[..1], 1), (&sent[1..2], 0)] {
        let feedback = Feedback {
            acked,
            ce_marked,
            ..Feedback::at(at(10))
        };
        flow.on_feedback(&feedback, &mut marks);
    }
    assert_eq!(marks.0, [3, 0]);
}

#[test]
fn the_transports_own_count_of_bytes_in_flight_is_adopted() {
    let (mut flow, _) = flow(10);
    let sent = send(&mut flow, at(0), 5);
    let feedback = Feedback {
        acked: &sent[..1],
        inflight: Some(Bytes::new(123)),
        ..Feedback::at(at(10))
    };
    flow.on_feedback(&feedback, &mut ());
    assert_eq!(flow.path_state().inflight, Bytes::new(123));
    flow.on_discarded(MSS);
    assert_eq!(flow.path_state().inflight, Bytes::ZERO);
}

#[test]
fn time_does_not_go_back() {
    let (mut flow, _) = flow(10);
    flow.on_sent(at(20), MSS);
    assert_eq!(flow.on_sent(at(10), MSS).sent_at, at(20));
}

#[test]
fn the_window_is_the_limit_in_the_round_that_filled_it_and_in_the_next() {
    let (mut flow, _) = flow(10);
    let first = send(&mut flow, at(0), 8);
    assert!(flow.path_state().is_cwnd_limited);
    ack(&mut flow, at(10), &first);
    assert!(flow.path_state().is_cwnd_limited);
    let second = send(&mut flow, at(11), 4);
    ack(&mut flow, at(21), &second);
    assert!(!flow.path_state().is_cwnd_limited);
}

#[test]
fn a_small_window_is_filled_when_two_packets_of_room_are_left() {
    let (mut flow, _) = flow(4);
    send(&mut flow, at(0), 1);
    assert!(!flow.path_state().is_cwnd_limited);
    send(&mut flow, at(0), 1);
    assert!(flow.path_state().is_cwnd_limited);
}

#[test]
fn a_window_is_filled_as_it_was_when_the_packet_left() {
    let (mut flow, window) = flow(10);
    let first = send(&mut flow, at(0), 10);
    for packet in &first {
        // Slow start, with every ACK of the flight handled before the next packet leaves.
        window.fetch_add(MSS.get(), Ordering::Relaxed);
        ack(&mut flow, at(10), core::slice::from_ref(packet));
        assert!(flow.path_state().is_cwnd_limited);
    }
}

#[test]
fn a_window_never_filled_is_not_the_limit() {
    let (mut flow, _) = flow(10);
    for round in 0..5 {
        let sent = send(&mut flow, at(round * 10), 7);
        assert!(!flow.path_state().is_cwnd_limited);
        ack(&mut flow, at(round * 10 + 9), &sent);
    }
}

#[test]
fn another_controller_begins_with_the_window_in_force_and_what_is_known_of_the_path() {
    let (mut flow, _) = flow(10);
    let sent = send(&mut flow, at(0), 3);
    ack(&mut flow, at(10), &sent[..1]);
    let seen = Rc::new(core::cell::Cell::new(None));
    flow.change_controller(at(12), |setup| {
        seen.set(Some(*setup));
        Box::new(Recorder::default())
    });
    let expected = Setup {
        initial_cwnd: MSS * 10,
        srtt: Some(MS * 10),
        ..Setup::new(at(12), MSS, 9)
    };
    assert_eq!(seen.get(), Some(expected));
    assert_eq!(flow.path_state().inflight, MSS * 2);
    assert_eq!(flow.control().cwnd, Bytes::ZERO);
}

#[test]
fn another_controller_takes_over_no_more_of_a_window_than_was_proven() {
    for (window, in_flight, taken) in [(1_000, 20, 40), (1_000, 3, 10), (25, 24, 25), (8, 2, 8)] {
        let (mut flow, _) = flow(window);
        send(&mut flow, at(0), in_flight);
        let seen = Rc::new(core::cell::Cell::new(Bytes::ZERO));
        flow.change_controller(at(1), |setup| {
            seen.set(setup.initial_cwnd);
            Box::new(Recorder::default())
        });
        assert_eq!(seen.get(), MSS * taken, "{in_flight} of {window}");
    }
}

#[test]
fn ect1_is_for_a_controller_that_wants_it_on_a_transport_that_sends_it() {
    for sends_ect1 in [false, true] {
        let setup = Setup {
            sends_ect1,
            ..Setup::new(Timestamp::ZERO, MSS, 9)
        };
        let prague = Registry::standard().choose("prague").unwrap();
        let mut flow = Flow::new(Box::new(Recorder::default()), &setup);
        assert!(!flow.wants_ect1());
        flow.change_controller(at(1), |setup| prague.build(setup));
        assert_eq!(flow.wants_ect1(), sends_ect1);
    }
}

#[test]
fn a_changed_decision_is_an_event_and_an_unchanged_one_is_none() {
    /// A window that every loss takes a packet from.
    #[derive(Debug)]
    struct Shrinking(Bytes);
    impl Controller for Shrinking {
        fn on_lost(&mut self, _: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
            self.0 -= packet.bytes;
        }
        fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}
        fn control(&self) -> Control {
            Control::unpaced(self.0)
        }
        fn snapshot(&self) -> Snapshot {
            Snapshot::new("shrinking", "Shrinking", self.control())
        }
    }
    let setup = Setup::new(Timestamp::ZERO, MSS, 9);
    let mut flow = Flow::new(Box::new(Shrinking(MSS * 10)), &setup);
    let sent = send(&mut flow, at(0), 2);
    let losses = [lost(&sent[0])];
    let mut told = Told::default();
    let feedback = Feedback {
        lost: &losses,
        ..Feedback::at(at(10))
    };
    flow.on_feedback(&feedback, &mut told);
    assert_eq!(told.0, ["control"]);
    let feedback = Feedback {
        acked: &sent[1..],
        ..Feedback::at(at(11))
    };
    flow.on_feedback(&feedback, &mut told);
    assert_eq!(told.0, ["control", "sample"]);
}

/// Goes on to its next decision with each ACK, and holds the rate down until then.
#[derive(Debug)]
struct Stepping {
    decisions: [Control; 5],
    step: usize,
}

impl Stepping {
    fn flow() -> (Flow, [Control; 5]) {
        let first = Control {
            cwnd: MSS * 10,
            pacing_rate: units::Bandwidth::from_bytes_per_sec(1_000_000),
            send_quantum: MSS * 2,
        };
        let decisions = [
            first,
            Control {
                cwnd: MSS * 11,
                ..first
            },
            first,
            Control {
                pacing_rate: first.pacing_rate.saturating_add(first.pacing_rate),
                ..first
            },
            Control {
                pacing_rate: first.pacing_rate.saturating_add(first.pacing_rate),
                send_quantum: MSS * 3,
                ..first
            },
        ];
        let controller = Self { decisions, step: 0 };
        let setup = Setup::new(Timestamp::ZERO, MSS, 9);
        (Flow::new(Box::new(controller), &setup), decisions)
    }
}

impl Controller for Stepping {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}
    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {
        self.step = (self.step + 1).min(4);
    }
    fn is_self_limited(&self) -> bool {
        self.step == 0
    }
    fn control(&self) -> Control {
        self.decisions[self.step]
    }
    fn snapshot(&self) -> Snapshot {
        Snapshot::new("stepping", "Stepping", self.control())
    }
}

#[test]
fn each_part_of_a_decision_is_adopted_and_told_when_it_alone_changes() {
    let (mut flow, decisions) = Stepping::flow();
    let sent = send(&mut flow, at(0), 5);
    let mut told = Told::default();
    for (packet, decision) in sent.iter().zip(&decisions[1..]) {
        let acked = core::slice::from_ref(packet);
        let feedback = Feedback {
            acked,
            ..Feedback::at(at(10))
        };
        flow.on_feedback(&feedback, &mut told);
        assert_eq!(flow.control(), *decision);
    }
    assert_eq!(told.0, ["sample", "control"].repeat(4));
}

#[test]
fn what_is_in_flight_when_a_controller_lets_go_counts_as_application_limited() {
    let (mut flow, _) = Stepping::flow();
    let sent = send(&mut flow, at(0), 3);
    assert!(!flow.path_state().is_app_limited);
    ack(&mut flow, at(10), &sent[..1]);
    assert!(flow.path_state().is_app_limited);
    ack(&mut flow, at(11), &sent[1..2]);
    assert!(flow.path_state().is_app_limited);
    let after = send(&mut flow, at(12), 1);
    ack(&mut flow, at(13), &sent[2..]);
    ack(&mut flow, at(22), &after);
    assert!(!flow.path_state().is_app_limited);
}
