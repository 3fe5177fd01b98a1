use super::*;
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, PathState, RateSample, Registry,
    Snapshot,
};

/// A controller that panics at the first ACK, or when it is made.
#[derive(Debug)]
struct Panicking;

impl Controller for Panicking {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {
        panic!("on purpose, for a test");
    }

    fn control(&self) -> Control {
        Control::unpaced(Bytes::new(12_000))
    }

    fn snapshot(&self) -> Snapshot {
        panic!("on purpose, for a test");
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("on purpose, for a test");
        }
    }
}

const SETUP: PacelineCcSetup = PacelineCcSetup {
    now_ns: 0,
    mss: 1_200,
    initial_cwnd: 0,
    seed: 1,
    sends_ect1: 0,
};

const FEEDBACK: PacelineCcFeedback = PacelineCcFeedback {
    now_ns: 1,
    rtt_ns: 1,
    ce_marked: 0,
    is_persistent_congestion: 0,
};

fn panicking(name: &'static str) -> Result<PacelineCc, Status> {
    let at_ack = ControllerSpec::new("at_ack", "", |_, _| Box::new(Panicking));
    let at_once = ControllerSpec::new("at_once", "", |_, _| panic!("on purpose, for a test"));
    let registry = Registry::standard().with(at_ack).with(at_once);
    PacelineCc::new(registry.choose(name).unwrap(), &SETUP)
}

#[test]
fn a_panic_ends_the_handle_and_nothing_else() {
    let mut handle = panicking("at_ack").unwrap();
    assert_eq!(handle.change(|it| it.on_sent(0, 1, 1_200)), Ok(()));
    assert_eq!(handle.read(Connection::state), Err(Status::Panicked));
    assert_eq!(handle.change(|it| it.on_acked(1)), Ok(()));
    let end = handle.change(|it| it.end_feedback(&FEEDBACK));
    assert_eq!(end, Err(Status::Panicked));

    let next = handle.change(|it| it.on_sent(2, 2, 1_200));
    assert_eq!(next, Err(Status::Panicked));
    assert_eq!(handle.read(Connection::control), Err(Status::Panicked));
    let handle = Box::into_raw(Box::new(handle));
    #[expect(unsafe_code, reason = "C frees handles by their pointer")]
    // SAFETY: it is made of a box as `paceline_cc_new` does, and not used afterwards.
    unsafe {
        crate::paceline_cc_free(handle);
    }
}

#[test]
fn a_panic_while_a_handle_is_made_makes_none() {
    assert_eq!(panicking("at_once").err(), Some(Status::Panicked));
}

#[test]
fn losses_in_one_range_are_told_from_those_in_several() {
    let choice = Registry::standard().choose("bbr3").unwrap();
    let mut connection = Connection::new(choice, SETUP).unwrap();
    for number in 10..20 {
        connection.on_sent(0, number, 1_200).unwrap();
    }
    for number in [15, 11, 12, 14] {
        connection.on_lost(number).unwrap();
    }
    mark_ranges(&mut connection.reported.lost);
    let ranges = connection.reported.lost.iter();
    let ranges: Vec<_> = ranges
        .map(|(number, packet)| (*number, packet.starts_range))
        .collect();
    assert_eq!(ranges, [(11, true), (12, false), (14, true), (15, false)]);
}

#[test]
fn memory_is_given_back_when_everything_has_settled() {
    let mut packets = Packets::default();
    let mut flow = flow(&Registry::standard().choose("cubic").unwrap(), &SETUP).unwrap();
    for number in 0..10_000 {
        let bytes = Bytes::new(100);
        packets.push(number, flow.on_sent(Timestamp::ZERO, bytes), bytes);
    }
    assert!(packets.room() >= 10_000);
    for number in (0..10_000).rev() {
        packets.take(number).unwrap();
    }
    assert!(packets.room() < 1_000, "room for {}", packets.room());
}
