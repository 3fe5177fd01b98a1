use super::*;
use crate::registry::Registry;
use crate::sampler::RateSample;
use crate::tests::flow_driver::{FlowDriver, MS, MSS, lost};
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

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
            Event::ResumePhaseChanged(change) => self.0.push(String::from(change.to.name())),
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
fn driver(packets: u64) -> (FlowDriver, Arc<AtomicU64>) {
    let window = Arc::new(AtomicU64::new(packets * MSS.get()));
    let controller = Recorder {
        window: Arc::clone(&window),
    };
    let setup = Setup::new(Timestamp::ZERO, MSS, 9);
    (FlowDriver::under(Box::new(controller), &setup), window)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn losses_are_told_before_the_collapse_and_the_ack_after_both() {
    let (mut driver, window) = driver(10);
    driver.send(4);
    window.store(7_000, Ordering::Relaxed);
    let sent = driver.flying.make_contiguous();
    let mut told = Told::default();
    let feedback = Feedback {
        acked: &sent[2..],
        lost: &[lost(&sent[0]), lost(&sent[1])],
        is_persistent_congestion: true,
        ..Feedback::at(at(10))
    };
    driver.flow.on_feedback(&feedback, &mut told);
    let order = ["lost", "lost", "persistent", "sample", "ack", "control"];
    assert_eq!(told.0, order);
    let path = driver.flow.path_state();
    assert_eq!(
        (path.inflight, path.delivered, path.lost),
        (Bytes::ZERO, MSS * 2, MSS * 2)
    );
}

#[test]
fn a_packet_that_arrives_late_is_delivered_and_not_lost() {
    let (mut driver, _) = driver(10);
    driver.send(2);
    driver.now = at(10);
    let losses = driver.lose(1);
    driver.now = at(11);
    driver.arrive_late(&losses);
    let path = driver.flow.path_state();
    assert_eq!(
        (path.inflight, path.delivered, path.lost),
        (MSS, MSS, Bytes::ZERO)
    );
}

#[test]
fn what_is_handed_over_early_is_in_flight_at_once_and_measured_from_its_departure() {
    let (mut driver, _) = driver(10);
    driver.now = at(1);
    let flow = &mut driver.flow;
    let stamps = [2, 4].map(|leaves| flow.on_scheduled(at(1), at(leaves), MSS));
    assert_eq!(stamps.map(|stamp| stamp.sent_at), [at(2), at(4)]);
    // The flight begins when its first packet leaves.
    assert_eq!(stamps.map(|stamp| stamp.first_sent_at), [at(2), at(2)]);
    let path = flow.path_state();
    assert_eq!((path.now, path.inflight), (at(1), MSS * 2));
    // No departure is in the past.
    assert_eq!(flow.on_scheduled(at(3), at(1), MSS).sent_at, at(3));
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
    let (mut driver, _) = driver(10);
    driver.send(3);
    let sent = driver.flying.make_contiguous();
    let mut marks = Marks::default();
    for (acked, ce_marked) in [(&sent[..0], 2), (&sent[..1], 1), (&sent[1..2], 0)] {
        let feedback = Feedback {
            acked,
            ce_marked,
            ..Feedback::at(at(10))
        };
        driver.flow.on_feedback(&feedback, &mut marks);
    }
    assert_eq!(marks.0, [3, 0]);
}

#[test]
fn the_transports_own_count_of_bytes_in_flight_is_adopted() {
    let (mut driver, _) = driver(10);
    driver.send(5);
    let acked = [driver.flying[0]];
    driver.tell(&Feedback {
        acked: &acked,
        inflight: Some(Bytes::new(123)),
        ..Feedback::at(at(10))
    });
    assert_eq!(driver.flow.path_state().inflight, Bytes::new(123));
    driver.flow.on_discarded(MSS);
    assert_eq!(driver.flow.path_state().inflight, Bytes::ZERO);
}

#[test]
fn time_does_not_go_back() {
    let (mut driver, _) = driver(10);
    driver.flow.on_sent(at(20), MSS);
    assert_eq!(driver.flow.on_sent(at(10), MSS).sent_at, at(20));
}

#[test]
fn a_flow_is_blocked_until_it_sends_and_only_the_application_limits_its_samples() {
    let is_blocked = |flow: &Flow| flow.path_state().is_blocked;
    let (mut driver, _) = driver(10);
    driver.send(1);
    assert!(!is_blocked(&driver.flow));
    driver.flow.on_blocked();
    driver.now = at(10);
    driver.ack(1);
    assert!(is_blocked(&driver.flow), "what arrives changes nothing");
    assert!(!driver.flow.path_state().is_app_limited);
    driver.send(1);
    assert!(!is_blocked(&driver.flow));
    driver.flow.on_app_limited();
    assert!(is_blocked(&driver.flow));
    driver.send(1);
    assert!(!is_blocked(&driver.flow) && driver.flow.path_state().is_app_limited);
}

#[test]
fn the_window_is_the_limit_in_the_round_that_filled_it_and_in_the_next() {
    let (mut driver, _) = driver(10);
    driver.send(8);
    assert!(driver.flow.path_state().is_cwnd_limited);
    driver.now = at(10);
    driver.ack(8);
    assert!(driver.flow.path_state().is_cwnd_limited);
    driver.now = at(11);
    driver.send(4);
    driver.now = at(21);
    driver.ack(4);
    assert!(!driver.flow.path_state().is_cwnd_limited);
}

#[test]
fn a_small_window_is_filled_when_two_packets_of_room_are_left() {
    let (mut driver, _) = driver(4);
    driver.send(1);
    assert!(!driver.flow.path_state().is_cwnd_limited);
    driver.send(1);
    assert!(driver.flow.path_state().is_cwnd_limited);
}

#[test]
fn a_window_is_filled_as_it_was_when_the_packet_left() {
    let (mut driver, window) = driver(10);
    driver.send(10);
    driver.now = at(10);
    for _ in 0..10 {
        // Slow start, with every ACK of the flight handled before the next packet leaves.
        window.fetch_add(MSS.get(), Ordering::Relaxed);
        driver.ack(1);
        assert!(driver.flow.path_state().is_cwnd_limited);
    }
}

#[test]
fn a_window_never_filled_is_not_the_limit() {
    let (mut driver, _) = driver(10);
    for round in 0..5 {
        driver.now = at(round * 10);
        driver.send(7);
        assert!(!driver.flow.path_state().is_cwnd_limited);
        driver.now = at(round * 10 + 9);
        driver.ack(7);
    }
}

#[test]
fn another_controller_begins_with_the_window_in_force_and_what_is_known_of_the_path() {
    let (mut driver, _) = driver(10);
    driver.send(3);
    driver.now = at(10);
    driver.ack(1);
    let seen = Rc::new(core::cell::Cell::new(None));
    driver.flow.change_controller(at(12), |setup| {
        seen.set(Some(*setup));
        Box::new(Recorder::default())
    });
    let expected = Setup {
        initial_cwnd: MSS * 10,
        srtt: Some(MS * 10),
        ..Setup::new(at(12), MSS, 9)
    };
    assert_eq!(seen.get(), Some(expected));
    assert_eq!(driver.flow.path_state().inflight, MSS * 2);
    assert_eq!(driver.cwnd(), Bytes::ZERO);
}

#[test]
fn another_controller_takes_over_no_more_of_a_window_than_was_proven() {
    for (window, in_flight, taken) in [(1_000, 20, 40), (1_000, 3, 10), (25, 24, 25), (8, 2, 8)] {
        let (mut driver, _) = driver(window);
        driver.send(in_flight);
        let seen = Rc::new(core::cell::Cell::new(Bytes::ZERO));
        driver.flow.change_controller(at(1), |setup| {
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

/// Wants ECT(1), and has a window of a packet more each time that it is told of it.
#[derive(Debug)]
struct Eager(Bytes);

impl Controller for Eager {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}
    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}
    fn on_sends_ect1(&mut self, path: &PathState, sends_ect1: bool) {
        assert_eq!(path.now, at(if sends_ect1 { 2 } else { 4 }));
        assert_eq!((path.inflight, path.prior_inflight), (MSS * 3, MSS * 3));
        self.0 += MSS;
    }
    fn wants_ect1(&self) -> bool {
        true
    }
    fn control(&self) -> Control {
        Control::unpaced(self.0)
    }
    fn snapshot(&self) -> Snapshot {
        Snapshot::new("eager", "Eager", self.control())
    }
}

#[test]
fn ect1_may_begin_and_end_while_a_connection_runs() {
    let setup = Setup::new(Timestamp::ZERO, MSS, 9);
    let mut driver = FlowDriver::under(Box::new(Eager(MSS * 10)), &setup);
    driver.send(3);
    // What is no change is not told, and the decision follows at once what is.
    for (millis, sends_ect1, window) in
        [(1, false, 10), (2, true, 11), (3, true, 11), (4, false, 12)]
    {
        driver.flow.set_sends_ect1(at(millis), sends_ect1);
        assert_eq!(driver.flow.wants_ect1(), sends_ect1);
        assert_eq!(driver.packets(), window);
    }
}

#[test]
fn a_controller_that_takes_over_is_told_whether_ect1_is_sent_by_then() {
    let (mut driver, _) = driver(10);
    for sends_ect1 in [true, false] {
        driver.flow.set_sends_ect1(driver.now, sends_ect1);
        let seen = Rc::new(core::cell::Cell::new(None));
        driver.flow.change_controller(at(1), |setup| {
            seen.set(Some(setup.sends_ect1));
            Box::new(Recorder::default())
        });
        assert_eq!(seen.get(), Some(sends_ect1));
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
    let mut driver = FlowDriver::under(Box::new(Shrinking(MSS * 10)), &setup);
    driver.send(2);
    let sent = driver.flying.make_contiguous();
    let mut told = Told::default();
    let feedback = Feedback {
        lost: &[lost(&sent[0])],
        ..Feedback::at(at(10))
    };
    driver.flow.on_feedback(&feedback, &mut told);
    assert_eq!(told.0, ["control"]);
    let feedback = Feedback {
        acked: &sent[1..],
        ..Feedback::at(at(11))
    };
    driver.flow.on_feedback(&feedback, &mut told);
    assert_eq!(told.0, ["control", "sample"]);
}

/// Goes on to its next decision with each ACK, and holds the rate down until then.
#[derive(Debug)]
struct Stepping {
    decisions: [Control; 5],
    step: usize,
}

impl Stepping {
    fn driver() -> (FlowDriver, [Control; 5]) {
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
        (FlowDriver::under(Box::new(controller), &setup), decisions)
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
    let (mut driver, decisions) = Stepping::driver();
    driver.send(5);
    let mut told = Told::default();
    for (packet, decision) in driver.flying.iter().zip(&decisions[1..]) {
        let acked = core::slice::from_ref(packet);
        let feedback = Feedback {
            acked,
            ..Feedback::at(at(10))
        };
        driver.flow.on_feedback(&feedback, &mut told);
        assert_eq!(driver.flow.control(), *decision);
    }
    assert_eq!(told.0, ["sample", "control"].repeat(4));
}

/// A packet of 1,000 bytes takes a millisecond at the rate of `Stepping`.
#[test]
fn packets_within_an_eighth_of_a_packets_time_are_back_to_back() {
    let micros = |micros: u64| Timestamp::from_nanos(micros * 1_000);
    let (mut driver, _) = Stepping::driver();
    let bytes = Bytes::new(1_000);
    let departures = [1_000, 1_000, 1_125, 1_251, 2_251, 2_251];
    let stamps = departures.map(|at| driver.flow.on_sent(micros(at), bytes).is_back_to_back);
    assert_eq!(stamps, [false, true, true, false, false, true]);

    // Departures count, not when the packets were handed over.
    let mut handed_over = |departure| {
        let stamp = driver.flow.on_scheduled(micros(2_300), departure, bytes);
        assert_eq!(
            driver.flow.path_state().is_back_to_back,
            stamp.is_back_to_back
        );
        stamp.is_back_to_back
    };
    assert!(!handed_over(micros(3_300)));
    assert!(!handed_over(micros(4_300)));
    assert!(handed_over(micros(4_300)));
}

/// As of a clock that jumps, under the greatest rate and under the least.
#[test]
fn the_longest_gap_between_packets_is_no_back_to_back() {
    for rate in [crate::control::MIN_RATE, units::Bandwidth::MAX] {
        let (mut driver, [control, ..]) = Stepping::driver();
        driver.flow.change_controller(Timestamp::ZERO, |_| {
            let decisions = [Control {
                pacing_rate: rate,
                ..control
            }; 5];
            Box::new(Stepping { decisions, step: 0 })
        });
        for (at, expected) in [
            (Timestamp::ZERO, false),
            (Timestamp::MAX, false),
            (at(1), true),
        ] {
            assert_eq!(driver.flow.on_sent(at, MSS).is_back_to_back, expected);
        }
    }
}

#[test]
fn no_packet_is_back_to_back_where_stamps_are_shared() {
    let mut setup = Setup::new(Timestamp::ZERO, MSS, 9);
    setup.shares_stamps = true;
    let mut flow = Flow::new(Box::new(Recorder::default()), &setup);
    for _ in 0..3 {
        assert!(!flow.on_sent(at(1), MSS).is_back_to_back);
    }
}

#[test]
fn what_is_in_flight_when_a_controller_lets_go_counts_as_application_limited() {
    let (mut driver, _) = Stepping::driver();
    let is_app_limited = |driver: &FlowDriver| driver.flow.path_state().is_app_limited;
    driver.send(3);
    assert!(!is_app_limited(&driver));
    for millis in [10, 11] {
        driver.now = at(millis);
        driver.ack(1);
        assert!(is_app_limited(&driver));
    }
    driver.now = at(12);
    driver.send(1);
    driver.now = at(13);
    driver.ack(1);
    driver.now = at(22);
    driver.ack(1);
    assert!(!is_app_limited(&driver));
}
